//! Compiles a crate of Rust kernels to PTX with a stock rustc and stock LLVM tools.
//!
//! [`CudaBuilder`] builds a crate, from a program or from a `build.rs`. A build has three steps, each a module:
//! [`toolchain`] finds the compilers ([`setup`] fetches them), `rustc` turns the crate into bitcode, and `link` divides
//! the bitcode into PTX modules, prepares it for a GPU and runs LLVM on those that changed. [`check`] examines PTX.

mod arch;
mod artifact;
mod build_script;
mod builder;
mod cache;
pub mod check;
pub mod cuda_tools;
pub mod embed;
mod error;
mod files;
mod link;
mod lock;
mod options;
mod package;
mod place;
mod process;
mod progress;
mod rustc;
pub mod setup;
mod target;
mod target_of;
pub mod toolchain;
mod workers;

pub use arch::{Arch, NvvmArch, UnknownArch};
pub use artifact::Artifact;
pub use builder::CudaBuilder;
pub use cache::Cache;
pub use error::Error;
pub use options::{DebugInfo, Modules};
pub use target::TARGET;

/// Compiles the code of the crate's README as doctests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
