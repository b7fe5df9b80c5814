//! Compiles a crate of Rust kernels to PTX with a stock rustc and stock LLVM tools.
//!
//! [`CudaBuilder`] is the way in, from a program or from a `build.rs`. A build has four steps, one module each:
//! [`toolchain`] finds the compilers ([`setup`] fetches them), `rustc` turns the crate into bitcode, `link` joins it,
//! prepares it for a GPU and has LLVM turn it into PTX, and [`check`] looks at the result.

mod arch;
mod build_script;
mod builder;
mod cache;
pub mod check;
pub mod cuda_tools;
mod error;
mod link;
mod lock;
mod package;
mod process;
mod rustc;
pub mod setup;
pub mod toolchain;

pub use arch::{Arch, NvvmArch};
pub use builder::{Artifact, CudaBuilder, DebugInfo};
pub use cache::Cache;
pub use error::Error;

/// The Rust target that kernels are compiled for.
pub const TARGET: &str = "nvptx64-nvidia-cuda";
