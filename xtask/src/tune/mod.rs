//! `cargo xtask tune`: tries other values of a family's marked constants, block sizes and grids, and measures them
//! beside the present ones.
//!
//! It compiles a copy of the kernels for each value, with one constant changed, to `target/tune/FAMILY`; `host tune`
//! measures what is there, here or, by `dist/run.sh tune`, on a machine without Rust. The sources are never edited.

pub mod marks;
mod sources;
mod variants;

use std::process::ExitCode;

use anyhow::{Result, ensure};
use cuda_builder::Arch;

use crate::{command, setup, workspace};

/// Options of the task.
#[derive(clap::Args, Clone, Debug)]
pub struct Options {
    /// The family, e.g. dot
    family: String,
    /// Only compile, to the folder that `host tune` and `dist/run.sh tune` measure; needs no GPU
    #[arg(long)]
    prepare: bool,
    /// Architecture of the PTX: of the GPU, or an earlier one
    #[arg(long, default_value_t = Arch::Compute90)]
    arch: Arch,
    /// Passed on to `host tune`, e.g. `--n 2^22 --csv dot.csv`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
    arguments: Vec<String>,
}

/// Compiles the variants, and measures them.
///
/// Ends with [`command::NO_GPU`] on a machine without a GPU, unless it only compiles.
///
/// # Errors
/// Fails for an unknown family or a bad mark, if the present kernels do not compile, and if `host` does not succeed.
pub fn run(options: &Options) -> Result<ExitCode> {
    ensure!(
        !options.prepare || options.arguments.is_empty(),
        "--prepare measures nothing, and takes no options of `host tune`: give them to `host tune` or `run.sh tune`"
    );
    // Nothing is compiled for a measurement that cannot be made.
    if let (false, Err(error)) = (options.prepare, cuda_driver::load()) {
        eprintln!(
            "error: {error}: run `cargo xtask tune` on a machine with a GPU, or add --prepare and measure the variants \
             there"
        );
        return Ok(ExitCode::from(command::NO_GPU));
    }
    let toolchain = setup::toolchain()?;
    let folder = variants::prepare(&options.family, options.arch, &toolchain)?;
    if options.prepare {
        let shown = folder.strip_prefix(workspace::root()).unwrap_or(&folder).display();
        println!("{shown}: copy it to a GPU machine, beside the folder `dist`, and run ./run.sh tune FOLDER there");
        return Ok(ExitCode::SUCCESS);
    }
    command::run(command::host().arg("tune").arg(folder).args(&options.arguments))?;
    Ok(ExitCode::SUCCESS)
}
