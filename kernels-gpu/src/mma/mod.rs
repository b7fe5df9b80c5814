//! Matrix product on the tensor cores of any GPU since sm_80, warp by warp: `C = A * B` of f16, bf16, f32 cut to tf32,
//! and i8, with sums in f32 or i32. [`tensor`](crate::tensor) has the products for sm_90, where the tensor cores reach
//! their full rate only by warpgroups.
//!
//! An instruction multiplies 16 rows by 8 columns, with 32 bytes of the depth, from registers of the warp's lanes
//! ([`cuda_std::mma`]). What is left to do is to bring the factors there fast enough. The rungs: [`naive`] reads them
//! from device memory; [`shared`] once for all warps of a block; [`ldmatrix`] loads registers four at a time, from
//! places without bank conflicts; [`best`] copies asynchronously, and each warp multiplies a larger part, or, of small
//! products, a slice of the depth.
//!
//! All types have the same layout in bytes, so that one code serves them. A factor is seen as lines, the rows of A and
//! the columns of B, which lie along the depth, or across it.
//!
//! Sources: NVIDIA, "CUDA C++ Programming Guide" and "Parallel Thread Execution" (mma, ldmatrix); NVIDIA CUTLASS (tiles
//! of warps, swizzles, stages of asynchronous copies).
//!
//! Every rung adds the products of an element in an order that depends on the shape only, so the result has the same
//! bits in every run on one kind of device.

pub mod best;
pub mod join;
pub mod ldmatrix;
pub mod naive;
pub mod pad;
pub mod shared;

mod block;
mod brief;
mod factor;
mod fill;
mod layout;
mod lines;
mod of_block;
mod registers;
mod store;
mod sums;

pub use crate::product::{A_TRANSPOSED, B_TRANSPOSED};
pub use crate::tensor::mixed::{Bf16, F16, S8, Tf32};
pub use factor::Factor;
