//! `cargo xtask setup`: fetches missing tools.

use std::process::ExitCode;

use anyhow::Result;
use cuda_builder::{
    setup,
    toolchain::{Search, Toolchain},
};

/// Options of the task.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Options {
    /// Source of the device toolchain
    #[arg(long, value_enum, default_value_t)]
    from: Source,
    /// With `--from rustup`: the toolchain to add the components to
    #[arg(long, default_value = "stable", value_name = "NAME")]
    channel: String,
}

/// A source of toolchains.
#[derive(clap::ValueEnum, Clone, Copy, Debug, Default, PartialEq)]
pub enum Source {
    /// The system's package archive, unpacked into the user's cache
    #[default]
    Apt,
    /// Adds rust-src and llvm-tools to a rustup toolchain
    Rustup,
}

/// Sets up, and prints the tools that are present.
///
/// # Errors
/// Fails if a tool cannot be fetched.
pub fn run(options: &Options) -> Result<ExitCode> {
    if options.from == Source::Rustup {
        setup::add_components(&options.channel)?;
    }
    let toolchain = toolchain()?;
    println!(
        "device toolchain: rustc {}, LLVM {}, {}",
        toolchain.version.release, toolchain.version.llvm, toolchain.origin
    );
    match setup::cuda_tools(&Search::default().cache, &mut report) {
        Ok(tools) => tools.iter().for_each(|tool| println!("{}: {}", tool.name, tool.path.display())),
        // Without them, the kernels still compile and run on the simulator.
        Err(error) => println!(
            "ptxas and nvdisasm: none, so PTX is not checked by assembling it\n  {}",
            indent(&error.to_string())
        ),
    }
    Ok(ExitCode::SUCCESS)
}

/// Finds the device toolchain, or fetches it.
///
/// # Errors
/// Fails if there is no toolchain and it cannot be fetched.
pub fn toolchain() -> Result<Toolchain> {
    Ok(setup::toolchain(&Search::default(), &mut report)?)
}

/// Fetches all tools that the tests need.
///
/// # Errors
/// Fails if a tool cannot be fetched.
pub fn all() -> Result<()> {
    toolchain()?;
    setup::cuda_tools(&Search::default().cache, &mut report)?;
    Ok(())
}

fn report(line: &str) {
    eprintln!("setup: {line}");
}

fn indent(text: &str) -> String {
    text.replace('\n', "\n  ")
}
