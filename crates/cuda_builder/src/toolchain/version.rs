//! The output of `rustc -vV`.

use std::{path::Path, path::PathBuf, process::Command};

use crate::{error::Error, process};

/// Version of a rustc.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RustcVersion {
    /// Its release: `1.96.0`, `1.97.0-nightly`.
    pub release: String,
    /// The commit that it was built from, if it says so: nightlies and local builds share a release.
    pub commit: Option<String>,
    /// The machine it runs on: `x86_64-unknown-linux-gnu`.
    pub host: String,
    /// The version of LLVM that writes its bitcode: `22.1.8`.
    pub llvm: String,
}

impl RustcVersion {
    /// Runs `rustc`, which finds its libraries in `library_path`.
    ///
    /// # Errors
    /// [`Error::Start`] or [`Error::Tool`] if it does not run; [`Error::Answer`] if its output lacks a line.
    pub fn of(rustc: &Path, library_path: &[PathBuf]) -> Result<Self, Error> {
        let mut command = Command::new(rustc);
        command.arg("-vV");
        process::add_library_path(&mut command, library_path);
        let text = process::read(&mut command, "print its version")?;
        Self::parse(&text).ok_or_else(|| Error::Answer {
            program: format!("{} -vV", rustc.display()),
            problem: "expected lines `release:`, `host:` and `LLVM version:`".to_owned(),
            output: text,
        })
    }

    /// Parses the output of `rustc -vV`; `None` if it lacks a line.
    pub fn parse(text: &str) -> Option<Self> {
        let field = |name: &str| Some(text.lines().find_map(|line| line.strip_prefix(name))?.trim().to_owned());
        Some(Self {
            release: field("release:")?,
            commit: field("commit-hash:"),
            host: field("host:")?,
            llvm: field("LLVM version:")?,
        })
    }

    /// The major version of LLVM, which its tools must share to read rustc's bitcode.
    pub fn llvm_major(&self) -> &str {
        self.llvm.split('.').next().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_release_host_and_llvm() {
        let text = "rustc 1.96.0 (ac68faa20 2026-05-25)\nbinary: rustc\ncommit-hash: ac68faa20c58\n\
                    host: x86_64-unknown-linux-gnu\n\
                    release: 1.96.0\nLLVM version: 22.1.8\n";
        let version = RustcVersion::parse(text).expect("complete");
        assert_eq!((version.release.as_str(), version.llvm_major()), ("1.96.0", "22"));
        assert_eq!(version.commit.as_deref(), Some("ac68faa20c58"));
        assert_eq!(RustcVersion::parse("release: 1.96.0\n"), None);
    }
}
