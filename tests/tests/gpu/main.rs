//! Tests that need a GPU. They are compiled with `--features gpu` only; then a missing GPU is a failure.
//!
//! They are one program, because each would contain the whole library. They run one after the other: they share the
//! GPU, and some compare times.

mod arrays;
mod cudarc;
mod families;
mod group;
mod mixed;
mod speed;
mod streams;

use std::process::Command;

use libtest_mimic::{Arguments, Failed, Trial};

fn main() {
    let arguments = Arguments { test_threads: Some(1), ..Arguments::from_args() };
    let tests = [
        arrays::trials(),
        cudarc::trials(),
        families::trials(),
        group::trials(),
        mixed::trials(),
        streams::trials(),
        speed::trials(),
    ];
    libtest_mimic::run(&arguments, tests.into_iter().flatten().collect()).exit();
}

/// A test that fails by a panic.
fn trial(name: &str, test: fn()) -> Trial {
    Trial::test(name, move || {
        test();
        Ok(())
    })
}

/// This program with one test, for tests that need a process of their own.
fn again(test: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    // Quietly, so that a line that a kernel prints is a line of the output.
    command.args(["--exact", test, "--nocapture", "--quiet"]);
    command
}

fn failed(error: rustwarp::Error) -> Failed {
    Failed::from(error.to_string())
}
