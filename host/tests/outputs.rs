//! Requested output files are written, or the command reports why not.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod program;

use ladders::input;
use ladders::input::picture;
use program::{data, host, lines, object, objects, program, refused, refused_in_a_line, rows, text, vecadd};
use rustwarp::Tensor;
use rustwarp::element::Array;
use serde_json::Value;
use std::path::Path;

/// A temporary folder, and the name of a file in it that does not exist.
fn place(name: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(name).display().to_string();
    (folder, path)
}

fn read(path: &str) -> Vec<Value> {
    lines(&std::fs::read_to_string(path).expect("the file"))
}

#[test]
fn the_result_is_written_and_reads_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("sum.npy").display().to_string();
    let a = data("i32.npy");
    let variant = ["vecadd", "--variant", "grid_stride"];
    rows(&[&variant[..], &["--input", &a, "--input", &a, "--device", "sim", "--output", &out, "--json"]].concat());
    let doubled = rows(&["reduce", "--input", &out, "--variant", "best", "--device", "sim", "--json"]);
    let single = rows(&["reduce", "--input", &a, "--variant", "best", "--device", "sim", "--json"]);
    let value = |rows: &[Value]| rows[0]["value"].as_i64().unwrap() as i32;
    assert_eq!(value(&doubled), value(&single).wrapping_mul(2));
}

#[test]
fn one_variant_writes_one_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out.npy").display().to_string();
    let common = ["--n", "1000", "--device", "sim", "--json", "--output"];
    refused_in_a_line(&[&["reduce"], &common[..], &[&out]].concat(), 2, &["--output", "single variant", "--variant"]);
    let row = object(&[&["reduce", "--variant", "best"], &common[..], &[&out]].concat(), 0);
    assert_eq!(row["output"].as_str(), Some(out.as_str()), "{row}");
    let row = object(&[&["vecadd", "--variant", "best"], &common[..], &[&out]].concat(), 0);
    assert_eq!(row["output"].as_str(), Some(out.as_str()), "{row}");

    let nowhere = folder.path().join("missing/out.npy").display().to_string();
    let here = folder.path().display().to_string();
    for out in [&nowhere, &here] {
        let command = [&["vecadd", "--variant", "best"], &common[..], &[out]].concat();
        refused_in_a_line(&command, 2, &["cannot write", out]);
    }
    let names: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["out.npy"], "nothing else is left behind");
}

#[test]
fn explain_writes_the_page_as_json() {
    let (_folder, file) = place("page.json");
    let race = program("fail/race_inside_a_warp.ptx");
    for (args, verified) in [
        (&["explain", "vecadd", "--variant", "grid_stride", "--n", "4096"][..], Value::Bool(true)),
        (&["explain", &race, "--entry", "k", "--block", "32", "--arg", "buf:u32:32"], Value::Null),
    ] {
        let output = host(&[args, &["--json", &file]].concat());
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        assert!(
            text(&output.stdout).contains("| sectors per request |"),
            "people get their text: {}",
            text(&output.stdout)
        );
        let pages = read(&file);
        assert_eq!(pages.len(), 1);
        assert_eq!(pages[0], object(&[args, &["--json"]].concat(), 0));
        assert_eq!(pages[0]["variants"][0]["verified"], verified);
        std::fs::remove_file(&file).expect("removed");
    }
}

#[test]
fn explain_refuses_what_it_does_not_do() {
    let (_folder, file) = place("x.npy");
    for option in [&["--output", &file][..], &["--plot", &file], &["--repeat", "3"], &["--warm"]] {
        let args = [&["explain", "vecadd", "--variant", "grid_stride", "--n", "64"], option].concat();
        refused_in_a_line(&args, 2, &["explain has no", option[0]]);
        let help = text(&host(&["explain", "vecadd", "--help"]).stdout);
        assert!(help.contains("--html") && !help.contains(option[0]), "{help}");
    }
    assert!(!Path::new(&file).exists());
}

#[test]
fn what_seeds_find_is_in_the_file() {
    let (_folder, file) = place("found.json");
    let seeds = ["check", "failing", "--variant", "missing_barrier,lock_step", "--seeds", "1", "--json"];
    let output = host(&[&seeds[..], &[&file]].concat());
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("with seed 0: "), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), "");
    let found = read(&file);
    assert_eq!(found, objects(&seeds, 1), "of both examples");
    let codes: Vec<_> = found.iter().map(|found| found["finding"]["code"].as_str().expect("a code")).collect();
    assert!(codes.contains(&"race-raw") && codes.contains(&"race-warp-raw"), "{codes:?}");

    let clean = ["check", "vecadd", "--variant", "best", "--n", "100", "--seeds", "1"];
    assert_eq!(host(&[&clean[..], &["--json", &file]].concat()).status.code(), Some(0));
    assert_eq!(read(&file), Vec::<Value>::new());
    refused_in_a_line(&[&clean[..], &["--plot", &file]].concat(), 2, &["--seeds", "leave --plot out"]);
}

#[test]
fn the_examples_share_a_file() {
    let (_folder, file) = place("rows.json");
    let check = ["check", "failing", "--variant", "missing_barrier,no_bounds_test", "--json"];
    assert_eq!(host(&[&check[..], &[&file]].concat()).status.code(), Some(1));
    let rows = read(&file);
    assert_eq!(rows, objects(&check, 1));
    assert_eq!((&rows[0]["variant"], &rows[1]["fault"]["code"]), (&"missing_barrier".into(), &"out-of-bounds".into()));
}

#[test]
fn what_came_before_a_fault_is_kept() {
    let (folder, file) = place("rows.json");
    let plot = folder.path().join("rows.svg").display().to_string();
    let ptx = folder.path().join("half.ptx");
    std::fs::write(&ptx, vecadd("", "trap;")).expect("a file");
    let ptx = ptx.display().to_string();
    let run = ["vecadd", "--variant", "grid_stride,best", "--n", "100", "--device", "sim", "--ptx", &ptx];
    let output = host(&[&run[..], &["--json", &file, "--plot", &plot]].concat());
    assert_eq!(output.status.code(), Some(4), "{}", text(&output.stderr));
    let rows = read(&file);
    assert_eq!(rows.len(), 2);
    assert_eq!((&rows[0]["variant"], &rows[0]["verified"]), (&"grid_stride".into(), &false.into()));
    assert_eq!(rows[1]["fault"]["code"], "trap");
    assert!(std::fs::read_to_string(plot).expect("a plot").contains("grid_stride"));

    let (_folder, none) = place("none.json");
    refused(&["vecadd", "--input", "no-such.npy", "--input", "no-such.npy", "--json", &none], 2, &["no-such.npy"]);
    assert!(!Path::new(&none).exists(), "bad input leaves no file");
}

/// Files that cannot be written are reported before the work starts.
#[test]
fn files_that_can_not_be_written_are_refused_at_once() {
    let (folder, _) = place("x");
    let nowhere = folder.path().join("missing/rows.json").display().to_string();
    let (here, race) = (folder.path().display().to_string(), program("fail/race_inside_a_warp.ptx"));
    for command in [
        &["vecadd", "--device", "sim"][..],
        &["check", "vecadd"],
        &["check", "vecadd", "--seeds", "2"],
        &["explain", "vecadd"],
        &["explain", &race, "--entry", "k", "--block", "32", "--arg", "buf:u32:32"],
        &["bench", "vecadd"],
    ] {
        for file in [&nowhere, &here] {
            let args = [command, &["--json", file]].concat();
            refused_in_a_line(&args, 2, &["cannot write", file]);
            assert!(!text(&host(&args).stderr).contains("using "), "{args:?}");
        }
    }
    let plot = nowhere.replace(".json", ".svg");
    refused_in_a_line(&["vecadd", "--device", "sim", "--plot", &plot], 2, &["cannot write", "missing"]);
    let page = nowhere.replace(".json", ".html");
    refused_in_a_line(&["explain", "vecadd", "--html", &page], 2, &["cannot write", "missing"]);
    for command in [&["check", "vecadd"][..], &["check", &race], &["run", &race, "--device", "sim"]] {
        refused_in_a_line(&[command, &["--sarif", &nowhere]].concat(), 2, &["cannot write", "missing"]);
    }
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0, "nothing is left behind");
}

#[test]
fn what_can_not_be_a_picture() {
    let (_folder, png) = place("x.png");
    let common = ["--n", "40", "--variant", "best", "--device", "sim", "--json", "--output", &png];
    for family in ["histogram", "scan", "vecadd"] {
        let args = [&[family], &common[..]].concat();
        refused_in_a_line(&args, 2, &["the result of", "is not a picture", ".npy"]);
        assert!(!text(&host(&args).stderr).contains("using "), "refused before anything runs");
    }
    // Integers cannot be written as a picture either; the result is shown.
    let row = object(&[&["transpose", "--dtype", "i32"], &common[..]].concat(), 2);
    assert_eq!((&row["verified"], row["output"].is_null()), (&true.into(), true), "{row}");
    assert!(!Path::new(&png).exists());
}

#[test]
fn results_are_counted_not_operands() {
    let output = host(&["histogram", "--n", "1000", "--variant", "shared", "--device", "sim"]);
    let table = text(&output.stdout);
    assert!(table.contains("256 elements") && !table.contains("1000 elements"), "{table}");
}

/// The value of `--shape` is in the row, even if no operand has that shape.
#[test]
fn a_row_has_the_size_that_was_asked_for() {
    for (family, shape, numbers) in [
        ("matmul", "3x5x2", &[3, 5, 2][..]),
        ("transpose", "3x5", &[3, 5]),
        ("conv1d", "7x2", &[7, 2]),
        ("conv2d", "4x3x2", &[4, 3, 2]),
    ] {
        let row = object(&[family, "--shape", shape, "--device", "sim", "--variant", "best", "--json"], 0);
        let have: Vec<u64> = row["shape"].as_array().expect("a shape").iter().filter_map(|n| n.as_u64()).collect();
        assert_eq!(have, numbers, "{family}");
    }
}

/// Sectors per request count loads and stores, without atomics, as in `host explain`.
#[test]
fn sectors_per_request_mean_the_same_everywhere() {
    let atomics = ["atomics", "--n", "4096", "--variant", "global"];
    let table = text(&host(&[&atomics[..], &["--device", "sim"]].concat()).stdout);
    let cells = |start: &str| -> Vec<String> {
        let line = table.lines().find(|line| line.starts_with(start)).expect("a line");
        line.split('|').map(|cell| cell.trim().to_owned()).collect()
    };
    let column = cells("| variant").iter().position(|cell| cell == "sectors/request").expect("the column");
    let page = object(&[&["explain"], &atomics[..], &["--json"]].concat(), 0);
    let ratio = page["variants"][0]["ratios"]["sectors_per_request"].as_f64().expect("a number");
    assert_eq!((cells("| global")[column].as_str(), ratio), ("4.00", 4.0), "{table}");
}

/// The case of a file name's extension does not matter; the bytes of a picture become numbers of the requested type.
#[test]
fn files_are_what_their_names_say() {
    let (folder, npy) = place("X.NPY");
    std::fs::copy(data("i32.npy"), &npy).expect("copied");
    assert_eq!(rows(&["reduce", "--input", &npy, "--variant", "best", "--device", "sim", "--json"])[0]["dtype"], "i32");

    let png = folder.path().join("x.png");
    let bytes = Array::U8(vec![0, 10, 10, 20, 30, 255]);
    picture::write(&png, &Tensor::new(&[2, 3], bytes).expect("a picture")).expect("written");
    let png = png.display().to_string();
    let counts = folder.path().join("counts.npy").display().to_string();
    let histogram = ["histogram", "--input", &png, "--variant", "best", "--device", "sim", "--json"];
    for (dtype, more) in [("u8", &[][..]), ("u32", &[]), ("f32", &["--range", "0:256"])] {
        let row = object(&[&histogram[..], &["--dtype", dtype, "--output", &counts], more].concat(), 0);
        assert_eq!((&row["dtype"], &row["verified"]), (&dtype.into(), &true.into()), "{row}");
        let Array::U64(counts) = input::read(Path::new(&counts), None).expect("counts").into_data() else {
            panic!("counts of another type")
        };
        assert_eq!([0, 10, 20, 30, 255, 11].map(|bin| counts[bin]), [1, 2, 1, 1, 1, 0], "{dtype}");
    }
    assert_eq!(object(&histogram, 0)["dtype"], "u8");
    let texture = ["texture", "--input", &png, "--variant", "best", "--device", "sim", "--json"];
    assert_eq!(object(&[&texture[..], &["--dtype", "f32"]].concat(), 0)["dtype"], "f32");
    refused_in_a_line(&[&histogram[..], &["--dtype", "i64"]].concat(), 2, &["no kernel for i64", "f32"]);
}
