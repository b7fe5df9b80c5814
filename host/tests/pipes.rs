//! The exit code reports a command's outcome even if its output is not read.
#![cfg(unix)]

mod program;

use program::{command, program, text, vecadd};
use std::io::PipeWriter;

/// A pipe whose reader is closed, as after `| true`.
fn closed() -> PipeWriter {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    writer
}

/// Runs the program with standard output closed, and returns its exit code and standard error.
fn unread(args: &[&str]) -> (Option<i32>, String) {
    let output = command(args).stdout(closed()).output().expect("the binary runs");
    (output.status.code(), text(&output.stderr))
}

#[test]
fn a_wrong_result_is_wrong_when_nobody_reads_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let ptx = folder.path().join("nothing.ptx");
    std::fs::write(&ptx, vecadd("", "")).expect("a file");
    let ptx = ptx.display().to_string();
    let right = ["vecadd", "--variant", "grid_stride", "--n", "100", "--device", "sim"];
    for json in [&[][..], &["--json"]] {
        let (code, error) = unread(&[&right[..], json].concat());
        assert_eq!(code, Some(0), "{error}");
        assert!(!error.contains("error") && !error.contains("panicked"), "{error}");
        let (code, error) = unread(&[&right[..], &["--ptx", &ptx], json].concat());
        assert_eq!(code, Some(1), "{error}");
        assert!(error.contains("vecadd grid_stride: WRONG: element 0 is 0, expected "), "{error}");
    }
}

#[test]
fn findings_are_found_when_nobody_reads_them() {
    let race = program("fail/race_inside_a_warp.ptx");
    let check = ["check", &race, "--entry", "k", "--block", "32", "--arg", "buf:u32:32"];
    for more in [&[][..], &["--json"], &["--seeds", "2", "--json"]] {
        let (code, error) = unread(&[&check[..], more].concat());
        assert_eq!(code, Some(1), "{more:?}\n{error}");
    }
}

#[test]
fn a_closed_standard_error_ends_nothing() {
    for (args, code) in [
        (&["devices"][..], 0),
        (&["list"], 0),
        (&["check", "vecadd", "--n", "100", "--seeds", "1"], 0),
        (&["check", "failing", "--variant", "missing_barrier"], 1),
        (&["reduce", "--input", "no-such-file.npy", "--device", "sim"], 2),
        (&["reduce", "--device", "gpu"], 3),
    ] {
        let output = command(args).stderr(closed()).output().expect("the binary runs");
        assert_eq!(output.status.code(), Some(code), "{args:?}");
    }
    let both = command(&["devices"]).stdout(closed()).stderr(closed()).output().expect("the binary runs");
    assert_eq!(both.status.code(), Some(0));
}
