//! The kernels: one module per family, smallest first. [`vecadd`] is the one to read first, then [`mod@reduce`] rung by
//! rung.
//!
//! On the device every `#[kernel]` is an `.entry` of the PTX file. On the host the same name is a launcher: it takes
//! device memory and values, which the compiler checks against the kernel's signature, and returns a
//! [`cuda_std::launch::Call`].
//!
//! A crate with kernels for operators of its own depends on this one for [`operator`], with `default-features = false`:
//! the feature `ladders` adds the families and the entries, which take a minute to compile for the device, and a
//! feature that is named as a family adds that one.
#![no_std]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx))]
#![cfg_attr(not(feature = "ladders"), expect(unused, reason = "what only entries use"))]

#[cfg(feature = "access")]
pub mod access;
#[cfg(feature = "atomics")]
pub mod atomics;
#[cfg(feature = "banks")]
pub mod banks;
#[cfg(feature = "conv1d")]
pub mod conv1d;
#[cfg(feature = "conv2d")]
pub mod conv2d;
#[cfg(feature = "divergence")]
pub mod divergence;
#[cfg(feature = "dot")]
pub mod dot;
#[cfg(any(feature = "matmul", feature = "tensor"))]
pub mod epilogue;
#[cfg(feature = "exact_sum")]
pub mod exact_sum;
#[cfg(feature = "failing")]
pub mod failing;
#[cfg(any(feature = "conv1d", feature = "conv2d"))]
pub mod filter;
#[cfg(feature = "histogram")]
pub mod histogram;
#[cfg(feature = "matmul")]
pub mod matmul;
#[cfg(feature = "matvec")]
pub mod matvec;
#[cfg(feature = "mma")]
pub mod mma;
pub mod number;
pub mod operator;
#[cfg(feature = "picture")]
pub mod picture;
mod position;
#[cfg(feature = "print")]
pub mod print;
mod product;
pub mod reduce;
pub mod scan;
pub mod scan_by_key;
pub mod segreduce;
#[cfg(feature = "separable")]
pub mod separable;
#[cfg(feature = "tensor")]
pub mod tensor;
#[cfg(feature = "texture")]
pub mod texture;
#[cfg(feature = "threads")]
pub mod threads;
#[cfg(feature = "transpose")]
pub mod transpose;
mod unroll;
#[cfg(feature = "vecadd")]
pub mod vecadd;
#[cfg(feature = "wgmma")]
pub mod wgmma;
