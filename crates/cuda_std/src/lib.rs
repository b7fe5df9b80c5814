//! What a kernel may call: thread, warp and block operations, memory, textures, atomics, maths, printing.
//!
//! The crate builds for the GPU (`nvptx64-nvidia-cuda`, by `cuda_builder`) and for the host on stable Rust. On the host
//! every device function exists with the same signature, so that kernels are type-checked, linted and documented there;
//! calling one panics. What the host does use is [`launch`]: the types that a kernel's launcher takes.
//!
//! Names and meanings are those of the `cuda_std` of the Rust-GPU project where the function exists there.
#![no_std]
#![cfg_attr(
    target_arch = "nvptx64",
    feature(abi_unadjusted, asm_experimental_arch, link_llvm_intrinsics, repr_simd, stdarch_nvptx),
    allow(internal_features)
)]

// The macros write paths that start with `::cuda_std`; this makes them right in here too.
extern crate self as cuda_std;

pub mod atomic;
#[cfg(target_arch = "nvptx64")]
mod intrinsics;
pub mod io;
pub mod launch;
pub mod math;
pub mod memory;
pub mod misc;
#[cfg(target_arch = "nvptx64")]
mod panic;
pub mod prelude;
pub mod shared;
#[cfg(target_arch = "nvptx64")]
mod text;
pub mod texture;
pub mod thread;
pub mod warp;

pub use cuda_std_macros::{address_space, gpu_only, kernel};

/// What a `#[gpu_only]` function does on the host.
#[doc(hidden)]
#[cfg(not(target_arch = "nvptx64"))]
#[cold]
pub fn unavailable(name: &str) -> ! {
    panic!("`{name}` runs only on a GPU or in the simulator: launch a kernel that calls it")
}
