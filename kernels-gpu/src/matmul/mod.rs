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

pub use factor::Factor;

use cuda_std::thread;

/// Bit of `stored`: A is stored transposed, as `k` by `m`.
pub const A_TRANSPOSED: u32 = 1;

/// Bit of `stored`: B is stored transposed, as `n` by `k`.
pub const B_TRANSPOSED: u32 = 2;

/// Row and column of the block's tile of the product, counted in tiles; tiles follow each other along rows. The grid is
/// one-dimensional, since only its first axis can have more than 65535 blocks.
#[inline(always)]
pub(crate) fn tile_of_block(columns: u32, tile: u32) -> [usize; 2] {
    // There is no block if there is no column; without `max` the compiler would keep a panic for a division by 0.
    let across = columns.div_ceil(tile).max(1);
    let index = thread::block_idx_x();
    [(index / across) as usize, (index % across) as usize]
}
