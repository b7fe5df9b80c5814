//! Matrix product: `C = A * B`, `c[i][j] = sum over k of a[i][k] * b[k][j]`; all matrices row-major, A and B also
//! transposed.
//!
//! Each element of A is needed for every column of C, each of B for every row: `2 m n k` operations on
//! `m k + k n + m n` elements. The ladder reduces the number of times that an element is fetched, first from device
//! memory (the CGMA ratio of the PMPP slides, `docs/sources.md`: compute operations per global memory access), then
//! from shared memory.
//!
//! The rungs: [`naive`] uses device memory alone; [`tiled`] adds shared memory; [`thread_tile_1d`] and
//! [`thread_tile_2d`] add registers; [`vectorised`] and [`double_buffered`] move the tiles better; [`best`], which also
//! multiplies batches: many products of one size in one launch, and scales them and adds them to matrices.
//!
//! Sources: D. Kirk and W. Hwu, "Programming Massively Parallel Processors", chapters 4 and 5 (naive, tiled, CGMA); V.
//! Volkov, "Better Performance at Lower Occupancy" (2010: thread tiles); S. Boehm, "How to Optimize a CUDA Matmul
//! Kernel" (2022); S. Gray's maxas wiki on SGEMM (register order); NVIDIA CUTLASS (pipelines).
//!
//! Every rung adds the products of an element in an order that depends on the shape only, so the result has the same
//! bits in every run. Each product is added by a fused multiply-add, in a chain of `k`; the error is at most about
//! `k * eps * sum of |a| |b|`.

pub mod best;
pub mod double_buffered;
pub mod factor;
pub mod naive;
pub mod thread_tile_1d;
pub mod thread_tile_2d;
pub mod tiled;
pub mod vectorised;

mod outer;
mod side;

pub use crate::product::{A_TRANSPOSED, B_TRANSPOSED};
pub use factor::Factor;

use crate::product::tile_of_block;
