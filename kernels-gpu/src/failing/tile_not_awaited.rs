//! A product of matrices in tiles without the barrier between load and use: a thread multiplies elements that others
//! have not loaded yet.
//!
//! The product of Threehearts 2021 (`docs/sources.md`) has a barrier in each phase, but only at its end:
//! `value += ds_M[ty][k] * ds_N[k][tx]; __syncthreads();`. It separates the use of a tile from the next load (the
//! barrier that `tile_overwritten` lacks), but not a load from its use. Right: `matmul`, rung `tiled_16`.

use super::{BLOCK, pairs};
use cuda_std::{kernel, thread};

/// The mistake in one line.
pub const IDEA: &str = "a tile is used while other threads still load it";

/// Rows and columns of a tile, a thread for each element.
pub const TILE: usize = 16;

/// Tiles along a side.
pub const TILES: usize = 2;

/// Rows and columns of the matrix.
pub const WIDTH: usize = TILES * TILE;

const _: () = assert!(TILE * TILE == BLOCK as usize);

/// The square of a matrix, wrongly.
///
/// # Safety
/// No launch is safe: the missing barrier is the point.
#[kernel]
pub unsafe fn failing_tile_not_awaited(input: &[u32], output: *mut u32) {
    let (t, block) = (thread::thread_idx_x() as usize, thread::block_idx_x() as usize);
    let (y, x) = (t / TILE, t % TILE);
    let (row, column) = (block / TILES * TILE + y, block % TILES * TILE + x);
    let (left, right) = (pairs(), pairs().wrapping_add(TILE * TILE));
    let mut sum = 0_u32;
    let mut phase = 0;
    // SAFETY: this is unsound on purpose; only the simulator runs it. Two slots for each thread, and `WIDTH * WIDTH`
    // elements and results.
    unsafe {
        while phase < TILES {
            left.add(t).write(*input.get_unchecked(row * WIDTH + phase * TILE + x));
            right.add(t).write(*input.get_unchecked((phase * TILE + y) * WIDTH + column)); // AS WELL
            let mut k = 0; // here a barrier is missing
            while k < TILE {
                let product = left.add(y * TILE + k).read().wrapping_mul(right.add(k * TILE + x).read()); // FINDING
                sum = sum.wrapping_add(product);
                k += 1;
            }
            thread::sync_threads(); // separates the reads of both tiles from the next phase's writes
            phase += 1;
        }
        output.add(row * WIDTH + column).write(sum); // AS WELL
    }
}
