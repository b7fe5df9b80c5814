//! `cargo xtask demo`: a first run. Sets up missing tools, builds the PTX, and runs the ladders of max and sum on the
//! data that comes with the project, on the best device present.

use std::process::ExitCode;

use anyhow::Result;

use crate::{build_ptx, command, setup, workspace};

/// Runs the demonstration.
///
/// # Errors
/// Fails if a step fails.
pub fn run() -> Result<ExitCode> {
    setup::toolchain()?;
    build_ptx::all()?;
    command::run(command::cargo().args(["build", "--release", "--package", "host"]))?;
    let data = workspace::root().join("data/ecg.npy");
    for op in ["max", "sum"] {
        let mut host = command::host();
        command::run(host.args(["reduce", "--variant", "all", "--op", op, "--input"]).arg(&data))?;
    }
    Ok(ExitCode::SUCCESS)
}
