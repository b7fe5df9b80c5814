//! A convolution with a tile in shared memory: every thread loads one element, if there is one. At the borders there is
//! none, and the tile's slots keep their old contents.
//!
//! The one-dimensional kernel of Threehearts 2021 (`docs/sources.md`) lacks the `else` that its two-dimensional one
//! has: outside of the input a tile holds zeros. Right: `conv1d`, rung `tiled`.

use super::{BLOCK, cache};
use cuda_std::{kernel, thread};

/// The mistake in one line.
pub const IDEA: &str = "a tile's halo is not written where there is no input";

/// Elements of the mask.
pub const WIDTH: usize = 5;

/// Results of a block: its other threads load the halo.
pub const TILE: usize = BLOCK as usize - (WIDTH - 1);

/// Sums every five neighbours, wrongly at the borders.
///
/// # Safety
/// No launch is safe: this code is wrong on purpose, since part of the tile is not written.
#[kernel]
pub unsafe fn failing_halo_not_filled(input: &[u32], output: *mut u32) {
    let t = thread::thread_idx_x() as usize;
    let result = thread::block_idx_x() as usize * TILE + t;
    let cache = cache();
    // SAFETY: this is unsound on purpose; only the simulator runs it. A slot for each thread, and as many results as
    // elements.
    unsafe {
        // At the left border the index wraps to far past the end.
        let i = result.wrapping_sub(WIDTH / 2);
        if i < input.len() {
            cache.add(t).write(*input.get_unchecked(i));
        }
        thread::sync_threads(); // separates the loads from the reads of the tile
        if t < TILE && result < input.len() {
            let mut sum = 0_u32;
            let mut k = 0;
            while k < WIDTH {
                sum = sum.wrapping_add(cache.add(t + k).read());
                k += 1;
            }
            output.add(result).write(sum); // FINDING
        }
    }
}
