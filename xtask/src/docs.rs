//! `cargo xtask docs`: the pages of the ladders, written by `docs/generator`, and those of the guide, by `docs/book`.

use std::process::{Command, ExitCode};

use anyhow::{Result, bail};

use crate::{build_ptx, command, setup, workspace};

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

/// Runs one of the programs that write documents. It is built with the dependencies' features of the whole workspace,
/// as the tests are: with those of its package alone, the simulator would be compiled again.
fn generate(package: &str, check: bool) -> Result<()> {
    let built = command::executables(&["build", "--quiet", "--workspace", "--bin", package])?;
    let [(_, program)] = built.as_slice() else { bail!("cargo named no program, or several, for {package}") };
    let mut command = Command::new(program);
    command.current_dir(workspace::root());
    if check {
        command.arg("--check");
    }
    command::run(&mut command)
}
