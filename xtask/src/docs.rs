//! `cargo xtask docs`: the pages of the ladders, written by `docs/generator`.

use std::process::ExitCode;

use anyhow::Result;

use crate::{build_ptx, command, setup};

/// Options of the task.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Options {
    /// Write nothing, and fail if a page would change
    #[arg(long)]
    pub check: bool,
}

/// Builds the kernels, and writes the pages or compares them.
///
/// # Errors
/// Fails if the kernels do not build, a page cannot be generated or, with `--check`, a page would change.
pub fn run(options: &Options) -> Result<ExitCode> {
    setup::toolchain()?;
    build_ptx::all()?;
    let mut cargo = command::cargo();
    cargo.args(["run", "--quiet", "--package", "docs-generator", "--"]);
    if options.check {
        cargo.arg("--check");
    }
    command::run(&mut cargo)?;
    Ok(ExitCode::SUCCESS)
}
