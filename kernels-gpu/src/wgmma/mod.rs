//! Matrix product by warpgroups, the tensor cores' unit of work on sm_90: `C = A * B` of bf16 and f16 with sums in
//! f32. What [`mma`](crate::mma) leaves to be done is to bring the factors close without threads that wait.
//!
//! An instruction (`wgmma`) multiplies 64 rows of A by up to 256 columns of B, with 16 of the depth, and reads both
//! factors from shared memory by itself ([`cuda_std::warpgroup`]); only the sums are in registers. It runs
//! asynchronously: threads start it, and wait for it later. The rungs differ in how the factors come to shared memory:
//!
//! - [`copied`]: all threads copy, then all multiply.
//! - [`tma`]: tensor maps say how a matrix lies, and one thread copies boxes of it by an instruction each, into a ring
//!   of stages whose barriers count bytes. Two stages are on their way while one is multiplied.
//! - [`producer`]: a warpgroup of its own copies, so that those that multiply wait for nothing else. It needs next to
//!   no registers and gives them away, which makes room for sums of twice as many columns.
//! - [`persistent`]: as many blocks as multiprocessors compute one tile after another, so that the next tile is copied
//!   while this one is stored; two blocks of a cluster share the columns of B, and each copies half of them for both.
//!
//! The rung to use is `best` of the family [`tensor`](crate::tensor), the library's, of the same design as
//! [`persistent`]: it stores by tensor maps too, from tiles of the width that suits the problem, divides the depth if
//! there are few tiles, takes rows of any length, and finishes sums on the way (scales, bias, activation). Its blocks
//! do not share B: with its stores, clusters gain up to 1 % and lose up to 4 %
//! (`docs/results/h200/2026-11-28-wgmma.txt`).
//!
//! Both factors are in panels: 64 lines (rows of A, columns of B) with 64 of the depth, in rows of 128 bytes along
//! either, so that one code serves all storage orders.
//!
//! Sources: NVIDIA, "Parallel Thread Execution" (wgmma, tensor maps, mbarrier); NVIDIA CUTLASS and P. Shah's fast.cu
//! (warpgroups that copy and that multiply, multicast in clusters).
//!
//! Tensor maps take rows of multiples of 16 bytes only, and so do the rungs that use them. PTX for other GPUs
//! multiplies element by element.
//!
//! Every rung adds the products of an element in the order of the depth, so the result has the same bits in every run
//! on one kind of device.

pub mod copied;
pub mod persistent;
pub mod producer;
pub mod tma;

mod copies;
mod panels;
mod plain;
mod ring;
mod sums;

pub use crate::tensor::mixed::{Bf16, F16};
pub use panels::{DEPTH, LINES, ROWS};
