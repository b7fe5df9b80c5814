//! `cargo xtask docs`: the pages of the ladders, written by `docs/generator`, and those of the guide, by `docs/book`.

use std::process::ExitCode;

use anyhow::Result;

use crate::{build_ptx, command, setup};

/// Options of the task.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Options {
    /// Write nothing, and fail if a page would change
    #[arg(long)]
    pub check: bool,
    /// Only the guide: code from its sources, links, and its web pages in `target/book`
    #[arg(long)]
    pub book: bool,
}

/// Builds the kernels, and writes the pages or compares them; then makes the guide.
///
/// # Errors
/// Fails if the kernels do not build, a page cannot be generated, a link is broken or, with `--check`, a page would
/// change.
pub fn run(options: &Options) -> Result<ExitCode> {
    if !options.book {
        setup::toolchain()?;
        build_ptx::all()?;
        generate("docs-generator", options.check)?;
    }
    generate("docs-book", options.check)?;
    Ok(ExitCode::SUCCESS)
}

/// Runs one of the programs that write documents.
fn generate(package: &str, check: bool) -> Result<()> {
    let mut cargo = command::cargo();
    cargo.args(["run", "--quiet", "--package", package, "--"]);
    if check {
        cargo.arg("--check");
    }
    command::run(&mut cargo)
}
