//! `cargo xtask tune` on a machine without a GPU.

use std::process::{Command, Output};

fn tune(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    command.arg("tune").args(arguments).env("RUSTWARP_LIBCUDA", "no-such-libcuda.so");
    command.output().expect("the binary runs")
}

#[test]
fn without_a_gpu_nothing_is_compiled() {
    let output = tune(&["dot", "--n", "2^22"]);
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{error}");
    assert!(error.contains("no-such-libcuda.so") && error.contains("--prepare"), "{error}");
    assert_eq!(error.lines().count(), 1, "no command was started: {error}");
}

#[test]
fn an_unknown_family_is_refused() {
    let output = tune(&["dott", "--prepare"]);
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("unknown family `dott`"), "{error}");
}
