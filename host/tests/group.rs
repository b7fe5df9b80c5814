//! Families on a group of simulated devices of one process: the same results as on one device.

mod program;

use program::{data, object, refused_in_a_line, rows, text};
use serde_json::Value;

/// The row of a family on one simulated device, and on three, with their results.
fn pair(args: &[&str]) -> [(Value, Vec<u8>); 2] {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("result.npy").display().to_string();
    let one: &[&str] = &["--variant", "best"];
    [one, &["--gpus", "3"]].map(|how| {
        let row = object(&[args, how, &["--device", "sim", "--json", "--output", &path]].concat(), 0);
        (row, std::fs::read(&path).expect("the result"))
    })
}

/// Checks that both rows are of the same problem, and right.
fn compared(args: &[&str], [(one, _), (three, _)]: &[(Value, Vec<u8>); 2]) {
    for field in ["family", "variant", "op", "dtype", "n", "shape", "settings", "reference", "verified", "wrapped"] {
        assert_eq!(one[field], three[field], "{args:?}: {field}");
    }
    assert_eq!((&one["verified"], &three["device"]), (&true.into(), &"3 x sim".into()), "{args:?}");
    assert_eq!((&three["time_ms"], &three["gbps"]), (&Value::Null, &Value::Null), "simulators measure no times");
}

/// Checks that the results have the bits of one device.
fn exact(cases: &[&[&str]]) {
    for args in cases {
        let pair = pair(args);
        compared(args, &pair);
        assert_eq!(pair[0].0["value"], pair[1].0["value"], "{args:?}");
        assert!(pair[0].1 == pair[1].1, "{args:?}: the files differ");
    }
}

#[test]
fn values_and_counts_are_those_of_one_device() {
    exact(&[
        &["reduce", "--n", "10007", "--dtype", "i32"],
        &["reduce", "--n", "10007", "--dtype", "u64", "--op", "max"],
        &["reduce", "--n", "10007", "--op", "min"],
        &["reduce", "--n", "2"],
        &["reduce", "--n", "0"],
        &["exact_sum", "--n", "5003"],
        &["exact_sum", "--n", "5003", "--dtype", "f64", "--data", "cancelling"],
        &["histogram", "--n", "20011"],
        &["histogram", "--n", "20011", "--letters"],
        &["histogram", "--n", "5003", "--dtype", "u32", "--bins", "1000"],
        &["histogram", "--n", "5003", "--dtype", "f32", "--bins", "10", "--range", "-0.5:0.25"],
    ]);
}

#[test]
fn scans_and_segments_are_those_of_one_device() {
    exact(&[
        &["scan", "--n", "20011", "--dtype", "i32"],
        &["scan", "--n", "5003", "--dtype", "i64", "--exclusive"],
        &["scan", "--n", "5003", "--op", "max"],
        &["segreduce", "--n", "5003", "--dtype", "i64", "--length", "100"],
        &["segreduce", "--n", "5003", "--op", "min", "--mix", "power"],
    ]);
}

#[test]
fn rounded_results_are_within_the_bounds_of_one_device() {
    // Other orders of additions, within the same bounds.
    let rounded: &[&[&str]] = &[
        &["reduce", "--n", "10007"],
        &["dot", "--n", "10007"],
        &["dot", "--n", "1003", "--dtype", "f64"],
        &["scan", "--n", "5003"],
        &["segreduce", "--n", "5003", "--length", "1000"],
        &["matmul", "--shape", "70x33x40"],
        &["matmul", "--n", "31", "--dtype", "f64"],
    ];
    for args in rounded {
        let pair = pair(args);
        compared(args, &pair);
        assert_eq!(pair[0].1.len(), pair[1].1.len(), "{args:?}");
    }
}

#[test]
fn files_are_divided() {
    let file = data("i64.npy");
    let pair = pair(&["scan", "--input", &file]);
    compared(&["scan"], &pair);
    assert!(pair[0].1 == pair[1].1);
    for row in rows(&["reduce", "--input", &data("nan.npy"), "--op", "max", "--gpus", "2", "--device", "sim", "--json"])
    {
        assert_eq!((&row["value"], &row["verified"]), (&"NaN".into(), &true.into()), "{row}");
    }
}

#[test]
fn the_table_and_the_notes_name_the_group() {
    let output = program::host(&["reduce", "--n", "1000", "--dtype", "i32", "--gpus", "2"]);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{err}");
    // Without a GPU, simulators take part.
    assert!(err.contains("using 2 x sim"), "{err}");
    assert!(out.contains("best") && out.contains("yes"), "{out}");
}

#[test]
fn what_groups_lack_is_refused() {
    let refused = |args: &[&str], words: &[&str]| refused_in_a_line(args, 2, words);
    let reduce = |more: &[&'static str]| [&["reduce", "--n", "10", "--gpus", "2", "--device", "sim"], more].concat();
    refused(&reduce(&["--variant", "sequential"]), &["--gpus", "leave --variant sequential out"]);
    refused(&reduce(&["--block", "64"]), &["leave --block out"]);
    refused(&reduce(&["--grid", "4"]), &["leave --grid out"]);
    refused(&reduce(&["--op", "argmax"]), &["argmax", "sum max min"]);
    refused(&reduce(&["--dtype", "f16"]), &["no kernel for f16 on a group", "convert the data to f32"]);
    refused(&["reduce", "--n", "10", "--gpus", "all", "--device", "sim"], &["--gpus all", "--gpus N"]);
    refused(&["reduce", "--n", "10", "--gpus", "2", "--device", "gpu:1"], &["gpu:1"]);
    refused(&["matmul", "--n", "8", "--gpus", "2", "--device", "sim", "--transpose-a"], &["--transpose-a"]);
    refused(
        &["matmul", "--n", "8", "--dtype", "f16", "--gpus", "2", "--device", "sim"],
        &["leave --gpus or --dtype f16 out"],
    );
    program::refused(&["reduce", "--gpus", "0"], 2, &["write a number from 1, or all"]);
    program::refused(&["transpose", "--gpus", "2"], 2, &["--gpus"]);
    program::refused(&["reduce", "--n", "10", "--gpus", "2", "--device", "gpu"], 3, &["no-such-libcuda.so"]);
}
