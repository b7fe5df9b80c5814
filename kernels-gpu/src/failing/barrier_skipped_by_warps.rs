//! Half of the warps have nothing to load and skip the barrier after the loads. No warp is split, so nothing hangs
//! here: the block's next barrier has the same number, and a barrier counts arrivals, whatever instruction they come
//! from. From then on half of the block is one barrier ahead.
//!
//! The warps that skipped read what the others have not written yet. Right: `transpose`, rung `tiled`: the threads
//! without an element skip the load, not the barrier.

use super::{BLOCK, cache};
use cuda_std::{kernel, thread};

/// The mistake in one line.
pub const IDEA: &str = "whole warps skip a barrier, and read what the others have not written yet";

/// Gives every thread the element of one in the block's first half, wrongly.
///
/// # Safety
/// No launch is safe: the skipped barrier is the point.
#[kernel(allow(divergent_barrier))]
pub unsafe fn failing_barrier_skipped_by_warps(input: &[u32], output: *mut u32) {
    const HALF: usize = BLOCK as usize / 2;
    let (t, i) = (thread::thread_idx_x() as usize, thread::global_index());
    let cache = cache();
    // SAFETY: this is unsound on purpose; only the simulator runs it. Each thread of the grid has a slot and an
    // element.
    unsafe {
        if t < HALF {
            cache.add(t).write(*input.get_unchecked(i));
            thread::sync_threads(); // separates the loads from the reads, but only half of the block waits here
        }
        output.add(i).write(cache.add(t % HALF).read()); // FINDING
    }
}
