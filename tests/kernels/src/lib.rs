//! Kernels that only tests launch: a small one per public item of `cuda_std`, and the planted bugs that the simulator
//! must find.
//!
//! Each module holds kernels and, for the host, [`cases`](thread::cases): their launches with the expected output. Both
//! backends run the same table; see [`all::cases`] and [`planted::all`].
#![no_std]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx))]

#[cfg(not(target_arch = "nvptx64"))]
extern crate std;

#[cfg(not(target_arch = "nvptx64"))]
pub mod all;
#[cfg(not(target_arch = "nvptx64"))]
pub mod case;

pub mod atomic;
pub mod guide;
pub mod heap;
pub mod math;
pub mod math_precise;
pub mod memory;
pub mod panic;
pub mod parameters;
pub mod planted;
pub mod pointer;
pub mod print;
pub mod rung;
pub mod shared;
pub mod texture;
pub mod thread;
pub mod vector;
pub mod view;
pub mod warp;
