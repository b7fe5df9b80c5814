//! What `rustc -vV` says.

use std::{path::Path, path::PathBuf, process::Command};

use crate::{error::Error, process};

/// A rustc's own account of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RustcVersion {
    /// `1.96.0`, `1.97.0-nightly`.
    pub release: String,
    /// The machine it runs on: `x86_64-unknown-linux-gnu`.
    pub host: String,
    /// The LLVM it writes bitcode with: `22.1.8`.
    pub llvm: String,
}

impl RustcVersion {
    /// Asks a rustc that finds its libraries in `library_path`.
    pub fn of(rustc: &Path, library_path: &[PathBuf]) -> Result<Self, Error> {
        let mut command = Command::new(rustc);
        command.arg("-vV");
        process::add_library_path(&mut command, library_path);
        let text = process::read(&mut command, "tell its version")?;
        Self::parse(&text).ok_or_else(|| Error::Answer {
            program: format!("{} -vV", rustc.display()),
            problem: "expected lines `release:`, `host:` and `LLVM version:`".to_owned(),
            output: text,
        })
    }

    /// Reads the lines of `rustc -vV`.
    pub fn parse(text: &str) -> Option<Self> {
        let field = |name: &str| Some(text.lines().find_map(|line| line.strip_prefix(name))?.trim().to_owned());
        Some(Self { release: field("release:")?, host: field("host:")?, llvm: field("LLVM version:")? })
    }

    /// The number that LLVM's tools must share with rustc to read its bitcode.
    pub fn llvm_major(&self) -> &str {
        self.llvm.split('.').next().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_release_host_and_llvm() {
        let text = "rustc 1.96.0 (ac68faa20 2026-05-25)\nbinary: rustc\nhost: x86_64-unknown-linux-gnu\nrelease: 1.96.0\nLLVM version: 22.1.8\n";
        let version = RustcVersion::parse(text).expect("complete");
        assert_eq!((version.release.as_str(), version.llvm_major()), ("1.96.0", "22"));
        assert_eq!(RustcVersion::parse("release: 1.96.0\n"), None);
    }
}
