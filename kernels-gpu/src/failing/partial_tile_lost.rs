//! A product of matrices in `WIDTH / TILE` phases: 24 rows and columns in tiles of 16 are one phase, and the products
//! of a second phase are lost.
//!
//! The loop of the PMPP slides (`docs/sources.md`) is `for (m = 0; m < Width/TILE_WIDTH; ++m)`: right for widths that
//! are multiples of the tile. Loads and results outside of the matrix are guarded here; the number of phases must be
//! rounded up as well. Right: `matmul`, rung `tiled_16`.

use super::{BLOCK, pairs};
use cuda_std::{kernel, thread};

/// The mistake in one line.
pub const IDEA: &str = "Width / TILE phases: the products of a partial last tile are lost";

/// Rows and columns of a tile, a thread for each element.
pub const TILE: usize = 16;

/// Rows and columns of the matrix.
pub const WIDTH: usize = 24;

/// Tiles along a side.
pub const TILES: usize = WIDTH.div_ceil(TILE);

const _: () = assert!(TILE * TILE == BLOCK as usize);

/// The square of a matrix, wrongly.
///
/// # Safety
/// `TILES * TILES` blocks; input and output have `WIDTH * WIDTH` elements.
#[kernel]
pub unsafe fn failing_partial_tile_lost(input: &[u32], output: *mut u32) {
    let (t, block) = (thread::thread_idx_x() as usize, thread::block_idx_x() as usize);
    let (y, x) = (t / TILE, t % TILE);
    let (row, column) = (block / TILES * TILE + y, block % TILES * TILE + x);
    let (left, right) = (pairs(), pairs().wrapping_add(TILE * TILE));
    // SAFETY: the element is inside the matrix.
    let at = |row, column| unsafe {
        if row < WIDTH && column < WIDTH { *input.get_unchecked(row * WIDTH + column) } else { 0 }
    };
    let mut sum = 0_u32;
    let mut phase = 0;
    // WRONG: the remaining columns need a phase as well, so use `TILES`.
    while phase < WIDTH / TILE {
        // SAFETY: two slots for each thread; barriers are between writes and reads.
        unsafe {
            left.add(t).write(at(row, phase * TILE + x));
            right.add(t).write(at(phase * TILE + y, column));
            thread::sync_threads(); // both tiles are complete
            let mut k = 0;
            while k < TILE {
                sum = sum.wrapping_add(left.add(y * TILE + k).read().wrapping_mul(right.add(k * TILE + x).read()));
                k += 1;
            }
        }
        thread::sync_threads(); // separates the reads of both tiles from the next phase's writes
        phase += 1;
    }
    if row < WIDTH && column < WIDTH {
        // SAFETY: the element is inside the matrix, and this thread's.
        unsafe { output.add(row * WIDTH + column).write(sum) };
    }
}
