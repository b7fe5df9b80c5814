//! A copy of the Rust-CUDA project's example kernels, with our crates in their dependency lines.
//!
//! The kernels are read from a clone of that project, at one commit, into a temporary folder. Nothing of them is part
//! of this repository.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Variable that names a clone of <https://github.com/Rust-GPU/rust-cuda>: a checkout, or a bare repository.
pub const VARIABLE: &str = "RUSTWARP_RUST_CUDA";

/// The commit whose examples are compiled, of 2026-04-20.
pub const COMMIT: &str = "946c91f080770f30d42d7c706ac8185969274073";

/// A clone of Rust-CUDA.
pub struct Repository {
    path: PathBuf,
}

impl Repository {
    /// The clone that the variable names; `None` if it is not set.
    pub fn from_environment() -> Option<Self> {
        std::env::var_os(VARIABLE).filter(|path| !path.is_empty()).map(|path| Self { path: path.into() })
    }

    /// Copies the crate in `folder` of the commit below `to`, with our crates in its dependency lines, and returns the
    /// copy's folder.
    ///
    /// # Errors
    /// Says which command or file failed, and what to do.
    pub fn copy(&self, folder: &str, to: &Path) -> Result<PathBuf, String> {
        let list = self.git(&["ls-tree", "-r", "--name-only", COMMIT, "--", folder])?;
        let list = String::from_utf8_lossy(&list).into_owned();
        if list.trim().is_empty() {
            return Err(format!("commit {COMMIT} has no folder `{folder}`"));
        }
        let manifests = list.lines().filter_map(|file| file.strip_suffix("/Cargo.toml"));
        let members = manifests.map(|member| format!("{member:?}")).collect::<Vec<_>>().join(", ");
        for file in list.lines() {
            let mut bytes = self.git(&["show", &format!("{COMMIT}:{file}")])?;
            if file.ends_with("Cargo.toml") {
                bytes = with_our_crates(&String::from_utf8_lossy(&bytes)).into_bytes();
            }
            let path = to.join(file);
            let written = fs::create_dir_all(path.parent().unwrap_or(to)).and_then(|()| fs::write(&path, bytes));
            written.map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        }
        // Stands for upstream's own workspace, which has all of its crates.
        let workspace = format!("[workspace]\nresolver = \"2\"\nmembers = [{members}]\n");
        let path = to.join("Cargo.toml");
        fs::write(&path, workspace).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        Ok(to.join(folder))
    }

    fn git(&self, arguments: &[&str]) -> Result<Vec<u8>, String> {
        let output = Command::new("git").arg("-C").arg(&self.path).args(arguments).output();
        let output = output.map_err(|error| format!("cannot run git: {error}"))?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        Err(format!(
            "`git {}` failed in `{}`, which {VARIABLE} names: set it to a clone of Rust-GPU/rust-cuda that has commit \
             {COMMIT}\n{}",
            arguments.join(" "),
            self.path.display(),
            String::from_utf8_lossy(&output.stderr)
        ))
    }
}

/// `manifest` with our crates instead of upstream's `cuda_std` and `cuda_builder`. No other line changes.
pub fn with_our_crates(manifest: &str) -> String {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates");
    let lines = manifest.lines().map(|line| match line.split_once('=').map(|(name, _)| name.trim()) {
        Some(name @ ("cuda_std" | "cuda_builder")) => {
            let (package, features) = match name {
                "cuda_std" => ("rustwarp-std", ", features = [\"rust-cuda\"]"),
                _ => ("rustwarp-builder", ""),
            };
            let path = crates.join(name);
            format!("{name} = {{ package = \"{package}\", path = \"{}\"{features} }}", path.display())
        }
        _ => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_lines_of_our_crates_change() {
        let manifest = "[package]\nname = \"k\"\n\n[dependencies]\ncuda_std = { path = \"x\" }\nglam = \"0.30\"\n\n\
                        [build-dependencies]\ncuda_builder = { version = \"0.3\" }\n";
        let changed = with_our_crates(manifest);
        let lines: Vec<_> = manifest.lines().zip(changed.lines()).filter(|(old, new)| old != new).collect();
        assert_eq!(manifest.lines().count(), changed.lines().count());
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(lines[0].1.starts_with("cuda_std = { package = \"rustwarp-std\", path = "), "{lines:?}");
        assert!(lines[1].1.starts_with("cuda_builder = { package = \"rustwarp-builder\", path = "), "{lines:?}");
    }
}
