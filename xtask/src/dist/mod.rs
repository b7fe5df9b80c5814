//! `cargo xtask dist`: one folder that tests and measures the kernels on a GPU machine that has no Rust.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use anyhow::{Context, Result, bail, ensure};
use cuda_builder::Arch;

use crate::{build_ptx, command, embed, setup, workspace};

/// Text of the script with the folder's commands.
pub const RUN_SH: &str = include_str!("run.sh");

/// Maximum size of the folder: 60 MiB.
const LIMIT: u64 = 60 << 20;

/// Maximum size of the command line, with all its families and the simulator: 30 MB.
const HOST_LIMIT: u64 = 30_000_000;

/// The GPUs whose machine code is in the folder; others compile its PTX on first use.
const MACHINE_CODE: [Arch; 1] = [Arch::Compute90];

/// Makes the folder.
///
/// # Errors
/// Fails if a build or a copy fails, or the folder is too large.
pub fn run() -> Result<ExitCode> {
    setup::toolchain()?;
    build_ptx::all()?;
    // The programs here use the files of the folder: each would contain a copy.
    embed::remove()?;
    embed::beside_the_ptx(&MACHINE_CODE)?;
    let root = workspace::root();
    let dist = root.join("dist");
    if dist.exists() {
        fs::remove_dir_all(&dist).with_context(|| format!("cannot empty {}", dist.display()))?;
    }
    let (host, libraries) = host_and_libraries()?;
    let tests = command::executables(&[
        "test",
        "--release",
        "--no-run",
        "--package",
        "tests",
        "--features",
        "gpu",
        "--test",
        "gpu",
    ])?;
    ensure!(!host.is_empty() && !tests.is_empty(), "cargo named no host binary or no GPU tests");
    for (name, path) in &host {
        check_size(path, HOST_LIMIT)?;
        copy(path, &dist.join(name))?;
    }
    for library in libraries {
        let name = library.file_name().context("a library has a name")?;
        copy(&library, &dist.join(name))?;
    }
    for (name, path) in &tests {
        copy(path, &dist.join("tests").join(name))?;
    }
    pack(&dist)?;
    copy_tree(&workspace::peers(), &dist.join("peers"))?;
    copy_tree(&root.join("data"), &dist.join("data"))?;
    for name in ["LICENSE-MIT", "LICENSE-APACHE"] {
        copy(&root.join(name), &dist.join(name))?;
    }
    let script = dist.join("run.sh");
    fs::write(&script, RUN_SH).with_context(|| format!("cannot write {}", script.display()))?;
    make_executable(&script)?;

    let size = size(&dist)?;
    println!(
        "{}: {:.1} MiB; copy it to a GPU machine and run ./run.sh test",
        dist.display(),
        size as f64 / f64::from(1 << 20)
    );
    ensure!(size < LIMIT, "the folder is larger than {} MiB", LIMIT >> 20);
    Ok(ExitCode::SUCCESS)
}

/// Checks that a program has at most `limit` bytes.
///
/// # Errors
/// Fails if it is larger than the limit, or cannot be read.
pub fn check_size(program: &Path, limit: u64) -> Result<()> {
    let bytes = program.metadata().with_context(|| format!("cannot read {}", program.display()))?.len();
    println!("{}: {:.1} MB", program.display(), bytes as f64 / 1e6);
    ensure!(bytes <= limit, "{} has {bytes} bytes, and the limit is {limit}: see what made it grow", program.display());
    Ok(())
}

/// The packages of the libraries that `host sanitize` hands to programs.
const LIBRARIES: [&str; 3] = ["cuda_sim", "cudart12_sim", "cudart13_sim"];

/// Builds the command line, and the libraries that `host sanitize` hands to programs, which it looks for beside itself.
/// One command builds them, because another choice of packages has other features of their dependencies, and the
/// simulator would be compiled for each.
///
/// # Errors
/// Fails if the build fails.
pub fn host_and_libraries() -> Result<(Vec<command::Executable>, Vec<PathBuf>)> {
    let mut arguments = vec!["build", "--release", "--package", "host"];
    arguments.extend(LIBRARIES.iter().flat_map(|package| ["--package", package]));
    let host = command::executables(&arguments)?;
    let folder = workspace::root().join("target/release");
    Ok((host, LIBRARIES.map(|package| folder.join(format!("lib{package}.so"))).into()))
}

/// Packs the GPU tests, and the PTX and machine code of every crate of kernels, which shrink to a twentieth with a window
/// that is larger than their files; `run.sh` unpacks them. A better search for repetitions would take a minute, and save
/// a fifth.
fn pack(dist: &Path) -> Result<()> {
    let mut tar = Command::new("tar");
    tar.args(["-I", "xz --lzma2=preset=1,dict=64MiB", "-cf"]).arg(dist.join("packed.tar.xz"));
    tar.arg("-C").arg(dist).arg("tests");
    let ptx = workspace::ptx_dir();
    let (Some(above), Some(name)) = (ptx.parent(), ptx.file_name()) else { bail!("{} has no name", ptx.display()) };
    tar.arg("-C").arg(above);
    for (package, ..) in workspace::KERNEL_CRATES {
        let mut folders = vec![Path::new(name).join(package)];
        while let Some(folder) = folders.pop() {
            for path in children(&above.join(&folder))? {
                let Some(name) = path.file_name() else { continue };
                if path.is_dir() {
                    folders.push(folder.join(name));
                } else if is_packed(&name.to_string_lossy()) {
                    tar.arg(folder.join(name));
                }
            }
        }
    }
    command::run(&mut tar).context("tar and xz are needed")?;
    let tests = dist.join("tests");
    fs::remove_dir_all(&tests).with_context(|| format!("cannot remove {}", tests.display()))
}

/// Whether a file of this name is PTX, or machine code for a GPU of the list: there may also be machine code that
/// `cargo xtask embed` made for others.
fn is_packed(name: &str) -> bool {
    name.ends_with(".ptx") || MACHINE_CODE.iter().any(|arch| name.ends_with(&format!(".{arch}.cubin")))
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    }
    fs::copy(from, to).with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))?;
    Ok(())
}

/// Copies the files of a folder, at any depth.
fn copy_tree(from: &Path, to: &Path) -> Result<()> {
    for path in children(from)? {
        let Some(name) = path.file_name() else { bail!("{} has no name", path.display()) };
        if path.is_dir() {
            copy_tree(&path, &to.join(name))?;
        } else {
            copy(&path, &to.join(name))?;
        }
    }
    Ok(())
}

fn size(folder: &Path) -> Result<u64> {
    let mut total = 0;
    for path in children(folder)? {
        total += if path.is_dir() { size(&path)? } else { path.metadata()?.len() };
    }
    Ok(total)
}

fn children(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    Ok(entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?)
}

#[cfg(unix)]
fn make_executable(path: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    Ok(fs::set_permissions(path, fs::Permissions::from_mode(0o755))?)
}

#[cfg(not(unix))]
fn make_executable(_: &Path) -> Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_beyond_the_limit_is_refused() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("program");
        let file = fs::File::create(&path)?;
        file.set_len(1000)?;
        check_size(&path, 1000)?;
        file.set_len(1001)?;
        let error = check_size(&path, 1000).expect_err("one byte too many").to_string();
        assert!(error.contains("1001 bytes, and the limit is 1000"), "{error}");
        Ok(())
    }

    #[test]
    fn machine_code_for_other_gpus_stays_out() {
        let names = ["reduce.ptx", "reduce.sm_90.cubin", "reduce.sm_80.cubin", "reduce.sm_90a.cubin", "kernels.copies"];
        assert_eq!(names.map(is_packed), [true, true, false, false, false]);
    }
}
