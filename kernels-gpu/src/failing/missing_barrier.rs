//! A tree sum without the barrier between its steps: a thread reads a value that its neighbour may not have written
//! yet.
//!
//! It gives the right sum in many runs, and for a block of one warp in nearly all. Right: `reduce`, rung `sequential`.

use super::{BLOCK, cache};
use cuda_std::{kernel, thread};

/// The mistake in one line.
pub const IDEA: &str = "no barrier between the steps of the tree";

/// Sums `BLOCK` elements per block, wrongly.
///
/// # Safety
/// No launch is safe: the missing barrier is the point.
#[kernel]
pub unsafe fn failing_missing_barrier(input: &[u32], output: *mut u32) {
    let (t, i) = (thread::thread_idx_x() as usize, thread::global_index());
    let cache = cache();
    // SAFETY: this is unsound on purpose; only the simulator runs it. Each thread of the grid has a slot and an
    // element.
    unsafe {
        cache.add(t).write(*input.get_unchecked(i));
        thread::sync_threads(); // separates the loads from the first step of the tree
        let mut half = BLOCK as usize / 2;
        while half > 0 {
            if t < half {
                cache.add(t).write(cache.add(t).read().wrapping_add(cache.add(t + half).read())); // FINDING
            }
            half /= 2; // here a barrier is missing
        }
        if t == 0 {
            output.add(thread::block_idx_x() as usize).write(cache.read());
        }
    }
}
