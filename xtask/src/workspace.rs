//! Places in this workspace.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Crates that are compiled to PTX: package name and folder.
pub const KERNEL_CRATES: [(&str, &str); 2] = [("kernels-gpu", "kernels-gpu"), ("test-kernels", "tests/kernels")];

/// Its folder.
pub fn root() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().unwrap_or(own).to_owned()
}

/// Where the PTX goes: `<package>/<arch>.ptx` below it.
pub fn ptx_dir() -> PathBuf {
    root().join("target/ptx")
}

/// The sources of the programs that measure other people's libraries.
pub fn peers() -> Result<Vec<PathBuf>> {
    let folder = root().join("bench/peers");
    let entries = std::fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "cu"));
    paths.sort();
    Ok(paths)
}
