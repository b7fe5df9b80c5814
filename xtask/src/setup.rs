//! `cargo xtask setup`: fetches what is missing, and nothing else.

use std::process::ExitCode;

use anyhow::Result;
use cuda_builder::{
    setup,
    toolchain::{Search, Toolchain},
};

/// Where to get what is missing.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Options {
    /// Where the device toolchain comes from
    #[arg(long, value_enum, default_value_t)]
    from: Source,
    /// With `--from rustup`: the toolchain that gets the components
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

/// Sets up, and says what there is now.
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
        // The kernels compile and run on the simulator without them.
        Err(error) => println!(
            "ptxas and nvdisasm: none, so PTX is not checked by assembling it\n  {}",
            indent(&error.to_string())
        ),
    }
    Ok(ExitCode::SUCCESS)
}

/// The device toolchain, fetched if there is none.
pub fn toolchain() -> Result<Toolchain> {
    Ok(setup::toolchain(&Search::default(), &mut report)?)
}

/// Everything that the tests need.
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
