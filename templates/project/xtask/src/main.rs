//! `cargo xtask setup`: fetches the device toolchain into the user's cache.

use std::env;

use cuda_builder::{
    Error,
    setup::{self, Source},
    toolchain::Search,
};

fn main() -> Result<(), Error> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let source = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["setup"] | ["setup", "--from", "apt"] => Source::Apt,
        ["setup", "--from", "rustup"] => Source::Rustup,
        _ => {
            eprintln!("usage: cargo xtask setup [--from apt|rustup]");
            std::process::exit(2);
        }
    };
    if source == Source::Rustup {
        setup::add_components("stable")?;
    }
    let (search, mut report) = (Search::default(), |line: &str| eprintln!("{line}"));
    let toolchain = setup::toolchain(&search, &mut report)?;
    println!("device toolchain: rustc {}, {}", toolchain.version.release, toolchain.origin);
    // Only machine code and warnings about spills need ptxas.
    match setup::cuda_tools(&search.cache, &mut report) {
        Ok(tools) => tools.iter().for_each(|tool| println!("{}: {}", tool.name, tool.path.display())),
        Err(error) => println!("ptxas: none\n{error}"),
    }
    Ok(())
}
