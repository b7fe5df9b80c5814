//! `cargo xtask bench` on a machine without a GPU.

use std::process::Command;

#[test]
fn without_a_gpu_nothing_is_compiled() {
    let output = Command::new(env!("CARGO_BIN_EXE_xtask"))
        .arg("bench")
        .env("RUSTWARP_LIBCUDA", "no-such-libcuda.so")
        .output()
        .expect("the binary runs");
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{error}");
    assert!(error.contains("no-such-libcuda.so") && error.contains("machine with a GPU"), "{error}");
    assert_eq!(error.lines().count(), 1, "no command was started: {error}");
}
