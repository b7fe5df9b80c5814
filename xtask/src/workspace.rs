//! Places in this workspace.

use std::path::{Path, PathBuf};

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

/// The sources of what we measure against.
pub fn peers() -> PathBuf {
    root().join("bench/peers")
}
