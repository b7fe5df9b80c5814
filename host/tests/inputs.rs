//! Files of every format are read, in the type that the operation computes in.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod program;

use ladders::input;
use program::{command, data, host, object, refused, refused_in_a_line, rows, text};
use rustwarp::Tensor;
use rustwarp::element::Array;
use std::io::Write;
use std::process::{Output, Stdio};

/// A folder with these files.
fn folder(files: &[(&str, &[u8])]) -> (tempfile::TempDir, impl Fn(&str) -> String + use<>) {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, bytes) in files {
        std::fs::write(folder.path().join(name), bytes).expect("written");
    }
    let root = folder.path().to_owned();
    (folder, move |name| root.join(name).display().to_string())
}

/// Runs the program with these bytes on standard input.
fn fed(args: &[&str], bytes: &[u8]) -> Output {
    let mut child = command(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // The program may end before it has read everything.
    let _ = child.stdin.take().unwrap().write_all(bytes);
    child.wait_with_output().unwrap()
}

const SUM: [&str; 6] = ["reduce", "--variant", "best", "--device", "sim", "--json"];

#[test]
fn narrow_types_are_converted_and_that_is_said() {
    for (file, stored, dtype, more) in [
        ("f16.npy", "f16", "f32", &[][..]),
        ("i16.npy", "i16", "i32", &[]),
        ("i16.npy", "i16", "f64", &["--dtype", "f64"]),
        ("u8.npy", "u8", "u32", &[]),
        ("bool.npy", "bool", "u32", &[]),
        ("i8.npy", "i8", "i32", &[]),
        ("u16.npy", "u16", "u32", &[]),
        ("bf16.npy", "bf16", "f32", &[]),
        ("bf16.npy", "bf16", "f64", &["--dtype", "f64"]),
    ] {
        let path = data(file);
        let output = host(&[&SUM[..], &["--input", &path], more].concat());
        assert_eq!(output.status.code(), Some(0), "{file}: {}", text(&output.stderr));
        let row: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((&row["dtype"], &row["verified"]), (&dtype.into(), &true.into()), "{file}");
        let said = format!("{file} holds {stored}: converted to {dtype}");
        assert!(text(&output.stderr).contains(&said), "{file}: {}", text(&output.stderr));
    }
    // On request the elements stay as they are, and are added as f32.
    for dtype in ["f16", "bf16"] {
        let output = host(&[&SUM[..], &["--input", &data(&format!("{dtype}.npy")), "--dtype", dtype]].concat());
        let row: serde_json::Value = serde_json::from_slice(&output.stdout).expect(dtype);
        assert_eq!((&row["dtype"], &row["verified"]), (&dtype.into(), &true.into()), "{dtype}");
        assert!(!text(&output.stderr).contains("converted"), "{dtype}: {}", text(&output.stderr));
    }
    let (half, whole) = (data("f16.npy"), data("u16.npy"));
    let arg = ["reduce", "--op", "argmax", "--device", "sim", "--input", &half, "--dtype", "f16"];
    refused_in_a_line(&arg, 2, &["no argmax of f16", "use --dtype f32"]);
    refused_in_a_line(&[&SUM[..], &["--input", &half, "--dtype", "i32"]].concat(), 2, &["holds f16, not i32"]);
    refused_in_a_line(&["picture", "--input", &whole, "--device", "sim"], 2, &["no kernel for u16", "u8"]);
}

#[test]
fn tables_and_archives() {
    let npy = |array: Array| {
        let (_folder, path) = folder(&[]);
        input::write(path("x.npy").as_ref(), &Tensor::from(array)).unwrap();
        std::fs::read(path("x.npy")).unwrap()
    };
    let archive = std::fs::read(data("two.npz")).unwrap();
    let (_folder, path) = folder(&[
        ("a.csv", b"x,y\n1,2\n3,4\n"),
        ("b.csv", b"1,0\n0,1\n"),
        ("ragged.csv", b"1,2\n3\n"),
        ("two.npz", &archive),
        ("trailing.npy", &[npy(Array::I32(vec![1, 2])), vec![0]].concat()),
        ("large.txt", b"1e400"),
    ]);
    let product = ["matmul", "--variant", "naive", "--device", "sim", "--json", "--input", &path("a.csv"), "--input"];
    let out = path("c.csv");
    let row = object(&[&product[..], &[&path("b.csv"), "--output", &out]].concat(), 0);
    assert_eq!(row["shape"], serde_json::json!([2, 2, 2]));
    assert_eq!(std::fs::read_to_string(&out).unwrap(), "1,2\n3,4\n");
    refused_in_a_line(
        &[&SUM[..], &["--input", &path("ragged.csv")]].concat(),
        2,
        &["ragged.csv", "line 2 has 1 number", ".txt"],
    );

    let member = |name: &str| format!("{}:{name}", path("two.npz"));
    assert_eq!(object(&[&SUM[..], &["--input", &member("a")]].concat(), 0)["value"], 6.0);
    assert_eq!(object(&[&SUM[..], &["--input", &member("b")]].concat(), 0)["value"], 15);
    refused_in_a_line(&[&SUM[..], &["--input", &path("two.npz")]].concat(), 2, &["2 arrays", "two.npz:a"]);

    let trailing = path("trailing.npy");
    refused_in_a_line(&[&SUM[..], &["--input", &trailing]].concat(), 2, &["1 bytes follow the array"]);
    let large = path("large.txt");
    for dtype in ["f32", "f64"] {
        let args = [&SUM[..], &["--input", &large, "--dtype", dtype]].concat();
        refused_in_a_line(&args, 2, &["1e400", "beyond the largest"]);
    }
}

#[test]
fn standard_input() {
    let sum = [&SUM[..], &["--input", "-"]].concat();
    let value = |args: &[&str], bytes: &[u8]| -> serde_json::Value {
        let output = fed(args, bytes);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap()["value"].clone()
    };
    assert_eq!(value(&sum, b"1.5 2\n3"), 6.5);
    assert_eq!(value(&[&sum[..], &["--dtype", "u32"]].concat(), &[1, 0, 0, 0, 0xff, 0, 0, 0]), 256);
    // The rows and the names of a table, as of a file .csv.
    let (_folder, path) = folder(&[("unit.csv", b"1,0\n0,1\n")]);
    let product = ["matmul", "--variant", "naive", "--device", "sim", "--input", "-", "--input", &path("unit.csv")];
    let output = fed(&product, b"x,y\n1,2\n3,4\n");
    assert!(text(&output.stdout).ends_with("result: 1 2 3 4\n"), "{}", text(&output.stdout));
    assert!(text(&output.stderr).contains("the first row has the names of the columns: x, y"));
    let output = fed(&sum, &std::fs::read(data("two.npz")).unwrap());
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("choose one with a file, as in data.npz:a"), "{}", text(&output.stderr));
    let matrix = std::fs::read(data("matrix.npy")).unwrap();
    assert_eq!(value(&sum, &matrix), 66.0);
    let output = fed(&sum, &[1, 0, 0, 0]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("--dtype"), "{}", text(&output.stderr));
    refused_in_a_line(&["vecadd", "--input", "-", "--input", "-", "--device", "sim"], 2, &["read once"]);
}

/// The type of a picture's elements does not depend on where it comes from.
#[test]
fn a_picture_on_standard_input() {
    let (_folder, path) = folder(&[]);
    let png = path("x.png");
    let bytes = Array::U8(vec![1, 2, 3, 250]);
    input::write(png.as_ref(), &Tensor::new(&[2, 2], bytes).unwrap()).unwrap();
    let of_file = object(&[&SUM[..], &["--input", &png]].concat(), 0);
    let output = fed(&[&SUM[..], &["--input", "-"]].concat(), &std::fs::read(&png).unwrap());
    let of_stream: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    for key in ["dtype", "value"] {
        assert_eq!(of_file[key], of_stream[key], "{key}");
    }
    assert_eq!((&of_file["dtype"], &of_file["value"]), (&"f32".into(), &256.0.into()));
}

#[test]
fn files_are_written_as_their_names_say() {
    let (_folder, path) = folder(&[("x.txt", b"1 2 3")]);
    let scan = ["scan", "--variant", "best", "--device", "sim", "--json", "--input", &path("x.txt"), "--output"];
    for (name, contents) in [("y.txt", "1\n3\n6\n"), ("y.csv", "1\n3\n6\n"), ("y.json", "[1,3,6]\n")] {
        rows(&[&scan[..], &[&path(name)]].concat());
        assert_eq!(std::fs::read_to_string(path(name)).unwrap(), contents, "{name}");
    }
    rows(&[&scan[..], &[&path("y.bin")]].concat());
    assert_eq!(std::fs::read(path("y.bin")).unwrap(), [0, 0, 128, 63, 0, 0, 64, 64, 0, 0, 192, 64]);
    let unknown = path("y.xyz");
    let bad = [&scan[..], &[&unknown]].concat();
    refused_in_a_line(&bad, 2, &["y.xyz", ".npy, .csv, .txt"]);
    assert!(!text(&host(&bad).stderr).contains("using "), "refused before anything runs");
    let plot = path("y.png");
    refused_in_a_line(&["vecadd", "--n", "64", "--device", "sim", "--plot", &plot], 2, &["--plot", ".svg"]);
    let page = ["explain", "vecadd", "--n", "64", "--html", &plot];
    refused_in_a_line(&page, 2, &["--html", "y.png", "let the name end in .html"]);
    assert!(!std::path::Path::new(&plot).exists());
}

#[test]
fn a_picture_keeps_its_alpha_and_says_what_it_loses() {
    let (_folder, path) = folder(&[]);
    let (from, to, mask) = (path("from.png"), path("to.png"), path("mask.csv"));
    std::fs::write(&mask, "1\n").unwrap();
    let texels = Tensor::new(&[1, 2, 4], Array::U8(vec![1, 2, 3, 9, 4, 5, 6, 8])).unwrap();
    input::write(from.as_ref(), &texels).unwrap();
    let single = path("one.npy");
    input::write(single.as_ref(), &Tensor::new(&[1, 1], Array::F32(vec![1.0])).unwrap()).unwrap();
    let conv = ["conv2d", "--variant", "best", "--device", "sim", "--json", "--input", &from, "--input", &single];
    object(&[&conv[..], &["--output", &to]].concat(), 0);
    assert_eq!(input::read(to.as_ref(), None).unwrap(), texels);
    refused_in_a_line(
        &["picture", "--input", &from, "--device", "sim"],
        2,
        &["4 channels", "alpha channel", "save it without alpha", "conv2d"],
    );
}

/// A mask of f32 filters bytes as bytes on request: only the results are rounded.
#[test]
fn bytes_have_a_mask_of_floats() {
    let (_folder, path) = folder(&[]);
    let (from, to, mask, taps) = (path("from.png"), path("to.png"), path("mask.npy"), path("taps.npy"));
    input::write(from.as_ref(), &Tensor::new(&[1, 3], Array::U8(vec![10, 30, 255])).unwrap()).unwrap();
    input::write(mask.as_ref(), &Tensor::new(&[1, 1], Array::F32(vec![0.25])).unwrap()).unwrap();
    input::write(taps.as_ref(), &Tensor::new(&[1], Array::F32(vec![0.5])).unwrap()).unwrap();
    let typed = ["--dtype", "u8", "--variant", "best", "--device", "sim", "--json", "--output", &to, "--input", &from];
    for args in [&["conv2d", "--input", &mask][..], &["separable", "--input", &taps, "--input", &taps]] {
        let (family, masks) = args.split_first().unwrap();
        let row = object(&[&[*family], &typed[..], masks].concat(), 0);
        assert_eq!(row["dtype"], "u8", "{row}");
        // 2.5 and 7.5 become even.
        let expected = Tensor::new(&[1, 3], Array::U8(vec![2, 8, 64])).unwrap();
        assert_eq!(input::read(to.as_ref(), None).unwrap(), expected, "{family}");
    }
    let refused =
        ["conv2d", "--variant", "tiled", "--dtype", "u8", "--device", "sim", "--input", &from, "--input", &mask];
    refused_in_a_line(&refused, 2, &["`tiled` has no kernel for u8"]);
}

#[test]
fn numbers_of_options_say_what_they_are() {
    for (args, words) in [
        (&["reduce", "--seed", "abc"][..], ["--seed", "0 to 18446744073709551615"]),
        (&["reduce", "--repeat", "1.5"], ["--repeat", "0 to 4294967295"]),
        (&["reduce", "--block", "x"], ["--block", "1 to 4294967295"]),
        (&["occupancy", "reduce_best_sum_f32", "--shared", "1k"], ["--shared", "whole number"]),
        (&["check", "vecadd", "--seeds", "0"], ["--seeds", "1 to"]),
    ] {
        refused(args, 2, &words);
        assert!(!text(&host(args).stderr).contains("digit found"), "{args:?}");
    }
}

#[test]
fn occupancy_of_what_cannot_be_launched() {
    let occupancy = ["occupancy", "vecadd_best_f32"];
    refused(&[&occupancy[..], &["--block", "0"]].concat(), 2, &["--block", "1 to"]);
    refused_in_a_line(&[&occupancy[..], &["--block", "5000"]].concat(), 2, &["5000 threads per block", "1 to 1024"]);
    refused_in_a_line(&[&occupancy[..], &["--registers", "100000"]].concat(), 2, &["registers per thread", "1 to 255"]);
    let much = [&occupancy[..], &["--shared", "99999999"]].concat();
    refused_in_a_line(&much, 2, &["99999999 bytes of shared memory", "allows 232448", "at most 232448 bytes"]);
    let most = object(&[&occupancy[..], &["--shared", "232448", "--json"]].concat(), 0);
    assert_eq!(most["blocks"], 1, "{most}");
    refused_in_a_line(&["occupancy", "vecadd_best_f23"], 2, &["vecadd_best_f32", "entries"]);
    refused_in_a_line(&["occupancy", "nosuch"], 2, &["none with a similar name"]);
    let row = object(&[&occupancy[..], &["--json"]].concat(), 0);
    assert!(row["registers"].as_u64().unwrap() > 0, "{row}");
}

#[test]
fn an_unknown_entry_is_answered_with_the_nearest() {
    let vecadd = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/ptx/kernels-gpu/sm_75/vecadd.ptx");
    let run = ["run", vecadd, "--device", "sim"];
    for more in [&["--entry", "vecad_f32"][..], &[]] {
        let output = host(&[&run[..], more].concat());
        assert_eq!(output.status.code(), Some(2));
        let error = text(&output.stderr);
        assert!(error.contains("vecadd_f32") && error.len() < 700, "{error}");
    }
}

#[test]
fn a_command_is_suggested_if_its_name_is_similar() {
    refused(&["nosuch"], 2, &["nosuch"]);
    let error = |name: &str| text(&host(&[name]).stderr);
    assert!(!error("nosuch").contains("similar"), "{}", error("nosuch"));
    assert!(error("reduse").contains("'reduce'") && error("matmull").contains("'matmul'"), "{}", error("reduse"));
}

/// The rows that are finished when the user presses Ctrl-C are shown, and the files written.
#[cfg(unix)]
#[test]
fn an_interrupted_run_shows_its_rows() {
    use std::io::{BufRead, BufReader};
    use std::time::Duration;
    let (_folder, path) = folder(&[]);
    let file = path("rows.json");
    let args = ["reduce", "--n", "2^24", "--device", "sim", "--json"];
    // With JSON on standard output the first row says when to interrupt.
    let mut child = command(&args).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().contains("\"verified\":true"));
    interrupt(&child);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    // The table, and the file of JSON.
    let (mut seconds, mut exponent) = (4, 22);
    for _ in 1..=8 {
        let args = ["reduce", "--n", &format!("2^{exponent}"), "--device", "sim", "--json", &file];
        let child = command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        std::thread::sleep(Duration::from_secs(seconds));
        interrupt(&child);
        let output = child.wait_with_output().unwrap();
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        if output.status.code() == Some(0) {
            // The run had ended before it was interrupted.
            exponent += 1;
            continue;
        }
        seconds *= 2;
        if output.status.code() == Some(130) && out.is_empty() {
            // No row was finished yet.
            assert!(err.contains("interrupted: 0 rows") || !err.contains("interrupted"), "{err}");
            continue;
        }
        assert_eq!(output.status.code(), Some(130), "{out}{err}");
        assert!(out.contains("| interleaved") && err.contains("interrupted: "), "{out}{err}");
        assert!(std::fs::read_to_string(&file).unwrap().lines().count() >= 1);
        return;
    }
    panic!("no row was finished in time");
}

/// An interrupted search over schedules says how many it has run.
#[cfg(unix)]
#[test]
fn an_interrupted_search_says_how_many_seeds_it_has_run() {
    use std::io::{BufRead, BufReader};
    let args = ["check", "failing", "--variant", "missing_barrier", "--seeds", "1000000000"];
    let mut child = command(&args).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    // The first finding says when to interrupt.
    assert!(lines.any(|line| line.contains("with seed ")));
    interrupt(&child);
    let rest: Vec<String> = lines.collect();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(rest.iter().any(|line| line.starts_with("interrupted: ") && line.contains(" seed")), "{rest:?}");
}

#[cfg(unix)]
fn interrupt(child: &std::process::Child) {
    let pid = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
}
