//! `ptxas` and `nvdisasm`: optional tools of a CUDA toolkit, which assemble PTX and print machine code.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use crate::{Cache, Error, process, setup::Source};

/// Names of the tools.
pub const NAMES: [&str; 2] = ["ptxas", "nvdisasm"];

/// A tool that was found and starts.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CudaTool {
    /// `ptxas` or `nvdisasm`.
    pub name: &'static str,
    /// Path of the executable.
    pub path: PathBuf,
    /// Its release, e.g. (13, 5, 37).
    pub version: (u32, u32, u32),
}

/// The newest of the tools with this name: later releases support more architectures.
pub fn find(name: &'static str, cache: &Cache) -> Option<CudaTool> {
    folders(cache).into_iter().filter_map(|folder| at(&folder, name)).max_by_key(|tool| tool.version)
}

/// Like [`find`]; `purpose` completes "is needed to …" in the error.
///
/// # Errors
/// [`Error::NoCudaTool`] if there is none, with the command that adds it.
pub fn require(name: &'static str, cache: &Cache, purpose: &'static str) -> Result<CudaTool, Error> {
    find(name, cache).ok_or_else(|| Error::NoCudaTool { tool: name, purpose, fix: Source::Apt.command() })
}

/// Folders that may hold a toolkit's programs. Of equal versions the later one is used.
fn folders(cache: &Cache) -> Vec<PathBuf> {
    let mut folders = vec![cache.cuda().join("bin"), PathBuf::from("/usr/local/cuda/bin")];
    folders.extend(
        ["CUDA_PATH", "CUDA_HOME"].iter().filter_map(std::env::var_os).map(|root| Path::new(&root).join("bin")),
    );
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut on_path: Vec<_> = std::env::split_paths(&path).collect();
    on_path.reverse();
    folders.extend(on_path);
    folders
}

fn at(folder: &Path, name: &'static str) -> Option<CudaTool> {
    let path = folder.join(name);
    if !path.is_file() {
        return None;
    }
    let text = process::read(Command::new(&path).arg("--version"), "print its version").ok()?;
    Some(CudaTool { name, path, version: version(&text)? })
}

/// `Cuda compilation tools, release 13.5, V13.5.37`
fn version(text: &str) -> Option<(u32, u32, u32)> {
    let numbers = text.lines().find_map(|line| line.split_once(", V").map(|(_, numbers)| numbers))?;
    let mut parts = numbers.split(|c: char| !c.is_ascii_digit()).map(|part| part.parse().ok());
    Some((parts.next()??, parts.next()??, parts.next()??))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_release() {
        assert_eq!(
            version("ptxas: NVIDIA (R) Ptx optimizing assembler\nCuda compilation tools, release 13.5, V13.5.37\n"),
            Some((13, 5, 37))
        );
        assert_eq!(version("something else"), None);
    }
}
