//! `cargo xtask dist`: one folder that tests and measures the kernels on a GPU machine that has no Rust.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use anyhow::{Context, Result, bail, ensure};

use crate::{build_ptx, command, setup, workspace};

/// The folder's commands.
pub const RUN_SH: &str = include_str!("run.sh");

/// What a folder may hold, so that it can be copied about: 60 MiB.
const LIMIT: u64 = 60 << 20;

/// Makes the folder.
pub fn run() -> Result<ExitCode> {
    setup::toolchain()?;
    build_ptx::all()?;
    let root = workspace::root();
    let dist = root.join("dist");
    if dist.exists() {
        fs::remove_dir_all(&dist).with_context(|| format!("cannot empty {}", dist.display()))?;
    }
    let host = executables(&["build", "--package", "host", "--bin", "host"])?;
    let tests = executables(&["test", "--no-run", "--package", "tests", "--features", "gpu", "--test", "gpu*"])?;
    ensure!(!host.is_empty() && !tests.is_empty(), "cargo named no host binary or no GPU tests");
    for (name, path) in &host {
        copy(path, &dist.join(name))?;
    }
    for (name, path) in &tests {
        copy(path, &dist.join("tests").join(name))?;
    }
    pack_ptx(&dist.join("ptx.tar.gz"))?;
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

/// Packs the PTX of every crate of kernels, which is mostly line tables and shrinks to a tenth; `run.sh` unpacks it.
fn pack_ptx(archive: &Path) -> Result<()> {
    let mut tar = Command::new("tar");
    tar.arg("-czf").arg(archive).arg("-C").arg(workspace::ptx_dir());
    for (package, _) in workspace::KERNEL_CRATES {
        for file in children(&workspace::ptx_dir().join(package))? {
            if let (Some(name), true) = (file.file_name(), file.extension().is_some_and(|extension| extension == "ptx"))
            {
                tar.arg(Path::new(package).join(name));
            }
        }
    }
    command::run(&mut tar).context("tar and gzip are needed")
}

/// Builds for release, and gives name and place of each executable.
fn executables(arguments: &[&str]) -> Result<Vec<(String, PathBuf)>> {
    let mut cargo = command::cargo();
    cargo.args(arguments).args(["--release", "--message-format=json-render-diagnostics"]);
    let messages = command::read(&mut cargo)?;
    Ok(messages.lines().filter_map(executable).collect())
}

/// Target name and executable of one of cargo's messages, if it is about one.
fn executable(message: &str) -> Option<(String, PathBuf)> {
    let text = |after: &str, key: &str| -> Option<String> {
        let (_, rest) = message.split_once(after)?;
        let (_, rest) = rest.split_once(&format!("\"{key}\":\""))?;
        Some(rest.split('"').next()?.to_owned())
    };
    let path = text("\"compiler-artifact\"", "executable")?;
    Some((text("\"target\":{", "name")?, PathBuf::from(path)))
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
    fn an_executable_is_found_in_cargos_message() {
        let message = concat!(
            r#"{"reason":"compiler-artifact","package_id":"p","target":{"kind":["test"],"name":"gpu","src_path":"x"},"#,
            r#""executable":"/t/gpu-1f"}"#
        );
        assert_eq!(executable(message), Some(("gpu".to_owned(), PathBuf::from("/t/gpu-1f"))));
        let library = r#"{"reason":"compiler-artifact","target":{"kind":["lib"],"name":"host"},"executable":null}"#;
        assert_eq!(executable(library), None);
    }
}
