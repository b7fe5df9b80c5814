//! Tile by tile: load, wait, use, load the next one. The barrier after the load is present; the one after the use is
//! missing, and a fast warp overwrites the tile that a slow one still reads.
//!
//! Every loop over tiles needs both, above all the tiled multiplication. Right: `matmul`, rung
//! `tiled_16`: one barrier after the load, one after the use.

use super::{BLOCK, cache};
use cuda_std::{kernel, thread};

/// The mistake in one line.
pub const IDEA: &str = "the next tile is loaded while some threads still read the last one";

/// Tiles that a block goes through.
pub const TILES: usize = 4;

/// Adds, for each thread, the neighbours' elements of all tiles, wrongly.
///
/// # Safety
/// No launch is safe: the missing barrier is the point.
#[kernel]
pub unsafe fn failing_tile_overwritten(input: &[u32], output: *mut u32) {
    let t = thread::thread_idx_x() as usize;
    let cache = cache();
    let mut sum = 0_u32;
    let mut tile = 0;
    // SAFETY: this is unsound on purpose; only the simulator runs it. A slot for each thread, and `TILES` elements.
    unsafe {
        while tile < TILES {
            cache.add(t).write(*input.get_unchecked(tile * BLOCK as usize + t)); // FINDING
            thread::sync_threads(); // the tile is complete before any thread reads what others wrote
            sum = sum.wrapping_add(cache.add((t + 32) % BLOCK as usize).read()); // AS WELL
            tile += 1; // here a barrier is missing
        }
        output.add(t).write(sum);
    }
}
