//! The kernels: one module per family, smallest first. [`vecadd`] is the one to read first, then [`mod@reduce`] rung by
//! rung.
//!
//! On the device every `#[kernel]` is an `.entry` of the PTX file. On the host the same name is a launcher: it takes
//! device memory and values, which the compiler checks against the kernel's signature, and returns a
//! [`cuda_std::launch::Call`].
#![no_std]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx))]

pub mod access;
pub mod atomics;
pub mod banks;
pub mod conv1d;
pub mod conv2d;
pub mod divergence;
pub mod dot;
pub mod failing;
pub mod filter;
pub mod histogram;
pub mod matmul;
pub mod number;
pub mod picture;
pub mod print;
pub mod reduce;
pub mod scan;
pub mod segreduce;
pub mod texture;
pub mod threads;
pub mod transpose;
mod unroll;
pub mod vecadd;
