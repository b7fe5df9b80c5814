//! `cargo xtask test`: checks the rules, sets up missing tools, builds the PTX, and runs every test.

use std::process::ExitCode;

use anyhow::Result;

use crate::{build_ptx, command, setup, tidy};

/// Options of the task.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Options {
    /// Also run the tests that need a GPU; without one they fail
    #[arg(long)]
    gpu: bool,
    /// Arguments for `cargo test`, e.g. `-p ptx_sim` or `-- shuffle`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
    arguments: Vec<String>,
}

/// Runs the tests.
///
/// # Errors
/// Fails if a rule is violated, a tool is missing, or a build or a test fails.
pub fn run(options: &Options) -> Result<ExitCode> {
    tidy::run()?;
    setup::all()?;
    build_ptx::all()?;
    fetch()?;
    let mut cargo = command::cargo();
    cargo.args(["test", "--no-fail-fast"]);
    if !options.arguments.iter().any(|word| word == "-p" || word.starts_with("--package")) {
        cargo.arg("--workspace");
    }
    if options.gpu {
        cargo.args(["--features", "tests/gpu"]);
    }
    command::run(cargo.args(&options.arguments))?;
    Ok(ExitCode::SUCCESS)
}

/// Downloads the dependencies of all features: examples and new projects are built with these, without the network.
///
/// # Errors
/// Fails if cargo does.
pub fn fetch() -> Result<()> {
    command::run(command::cargo().args(["fetch", "--locked"]))
}
