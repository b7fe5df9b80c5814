//! `cargo xtask setup`: fetches the device toolchain into the user's cache.

use cuda_builder::{Error, setup, toolchain::Search};

fn main() -> Result<(), Error> {
    if std::env::args().nth(1).as_deref() != Some("setup") {
        eprintln!("usage: cargo xtask setup");
        std::process::exit(2);
    }
    let toolchain = setup::toolchain(&Search::default(), &mut |line| eprintln!("{line}"))?;
    println!("device toolchain: rustc {}, {}", toolchain.version.release, toolchain.origin);
    Ok(())
}
