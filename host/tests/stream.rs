//! `--stream`: files that are read in chunks give the same results as files that are loaded.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod program;

use ladders::input;
use program::{data, host, object, refused_in_a_line, text};
use rustwarp::Tensor;
use rustwarp::element::Array;
use serde_json::Value;

/// A folder with a file for each array.
fn folder(files: &[(&str, Array)]) -> (tempfile::TempDir, impl Fn(&str) -> String + use<>) {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, array) in files {
        input::write(&folder.path().join(name), &Tensor::from(array.clone())).expect("written");
    }
    let root = folder.path().to_owned();
    (folder, move |name| root.join(name).display().to_string())
}

fn i32s() -> Array {
    Array::I32((0..5003).map(|i| i32::MAX / 4 * (i % 5 - 1) + i).collect())
}

fn f32s(shift: i32) -> Array {
    Array::F32((0..5003).map(|i| ((i * 37 + shift) % 1009) as f32 / 8.0 - 60.0).collect())
}

const SIM: [&str; 3] = ["--device", "sim", "--json"];
const STREAM: [&str; 3] = ["--stream", "--chunk", "4k"];

#[test]
fn values_are_those_of_loaded_files() {
    let (_folder, path) = folder(&[("i.npy", i32s()), ("a.npy", f32s(0)), ("b.npy", f32s(500)), ("raw.bin", i32s())]);
    let loaded = |args: &[&str]| object(&[args, &["--variant", "best"], &SIM].concat(), 0);
    for args in [
        &["reduce", "--input", &path("i.npy")][..],
        &["reduce", "--op", "max", "--input", &path("a.npy")],
        &["reduce", "--op", "min", "--dtype", "i32", "--input", &path("raw.bin")],
        &["dot", "--input", &path("a.npy"), "--input", &path("b.npy")],
    ] {
        let (streamed, loaded) = (object(&[args, &STREAM, &SIM].concat(), 0), loaded(args));
        for field in ["family", "op", "dtype", "n", "device", "reference", "wrapped"] {
            assert_eq!(streamed[field], loaded[field], "{args:?}: {field}");
        }
        assert_eq!(streamed["verified"], true, "{streamed}");
        assert_eq!(streamed["variant"], "best, streamed");
        assert_eq!(streamed["settings"], "--stream --chunk 4096");
        let [one, other] = [&streamed, &loaded].map(|row| row["value"].as_f64().unwrap());
        assert!((one - other).abs() <= other.abs() * 1e-4, "{streamed} {loaded}");
    }
    assert_eq!(object(&[&["reduce", "--input", &path("i.npy")], &STREAM[..], &SIM].concat(), 0)["wrapped"], true);
}

#[test]
fn types_that_are_not_streamed_are_refused() {
    let file = data("f16.npy");
    let refused = |more: &[&str], words: &[&str]| {
        refused_in_a_line(&[&["reduce", "--input", &file, "--stream", "--device", "sim"], more].concat(), 2, words);
    };
    refused(&[], &["holds f16", "save it as one of f32 f64 i32 u32 i64 u64"]);
    refused(&["--dtype", "f16"], &["reduce reads no f16 in chunks", "convert it to f32"]);
    refused(&["--dtype", "u8"], &["reduce has no kernel for u8"]);
}

#[test]
fn counts_are_those_of_loaded_files() {
    let (_folder, path) =
        folder(&[("a.npy", f32s(0)), ("text.bin", Array::U8(b"Streaming is a pipeline.".repeat(400)))]);
    for args in [
        &["histogram", "--input", &path("text.bin")][..],
        &["histogram", "--letters", "--input", &path("text.bin")],
        &["histogram", "--bins", "7", "--range", "-60:60", "--input", &path("a.npy")],
    ] {
        let [one, other] = ["streamed.npy", "loaded.npy"].map(&path);
        let row = object(&[args, &STREAM, &SIM, &["--output", &one]].concat(), 0);
        assert_eq!((&row["verified"], &row["output"]), (&true.into(), &Value::from(one.as_str())), "{row}");
        object(&[args, &["--variant", "best"], &SIM, &["--output", &other]].concat(), 0);
        assert_eq!(std::fs::read(one).unwrap(), std::fs::read(other).unwrap(), "{args:?}");
    }
}

#[test]
fn scans_are_written_in_chunks() {
    let (folder, path) = folder(&[("i.npy", i32s()), ("a.npy", f32s(0))]);
    for args in [
        &["scan", "--input", &path("i.npy")][..],
        &["scan", "--exclusive", "--input", &path("i.npy")],
        &["scan", "--op", "max", "--input", &path("a.npy")],
    ] {
        let [one, other] = ["streamed.npy", "loaded.npy"].map(&path);
        let row = object(&[args, &STREAM, &SIM, &["--output", &one]].concat(), 0);
        assert_eq!((&row["verified"], &row["output"]), (&true.into(), &Value::from(one.as_str())), "{row}");
        object(&[args, &["--variant", "best"], &SIM, &["--output", &other]].concat(), 0);
        assert_eq!(std::fs::read(one).unwrap(), std::fs::read(other).unwrap(), "{args:?}");
    }
    // Float sums are within the bound, with or without an output.
    let row = object(&[&["scan", "--input", &path("a.npy")], &STREAM[..], &SIM].concat(), 0);
    assert_eq!((&row["verified"], &row["output"]), (&true.into(), &Value::Null));
    let names = std::fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(names, 4, "no temporary file is left");
}

/// A folder with A of 70 x 33, B of 33 x 41, and a matrix of f64.
fn matrices() -> (tempfile::TempDir, impl Fn(&str) -> String + use<>) {
    let (folder, path) = folder(&[]);
    let numbers = |count: usize| -> Vec<f32> { (0..count).map(|i| (i * 7 % 31) as f32 - 15.0).collect() };
    for (name, shape) in [("a.npy", [70, 33]), ("b.npy", [33, 41])] {
        let matrix = Tensor::new(&shape, Array::F32(numbers(shape[0] * shape[1]))).unwrap();
        input::write(&folder.path().join(name), &matrix).unwrap();
    }
    input::write(&folder.path().join("f64.npy"), &Tensor::new(&[33, 2], Array::F64(vec![0.5; 66])).unwrap()).unwrap();
    (folder, path)
}

#[test]
fn products_are_written_in_chunks() {
    let (folder, path) = matrices();
    let (a, b) = (path("a.npy"), path("b.npy"));
    let args = ["matmul", "--input", &a, "--input", &b];
    let [one, group, loaded] = ["one.npy", "group.npy", "loaded.npy"].map(&path);
    object(&[&args[..], &["--variant", "best", "--output", &loaded], &SIM].concat(), 0);
    for (gpus, output) in [(&[][..], &one), (&["--gpus", "3"], &group)] {
        let row = object(&[&args[..], gpus, &STREAM, &SIM, &["--output", output]].concat(), 0);
        assert_eq!((&row["verified"], &row["output"]), (&true.into(), &Value::from(output.as_str())), "{row}");
        assert_eq!(row["shape"], serde_json::json!([70, 41, 33]));
        assert_eq!((&row["variant"], &row["n"]), (&"best, streamed".into(), &(70 * 33).into()));
        assert_eq!(std::fs::read(output).unwrap(), std::fs::read(&loaded).unwrap(), "{gpus:?}");
    }
    let row = object(&[&args[..], &["--stream", "--no-verify"], &SIM].concat(), 0);
    assert_eq!((&row["verified"], &row["output"]), (&Value::Null, &Value::Null));

    let before = std::fs::read_dir(folder.path()).unwrap().count();
    let refused = |more: &[&str], words: &[&str]| {
        refused_in_a_line(&[&["matmul"], more, &["--stream", "--device", "sim"]].concat(), 2, words);
    };
    refused(&["--input", &a, "--input", &a], &["70x33 of f32", "as many columns as B has rows"]);
    refused(&["--input", &a, "--input", &path("f64.npy")], &["one type", "33x2 of f64"]);
    refused(&["--input", &a], &["one file for each"]);
    for (option, word) in [("--transpose-b", "as they are stored"), ("--tile", "--tile has no meaning")] {
        let value = if option == "--tile" { &["small"][..] } else { &[] };
        refused(&[&args[1..], &[option], value].concat(), &[word]);
    }
    refused(&[&args[1..], &["--dtype", "bf16"]].concat(), &["--stream multiplies f32 and f64"]);
    refused(&[&args[1..], &["--output", &path("c.csv")]].concat(), &["c.csv", ".npy"]);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), before, "no output is left");
}

#[test]
fn an_unverified_row_says_so() {
    let (_folder, path) = folder(&[("i.npy", i32s())]);
    let args = ["reduce", "--input", &path("i.npy"), "--stream", "--no-verify"];
    let row = object(&[&args[..], &SIM].concat(), 0);
    assert_eq!((&row["verified"], &row["reference"]), (&Value::Null, &Value::Null), "{row}");
    assert!(row["value"].is_number());
    let output = host(&[&args[..], &["--device", "sim"]].concat());
    assert!(text(&output.stdout).contains("not judged"), "{}", text(&output.stdout));
}

#[test]
fn an_empty_file_gives_the_identity() {
    let (_folder, path) = folder(&[("none.npy", Array::I32(vec![]))]);
    let row = object(&[&["reduce", "--op", "max", "--input", &path("none.npy"), "--stream"], &SIM[..]].concat(), 0);
    assert_eq!((row["value"].as_i64(), &row["verified"]), (Some(i32::MIN.into()), &true.into()));
    let out = path("out.npy");
    let args = ["scan", "--input", &path("none.npy"), "--stream", "--output", &out];
    object(&[&args[..], &SIM].concat(), 0);
    assert_eq!(std::fs::read(&out).unwrap(), std::fs::read(path("none.npy")).unwrap());
}

#[test]
fn what_cannot_be_streamed() {
    let (folder, path) = folder(&[
        ("i.npy", i32s()),
        ("a.npy", f32s(0)),
        ("bytes.npy", Array::U8(vec![1; 100])),
        ("odd.bin", Array::U8(vec![1; 7])),
    ]);
    let whole = std::fs::read(path("i.npy")).unwrap();
    std::fs::write(path("cut.npy"), &whole[..whole.len() - 5]).unwrap();
    let before = std::fs::read_dir(folder.path()).unwrap().count();
    let i = path("i.npy");
    let refused = |args: &[&str], words: &[&str]| {
        refused_in_a_line(&[args, &["--stream", "--device", "sim"]].concat(), 2, words);
    };
    refused(&["reduce", "--input", &path("cut.npy")], &["cut.npy", "truncated"]);
    refused(&["reduce", "--input", &path("missing.npy")], &["missing.npy", "cannot read"]);
    refused(&["reduce", "--input", &i, "--dtype", "f32"], &["i.npy holds i32, not f32", "--dtype"]);
    refused(&["reduce", "--input", &path("bytes.npy")], &["bytes.npy holds u8", "converts no elements"]);
    refused(&["reduce", "--input", &path("odd.bin"), "--dtype", "i32"], &["7 bytes are no whole number"]);
    refused(&["reduce", "--input", &path("odd.bin")], &["does not say the type", "--dtype"]);
    refused(&["reduce", "--input", "data.csv"], &["--stream reads .npy", "data.csv"]);
    refused(&["reduce", "--input", &i, "--op", "argmax"], &["--op argmax", "sum, max and min"]);
    refused(&["reduce", "--input", &i, "--variant", "atomic"], &["--stream runs the variant `best`", "atomic"]);
    refused(&["reduce", "--input", &i, "--block", "64"], &["--block", "--stream"]);
    refused(&["reduce", "--input", &i, "--chunk", "8"], &["a chunk of 8 bytes", "at least 16"]);
    refused(&["dot", "--input", &i, "--input", &path("a.npy")], &["i.npy holds i32", "f32 f64"]);
    refused(&["dot", "--input", &path("a.npy")], &["dot", "one file for each"]);
    refused(&["scan", "--input", &i, "--output", &path("out.csv")], &["out.csv", ".npy"]);
    refused(&["scan", "--input", &i, "--chunk", "4", "--output", &path("out.npy")], &["a chunk of 4 bytes"]);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), before, "no output is left");
    // Other families have no such option, and the others of it need it.
    assert_eq!(host(&["vecadd", "--stream"]).status.code(), Some(2));
    assert_eq!(host(&["reduce", "--input", &i, "--chunk", "4k", "--device", "sim"]).status.code(), Some(2));
    assert_eq!(host(&["reduce", "--stream", "--device", "sim"]).status.code(), Some(2));
}

#[test]
fn a_chunk_beyond_memory_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("sparse.bin");
    // A file of 1 TiB without blocks on the disk.
    if std::fs::File::create(&path).and_then(|file| file.set_len(1 << 40)).is_err() {
        return;
    }
    let path = path.display().to_string();
    let args = ["reduce", "--input", &path, "--dtype", "i32", "--stream", "--chunk", "2^39", "--device", "sim"];
    refused_in_a_line(&args, 2, &["3 chunks of 512.0 GiB", "use smaller chunks"]);
}

#[test]
fn a_group_of_devices_divides_a_file() {
    let (_folder, path) = folder(&[("i.npy", i32s()), ("a.npy", f32s(0)), ("b.npy", f32s(500)), ("keys.bin", keys())]);
    let three = &["--gpus", "3"][..];
    for args in [
        &["reduce", "--input", &path("i.npy")][..],
        &["reduce", "--op", "max", "--input", &path("a.npy")],
        &["dot", "--input", &path("a.npy"), "--input", &path("b.npy")],
        &["histogram", "--input", &path("keys.bin")],
    ] {
        let [one, group] = [&[][..], three].map(|gpus| object(&[args, gpus, &STREAM, &SIM].concat(), 0));
        for field in ["family", "variant", "op", "dtype", "n", "value", "reference", "wrapped", "settings"] {
            assert_eq!(group[field], one[field], "{args:?}: {field}");
        }
        assert_eq!((&group["verified"], &group["device"]), (&true.into(), &"3 x sim".into()), "{group}");
    }
    for kind in [&[][..], &["--exclusive"]] {
        let [one, group] = ["one.npy", "group.npy"].map(&path);
        let scan = &["scan", "--input", &path("i.npy")];
        object(&[scan, kind, &STREAM, &SIM, &["--output", &one]].concat(), 0);
        let row = object(&[scan, kind, three, &STREAM, &SIM, &["--output", &group]].concat(), 0);
        assert_eq!(row["verified"], true, "{row}");
        assert_eq!(std::fs::read(one).unwrap(), std::fs::read(group).unwrap(), "{kind:?}");
    }
}

fn keys() -> Array {
    Array::U8((0..5003_u32).map(|i| (i * i % 251) as u8).collect())
}
