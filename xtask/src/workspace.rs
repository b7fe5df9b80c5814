//! Paths in this workspace.

use std::path::{Path, PathBuf};

use cuda_builder::{CudaBuilder, Modules};

/// Crates that are compiled to PTX: package name, folder, and how their entries are divided into files.
pub const KERNEL_CRATES: [(&str, &str, Modules); 3] = [
    ("kernels-gpu", "kernels-gpu", Modules::PerFamily),
    ("test-kernels", "tests/kernels", Modules::Whole),
    ("test-operators", "tests/operators", Modules::Whole),
];

/// The workspace's folder.
pub fn root() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().unwrap_or(own).to_owned()
}

/// Folder of the PTX: below it `<package>/<arch>/<family>.ptx`, or `<package>/<arch>.ptx` for a package in one file.
pub fn ptx_dir() -> PathBuf {
    root().join("target/ptx")
}

/// The build of a crate of kernels into the folder of the workspace's PTX.
pub fn builder(name: &str, folder: &Path, modules: Modules) -> CudaBuilder {
    // The PTX is the same on every machine: it is distributed, and embedded in programs.
    CudaBuilder::new(folder).modules(modules).copy_to(ptx_dir().join(name)).source_root(false)
}

/// Folder of the sources of the libraries that the kernels are compared with.
pub fn peers() -> PathBuf {
    root().join("bench/peers")
}
