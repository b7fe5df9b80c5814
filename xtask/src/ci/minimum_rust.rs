//! The minimum version of Rust, `rust-version` in `Cargo.toml`, checked with the Rust that is installed.
//!
//! Clippy's `incompatible_msrv`, which the workspace denies, reports items of the standard library that are newer. The
//! check `clippy` runs it on all code; this one makes sure that it applies to every crate and that it can fail. A test
//! of `xtask` compares the version with those that the dependencies require. What is left is the syntax: the job `msrv`
//! of `.github/workflows/ci.yml` compiles the workspace with that version, and so does this check where rustup has it.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail, ensure};
use cargo_metadata::MetadataCommand;
use toml::{Table, Value};

use crate::{command, workspace};

/// An item of the standard library, stable since 1.91.
const NEWER: &str = "//! Newer.\n\n/// Adds.\npub fn add(a: i32) -> i32 {\n    a.strict_add(1)\n}\n";
/// The same without it.
const OLDER: &str = "//! Older.\n\n/// Adds.\npub fn add(a: i32) -> i32 {\n    a.wrapping_add(1)\n}\n";

/// Runs the check.
///
/// # Errors
/// Fails if a crate does without the lint, if the lint does not report what is newer, or if the workspace does not
/// compile with that version.
pub fn run() -> Result<()> {
    let manifest = read(&workspace::root().join("Cargo.toml"))?;
    let version = manifest["workspace"]["package"]["rust-version"].as_str().context("no rust-version")?;
    every_crate_has_the_lint(version)?;
    let folder = tempfile::tempdir().context("cannot create a folder")?;
    let level = manifest["workspace"]["lints"]["clippy"].get("incompatible_msrv").and_then(Value::as_str);
    let level = level.context("Cargo.toml does not set clippy's lint `incompatible_msrv`")?;
    let manifest = format!(
        "[package]\nname = \"probe\"\nedition = \"2024\"\nrust-version = \"{version}\"\n[workspace]\n[lints.clippy]\n\
         incompatible_msrv = \"{level}\"\n"
    );
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
    };
    write("Cargo.toml", &manifest)?;
    fs::create_dir(folder.path().join("src"))?;
    for (source, passes) in [(OLDER, true), (NEWER, false)] {
        write("src/lib.rs", source)?;
        let output = command::cargo().args(["clippy", "--quiet", "--offline"]).current_dir(folder.path()).output()?;
        let text = String::from_utf8_lossy(&output.stderr);
        ensure!(
            output.status.success() == passes,
            "clippy's answer to what Rust {version} lacks is not as expected: {text}"
        );
        ensure!(passes || text.contains("incompatible_msrv"), "clippy fails for another reason: {text}");
    }
    with_that_version(version)
}

/// Checks that every crate states the version and takes the workspace's lints.
fn every_crate_has_the_lint(version: &str) -> Result<()> {
    let metadata = MetadataCommand::new().current_dir(workspace::root()).no_deps().exec()?;
    for package in metadata.workspace_packages() {
        let manifest = read(package.manifest_path.as_std_path())?;
        let lints = manifest.get("lints").and_then(|lints| lints.get("workspace")).and_then(Value::as_bool);
        ensure!(lints == Some(true), "{}: add `[lints] workspace = true`", package.manifest_path);
        let stated = package.rust_version.as_ref().map(|stated| format!("{}.{}", stated.major, stated.minor));
        ensure!(stated.as_deref() == Some(version), "{}: add `rust-version.workspace = true`", package.manifest_path);
    }
    Ok(())
}

/// Compiles the workspace with that version, where it is installed.
fn with_that_version(version: &str) -> Result<()> {
    let mut rustup = Command::new("rustup");
    let asked = rustup.args(["run", version, "cargo", "--version"]).stderr(Stdio::null()).output();
    if !asked.is_ok_and(|output| output.status.success()) {
        println!(
            "Rust {version} is not installed: the job `msrv` compiles with it, and `rustup toolchain install \
             {version}` adds it"
        );
        return Ok(());
    }
    let mut check = Command::new("rustup");
    check.args(["run", version, "cargo", "check", "--workspace", "--all-features", "--target-dir", "target/msrv"]);
    command::run(check.env("RUSTWARP_FAMILIES", "none").env_remove("CARGO").current_dir(workspace::root()))
}

fn read(path: &Path) -> Result<Table> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    match text.parse() {
        Ok(table) => Ok(table),
        Err(error) => bail!("{}: {error}", path.display()),
    }
}
