//! The program from outside: exit codes, standard output and standard error. On the simulator.
#![allow(dead_code, reason = "each test has use for some of it")]

use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Output};

/// The program with these arguments, where there is no GPU.
pub fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_host"));
    command.args(args).env("RUSTWARP_LIBCUDA", "no-such-libcuda.so").env_remove("COLUMNS").env_remove("NO_COLOR");
    command
}

pub fn host(args: &[&str]) -> Output {
    command(args).output().expect("the binary runs")
}

/// Path of one of the tests' data files.
pub fn data(name: &str) -> String {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/data").join(name).display().to_string()
}

/// Path of one of the simulator's test programs.
pub fn program(name: &str) -> String {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../crates/ptx_sim/tests").join(name).display().to_string()
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Runs a command that must end with this code, and returns its JSON lines.
pub fn objects(args: &[&str], code: i32) -> Vec<Value> {
    let output = host(args);
    assert_eq!(output.status.code(), Some(code), "{args:?}\n{}{}", text(&output.stdout), text(&output.stderr));
    lines(&text(&output.stdout))
}

/// Parses text that must be JSON only, one object per line.
pub fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("JSON and nothing else")).collect()
}

/// Runs a command that must end with 0, and returns its JSON lines.
pub fn rows(args: &[&str]) -> Vec<Value> {
    objects(args, 0)
}

/// Runs a command that must end with this code, and returns its single JSON line.
pub fn object(args: &[&str], code: i32) -> Value {
    let lines = objects(args, code);
    assert_eq!(lines.len(), 1, "{args:?}");
    lines[0].clone()
}

/// Checks that a command ends with this code, that standard error contains the words, and that nothing is printed to
/// standard output.
pub fn refused(args: &[&str], code: i32, words: &[&str]) {
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

/// Checks a command as [`refused`] does, and that the error is one line.
pub fn refused_in_a_line(args: &[&str], code: i32, words: &[&str]) {
    refused(args, code, words);
    let error = text(&host(args).stderr);
    assert_eq!(error.lines().filter(|line| !line.starts_with("using ")).count(), 1, "{args:?}\n{error}");
}

/// PTX for `vecadd --variant grid_stride` and, for short vectors, `--variant best`, whose kernels consist of these
/// instructions only.
pub fn vecadd(grid_stride: &str, best: &str) -> String {
    let entry = |name: &str, params: &[&str], code: &str| {
        let params: Vec<_> = params.iter().map(|name| format!(".param .u64 {name}")).collect();
        format!(".visible .entry {name}({})\n{{\n  {code}\n  ret;\n}}\n", params.join(", "))
    };
    let entries = entry("vecadd_f32", &["a", "a_len", "b", "b_len", "out", "out_len"], grid_stride)
        + &entry("vecadd_vectorised_f32", &["a", "a_len", "b", "b_len", "out"], best);
    format!(".version 7.8\n.target sm_75\n.address_size 64\n{entries}")
}
