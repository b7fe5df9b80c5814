//! Transposition: rows become columns, `output[c][r] = input[r][c]`. Also called corner turning.
//!
//! Nothing is computed; the order of the memory accesses determines the speed. Matrices are row-major.
//!
//! The rungs: [`naive_read`] and [`naive_write`] use no shared memory; [`tiled`], [`padded`], [`vectorised`] and
//! [`best`] transpose tiles there. [`narrow`] is `best` for elements of 1 and 2 bytes, and [`small`] that for small
//! matrices, whose tiles would leave multiprocessors idle, and for rows that are not whole words.
//!
//! Sources: G. Ruetsch and P. Micikevicius, "Optimizing Matrix Transpose in CUDA" (NVIDIA, 2009); M. Harris, "An
//! Efficient Matrix Transpose in CUDA C/C++" (2013).

use cuda_std::thread;

pub mod best;
pub mod naive_read;
pub mod naive_write;
pub mod narrow;
pub mod padded;
pub mod small;
pub mod tiled;
pub mod vectorised;

/// Rows and columns of a tile.
pub const TILE: u32 = 32;

/// Rows of threads in a block of `TILE` columns: each thread moves `TILE / ROWS` elements, so that index arithmetic is
/// shared.
pub const ROWS: u32 = 8;

/// Threads per block of every rung; the layout of the tiles depends on it.
pub const BLOCK: u32 = TILE * ROWS;

const _: () = assert!(TILE.is_multiple_of(ROWS));

/// The block's tile: its first row and column. The grid is one-dimensional, since only its first axis can have more
/// than 65535 blocks.
#[inline(always)]
fn tile_origin(columns: u32, tile: u32) -> (u32, u32) {
    // There is no block if there is no column; without `max` the compiler would keep a panic for a division by 0.
    let across = columns.div_ceil(tile).max(1);
    let index = thread::block_idx_x();
    (index / across * tile, index % across * tile)
}

/// The thread's column and first row within a tile.
#[inline(always)]
fn place_in_tile() -> (u32, u32) {
    let tid = thread::thread_idx_x();
    (tid % TILE, tid / TILE)
}
