//! The device library: thread, warp and block operations, memory, textures, atomics, maths, printing.
//!
//! The crate builds for the GPU (`nvptx64-nvidia-cuda`, by `cuda_builder`) and for the host on stable Rust. On the host
//! every device function exists with the same signature, so that kernels are type-checked, linted and documented there;
//! calling one panics. The host itself uses [`launch`], the types that a kernel's launcher takes.
//!
//! A function that also exists in the Rust-GPU project's `cuda_std` has the same name, signature and meaning here;
//! `docs/upstream.md` compares the two item by item. The feature `rust-cuda` adds what that has beyond this crate's
//! default: a heap ([`mem`]), and the crates `glam` and `half`.
#![no_std]
#![cfg_attr(
    target_arch = "nvptx64",
    feature(abi_unadjusted, asm_experimental_arch, link_llvm_intrinsics, repr_simd, stdarch_nvptx),
    allow(internal_features)
)]

// The macros expand to paths that start with `::cuda_std`, which must also resolve inside this crate.
extern crate self as cuda_std;

#[cfg(feature = "alloc")]
extern crate alloc;

pub mod atomic;
pub mod cluster;
#[cfg(target_arch = "nvptx64")]
mod intrinsics;
pub mod io;
pub mod launch;
pub mod math;
pub mod mem;
pub mod memory;
pub mod misc;
pub mod mma;
#[cfg(target_arch = "nvptx64")]
mod panic;
pub mod prelude;
pub mod ptr;
pub mod shared;
#[cfg(target_arch = "nvptx64")]
mod text;
pub mod texture;
pub mod thread;
pub mod view;
pub mod warp;
pub mod warpgroup;

pub use core::{assert_eq, assert_ne};
pub use cuda_std_macros::{address_space, externally_visible, gpu_only, kernel};
#[cfg(feature = "glam")]
pub use glam;
#[cfg(feature = "half")]
pub use half::{self, bf16, f16};
pub use libm;
pub use math::{Float as GpuFloat, FloatExt};
#[cfg(feature = "vek")]
pub use vek;

/// The host body of every `#[gpu_only]` function: panics with the function's name.
#[doc(hidden)]
#[cfg(not(target_arch = "nvptx64"))]
#[cold]
pub fn unavailable(name: &str) -> ! {
    panic!("`{name}` runs only on a GPU or in the simulator: launch a kernel that calls it")
}

/// Compiles the code of the crate's README as doctests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
