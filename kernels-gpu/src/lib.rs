//! The kernels: one module per family, smallest first. [`vecadd`] is the one to read first, then [`mod@reduce`] rung by
//! rung.
//!
//! On the device every `#[kernel]` is an `.entry` of the PTX file. On the host the same name is a launcher: it takes
//! device memory and values, which the compiler checks against the kernel's signature, and returns a
//! [`cuda_std::launch::Call`].
//!
//! A crate with kernels for operators of its own depends on this one for [`operator`], with `default-features = false`:
//! the feature `ladders` adds the families and the entries, which take a minute to compile for the device.
#![no_std]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx))]
#![cfg_attr(not(feature = "ladders"), expect(unused, reason = "what only entries use"))]

#[cfg(feature = "ladders")]
pub mod access;
#[cfg(feature = "ladders")]
pub mod atomics;
#[cfg(feature = "ladders")]
pub mod banks;
#[cfg(feature = "ladders")]
pub mod conv1d;
#[cfg(feature = "ladders")]
pub mod conv2d;
#[cfg(feature = "ladders")]
pub mod divergence;
#[cfg(feature = "ladders")]
pub mod dot;
#[cfg(feature = "ladders")]
pub mod epilogue;
#[cfg(feature = "ladders")]
pub mod exact_sum;
#[cfg(feature = "ladders")]
pub mod failing;
#[cfg(feature = "ladders")]
pub mod filter;
#[cfg(feature = "ladders")]
pub mod histogram;
#[cfg(feature = "ladders")]
pub mod matmul;
#[cfg(feature = "ladders")]
pub mod matvec;
#[cfg(feature = "ladders")]
pub mod mma;
pub mod number;
pub mod operator;
#[cfg(feature = "ladders")]
pub mod picture;
mod position;
#[cfg(feature = "ladders")]
pub mod print;
pub mod reduce;
pub mod scan;
pub mod scan_by_key;
pub mod segreduce;
#[cfg(feature = "ladders")]
pub mod separable;
#[cfg(feature = "ladders")]
pub mod tensor;
#[cfg(feature = "ladders")]
pub mod texture;
#[cfg(feature = "ladders")]
pub mod threads;
#[cfg(feature = "ladders")]
pub mod transpose;
mod unroll;
#[cfg(feature = "ladders")]
pub mod vecadd;
#[cfg(feature = "ladders")]
pub mod wgmma;
