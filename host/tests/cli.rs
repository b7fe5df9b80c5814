//! The command line as scripts see it: exit codes, JSON, and one clear line for every bad input. On the simulator.
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test stops at the first surprise")]

use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Output};

fn host(args: &[&str]) -> Output {
    let output =
        Command::new(env!("CARGO_BIN_EXE_host")).args(args).env("RUSTWARP_LIBCUDA", "no-such-libcuda.so").output();
    output.expect("the binary runs")
}

/// A file among the tests' data.
fn data(name: &str) -> String {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/data").join(name).display().to_string()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The JSON lines of a run that must end with 0.
fn rows(args: &[&str]) -> Vec<Value> {
    let output = host(args);
    assert_eq!(output.status.code(), Some(0), "{args:?}\n{}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// The command must end with this code and one line on standard error that contains the words.
fn refused(args: &[&str], code: i32, words: &[&str]) {
    let output = host(args);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{args:?}\n{error}");
    let lines: Vec<_> = error.lines().filter(|line| !line.starts_with("using ")).collect();
    for word in words {
        assert!(error.contains(word), "{args:?}: '{word}' is missing in\n{error}");
    }
    assert!(!lines.is_empty() && !error.contains("panicked") && !error.contains("RUST_BACKTRACE"), "{args:?}\n{error}");
    assert_eq!(text(&output.stdout), "", "{args:?} printed a result");
}

/// As [`refused`], and the error is one line.
fn refused_in_a_line(args: &[&str], code: i32, words: &[&str]) {
    refused(args, code, words);
    let error = text(&host(args).stderr);
    assert_eq!(error.lines().filter(|line| !line.starts_with("using ")).count(), 1, "{args:?}\n{error}");
}

#[test]
fn every_variant_on_numpy_files_of_every_type() {
    let variants = rows(&["list", "--json"]);
    let reduce = variants.iter().filter(|row| row["family"] == "reduce").count();
    assert!(reduce >= 11);
    for dtype in ["f32", "f64", "i32", "u32", "i64", "u64"] {
        let file = data(&format!("{dtype}.npy"));
        for op in ["sum", "max", "min"] {
            let rows = rows(&["reduce", "--input", &file, "--op", op, "--variant", "all", "--device", "sim", "--json"]);
            assert_eq!(rows.len(), reduce);
            for row in rows {
                assert_eq!(row["verified"], true, "{row}");
                assert_eq!(
                    (&row["dtype"], &row["op"], &row["n"], &row["device"]),
                    (&dtype.into(), &op.into(), &1003.into(), &"sim".into())
                );
                assert!(row["counters"]["warp_instructions"].as_u64().unwrap() > 0, "{row}");
            }
        }
    }
}

#[test]
fn nan_infinities_and_nothing() {
    for (file, op, value) in [
        ("nan.npy", "sum", "NaN"),
        ("nan.npy", "max", "NaN"),
        ("empty.npy", "max", "-inf"),
        ("empty.npy", "min", "inf"),
    ] {
        for row in rows(&["reduce", "--input", &data(file), "--op", op, "--device", "sim", "--json"]) {
            assert_eq!((&row["value"], &row["verified"]), (&value.into(), &true.into()), "{row}");
        }
    }
    for row in rows(&["reduce", "--input", &data("empty.npy"), "--device", "sim", "--json"]) {
        assert_eq!(row["value"].as_f64(), Some(0.0), "{row}");
    }
    assert_eq!(rows(&["reduce", "--input", &data("version2.npy"), "--variant", "best", "--device", "sim", "--json"])[0]["value"].as_f64(), Some(6.0));
}

#[test]
fn the_result_is_written_and_reads_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("sum.npy").display().to_string();
    let a = data("i32.npy");
    rows(&["vecadd", "--input", &a, "--input", &a, "--device", "sim", "--output", &out, "--json"]);
    let doubled = rows(&["reduce", "--input", &out, "--variant", "best", "--device", "sim", "--json"]);
    let single = rows(&["reduce", "--input", &a, "--variant", "best", "--device", "sim", "--json"]);
    let value = |rows: &[Value]| rows[0]["value"].as_i64().unwrap() as i32;
    assert_eq!(value(&doubled), value(&single).wrapping_mul(2));
}

#[test]
fn the_simulator_explains_the_first_rungs() {
    let rows = rows(&[
        "reduce",
        "--n",
        "4096",
        "--device",
        "sim",
        "--json",
        "--variant",
        "interleaved,interleaved_strided,sequential",
    ]);
    let count = |row: usize, counter: &str| rows[row]["counters"][counter].as_u64().unwrap();
    assert!(count(0, "divergent_branches") > 2 * count(1, "divergent_branches"), "the first rung diverges");
    assert!(count(1, "bank_conflicts") > 0, "the second rung has bank conflicts");
    assert_eq!(count(2, "bank_conflicts"), 0, "the third has none");
}

#[test]
fn bad_files() {
    for (file, words) in [
        ("missing.npy", ["missing.npy", "No such file"]),
        ("truncated.npy", ["truncated.npy", "bytes"]),
        ("big_endian.npy", ["big_endian.npy", "endian"]),
        ("fortran.npy", ["fortran.npy", "Fortran"]),
        ("object.npy", ["object.npy", "object"]),
        ("structured.npy", ["structured.npy", "struct"]),
        ("i16.npy", ["i16.npy", "i2"]),
        ("not_npy.npy", ["not_npy.npy", "npy"]),
        ("u8.npy", ["u8", "reduce"]),
        ("f16.npy", ["f16", "reduce"]),
    ] {
        refused_in_a_line(&["reduce", "--input", &data(file), "--device", "sim"], 2, &words);
    }
    refused_in_a_line(
        &["reduce", "--input", &data("f32.npy"), "--dtype", "f64", "--device", "sim"],
        2,
        &["f32", "f64"],
    );
}

#[test]
fn bad_options() {
    refused_in_a_line(&["reduce", "--block", "0", "--device", "sim"], 2, &["--block 0"]);
    refused_in_a_line(&["reduce", "--block", "2048", "--device", "sim"], 2, &["--block 2048"]);
    refused_in_a_line(&["reduce", "--n", "2^60", "--device", "sim"], 2, &["memory"]);
    refused(&["reduce", "--n", "2^80", "--device", "sim"], 2, &["2^80"]);
    refused_in_a_line(&["reduce", "--variant", "fastest", "--device", "sim"], 2, &["fastest", "sequential"]);
    refused(&["reduce", "--no-such-option"], 2, &["--no-such-option"]);
    refused(&["reduce", "--device", "tpu"], 2, &["tpu"]);
}

#[test]
fn no_gpu_and_no_ptx() {
    refused_in_a_line(&["reduce", "--device", "gpu"], 3, &["no-such-libcuda.so"]);
    let devices = host(&["devices"]);
    assert_eq!(devices.status.code(), Some(0), "it starts without a driver");
    assert!(text(&devices.stdout).contains("sim"));

    let folder = tempfile::tempdir().expect("a folder");
    let output = Command::new(env!("CARGO_BIN_EXE_host"))
        .args(["reduce", "--device", "sim"])
        .env("RUSTWARP_PTX_DIR", folder.path())
        .output()
        .expect("the binary runs");
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).contains("cargo xtask build-ptx"), "{}", text(&output.stderr));
    refused(&["reduce", "--ptx", "/no/such/file.ptx", "--device", "sim"], 3, &["/no/such/file.ptx"]);
}

/// A kernel in PTX: `out[i] = in[i] * factor`, without the test of the length when `n` is not passed on.
const SCALE: &str = "
.version 7.8
.target sm_75
.address_size 64
.visible .entry scale(.param .u64 input, .param .u64 output, .param .f32 factor)
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<6>;
    ld.param.b64 %rd1, [input];
    ld.param.b64 %rd2, [output];
    ld.param.b32 %r3, [factor];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd3, %r1, 4;
    add.s64 %rd4, %rd1, %rd3;
    add.s64 %rd5, %rd2, %rd3;
    ld.global.b32 %r2, [%rd4];
    mul.rn.f32 %r2, %r2, %r3;
    st.global.b32 [%rd5], %r2;
    ret;
}
";

#[test]
fn any_ptx_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let ptx = folder.path().join("scale.ptx");
    std::fs::write(&ptx, SCALE).expect("a file");
    let ptx = ptx.display().to_string();
    let out = folder.path().join("out.npy").display().to_string();
    let input = format!("buf:f32:@{}", data("version2.npy"));
    let common = [
        "--entry",
        "scale",
        "--grid",
        "1",
        "--device",
        "sim",
        "--arg",
        &input,
        "--arg",
        "buf:f32:4",
        "--arg",
        "f32:1.5",
    ];

    let output = host(&[&["run", &ptx, "--block", "4", "--out", &format!("1={out}")], &common[..]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let sum = rows(&["reduce", "--input", &out, "--variant", "best", "--device", "sim", "--json"]);
    assert_eq!(sum[0]["value"].as_f64(), Some(9.0), "(0 + 1 + 2 + 3) * 1.5");

    let late = folder.path().join("late.npy").display().to_string();
    let output = host(&[&["run", &ptx, "--block", "5", "--out", &format!("1={late}")], &common[..]].concat());
    assert_eq!(output.status.code(), Some(4), "thread 4 reads behind the end: {}", text(&output.stderr));
    assert!(text(&output.stderr).contains("(4, 0, 0)"), "{}", text(&output.stderr));
    assert!(!PathBuf::from(late).exists(), "no output file after a fault");

    std::fs::write(&ptx, SCALE.replace("mul.wide.u32", "mul.wide.u32 %rd9 {")).expect("a file");
    refused(&[&["run", &ptx, "--block", "4"], &common[..]].concat(), 2, &["scale.ptx"]);
}
