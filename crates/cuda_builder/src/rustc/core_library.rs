//! The device's `core` and `alloc`: compiled once for a toolchain and a set of flags, and kept in the user's cache as a
//! sysroot.
//!
//! Compiling them with every crate would cost each first build 12 s of processor time per architecture. Their bitcode
//! names rustc's default GPU; the IR pass replaces it by the architecture of the build.

use std::{
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::{TARGET, cache::Cache, error::Error, options::DebugInfo, place, process, toolchain::Toolchain};

/// A crate that needs nothing but `core` and `alloc`.
const MANIFEST: &str = "[package]\nname = \"device-core\"\nedition = \"2024\"\n[workspace]\n";

/// Makes sure that they are compiled, and returns the folder for rustc's `--sysroot`. `report` receives a line when
/// they have to be compiled first.
pub(crate) fn sysroot(
    toolchain: &Toolchain,
    cache: &Cache,
    release: bool,
    debug: DebugInfo,
    report: &mut dyn FnMut(&str),
) -> Result<PathBuf, Error> {
    let flags = flags(toolchain, debug);
    let mut hasher = DefaultHasher::new();
    (toolchain.fingerprint(), &flags, release).hash(&mut hasher);
    let name = format!("core-alloc-{}-{:016x}", toolchain.version.release, hasher.finish());
    let folder = cache.root().join("core").join(name);
    if place::is_complete(&folder) {
        return Ok(folder);
    }
    let _lock = place::lock(cache, report)?;
    if place::is_complete(&folder) {
        return Ok(folder);
    }
    report("compiling `core` and `alloc` for the device, once for this toolchain");
    if let Some(parent) = folder.parent() {
        fs::create_dir_all(parent).map_err(Error::io("create", parent))?;
    }
    place::install(&folder, |folder| compile(toolchain, release, &flags, folder))?;
    Ok(folder)
}

/// Fills `sysroot` with the compiled libraries, and returns their names.
fn compile(toolchain: &Toolchain, release: bool, flags: &[String], sysroot: &Path) -> Result<String, Error> {
    let source = sysroot.join("source");
    let write = |path: PathBuf, text: &str| fs::write(&path, text).map_err(Error::io("write", &path));
    fs::create_dir_all(source.join("src")).map_err(Error::io("create", &source))?;
    write(source.join("Cargo.toml"), MANIFEST)?;
    write(source.join("src/lib.rs"), "#![no_std]\n")?;
    let mut command = super::cargo(toolchain, &source, flags);
    command.args(["build", "--quiet", "--lib", "--target", TARGET, "-Zbuild-std=core,alloc", "--target-dir"]);
    command.arg(source.join("target")).env("CARGO_INCREMENTAL", "0");
    if release {
        command.arg("--release");
    }
    run(&mut command)?;

    let libraries = sysroot.join("lib/rustlib").join(TARGET).join("lib");
    fs::create_dir_all(&libraries).map_err(Error::io("create", &libraries))?;
    let built = source.join("target").join(TARGET).join(if release { "release" } else { "debug" }).join("deps");
    let mut names = String::new();
    for path in place::children(&built)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.ends_with(".rlib") && !name.starts_with("libdevice_core") {
            fs::rename(&path, libraries.join(&name)).map_err(Error::io("move", &path))?;
            names.push_str(&format!("{name}\n"));
        }
    }
    place::remove(&source)?;
    Ok(names)
}

fn run(command: &mut Command) -> Result<(), Error> {
    process::run(command.stdout(Stdio::piped()), "compile `core` and `alloc` for the device")?;
    Ok(())
}

fn flags(toolchain: &Toolchain, debug: DebugInfo) -> Vec<String> {
    let mut flags = super::code_flags(toolchain, debug);
    // Many small files: a kernel module links only those that it needs.
    flags.push("-Ccodegen-units=256".to_owned());
    flags
}
