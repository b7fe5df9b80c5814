//! `cargo xtask bench`: the kernels against the vendor's libraries, on a GPU.

use std::{
    path::Path,
    process::{Command, ExitCode},
};

use anyhow::{Context, Result};

use crate::{build_ptx, command, setup, workspace};

/// What to measure.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Options {
    /// Passed on to `host bench`, e.g. `reduce --n 2^22`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
    arguments: Vec<String>,
}

/// Measures.
pub fn run(options: &Options) -> Result<ExitCode> {
    setup::toolchain()?;
    build_ptx::all()?;
    let mut host = command::cargo();
    host.args(["run", "--quiet", "--release", "--package", "host", "--", "bench"]).args(&options.arguments);
    if build_peers()? && !options.arguments.iter().any(|word| word == "--peers") {
        host.arg("--peers");
    }
    command::run(&mut host)?;
    Ok(ExitCode::SUCCESS)
}

/// Compiles the programs of `bench/peers` that are older than their source; false on a machine without nvcc.
fn build_peers() -> Result<bool> {
    if !Command::new("nvcc").arg("--version").output().is_ok_and(|output| output.status.success()) {
        eprintln!("nvcc is not on the PATH: the vendor's libraries are not measured");
        return Ok(false);
    }
    let folder = workspace::root().join("target/peers");
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    for source in workspace::peers()? {
        let program = folder.join(source.file_stem().unwrap_or_default());
        if !is_newer(&program, &source) {
            command::run(
                Command::new("nvcc").args(["-O3", "-std=c++17", "-arch=native"]).arg(&source).arg("-o").arg(&program),
            )?;
        }
    }
    Ok(true)
}

fn is_newer(program: &Path, source: &Path) -> bool {
    let time = |path: &Path| path.metadata().and_then(|data| data.modified()).ok();
    time(program).is_some_and(|built| time(source).is_some_and(|written| written <= built))
}
