//! `setup --from rustup`. It runs only on request, because it changes a toolchain that other projects use.

use std::process::Command;

use super::Source;
use crate::Error;

/// Adds `rust-src` and `llvm-tools` to a rustup toolchain. rustup prints its own messages.
///
/// # Errors
/// [`Error::Start`] if there is no rustup; [`Error::Setup`] if it fails.
pub fn add_components(toolchain: &str) -> Result<(), Error> {
    let arguments = ["component", "add", "rust-src", "llvm-tools", "--toolchain", toolchain];
    let purpose = format!("add rust-src and llvm-tools to the toolchain {toolchain}");
    let status = Command::new("rustup").args(arguments).status().map_err(|reason| Error::Start {
        program: "rustup".to_owned(),
        purpose: purpose.clone(),
        reason,
    })?;
    if status.success() {
        return Ok(());
    }
    Err(Error::Setup {
        problem: format!("`rustup {}` failed ({status}): its message is above", arguments.join(" ")),
        fix: format!("{} (downloads Debian's packages into the cache instead)", Source::Apt.command()),
    })
}
