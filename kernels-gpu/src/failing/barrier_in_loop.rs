//! A scan whose loop ends when the stride has passed the thread's own index: thread 0 never enters it, thread 1 makes
//! one round, thread 255 eight. Its barriers are reached by fewer and fewer threads.
//!
//! Threehearts 2021 (`docs/sources.md`) has this loop: `for (s = 1; s <= threadIdx.x; s *= 2)`. Right: `scan`, rung
//! `kogge_stone`: a loop with barriers runs equally often for all, and an `if` inside it selects the threads that work.

use super::cache;
use cuda_std::{kernel, thread};

/// The mistake in one line.
pub const IDEA: &str = "a barrier in a loop that runs longer for some threads than for others";

/// Scans `BLOCK` elements per block, wrongly.
///
/// # Safety
/// No launch is safe: the misplaced barriers are the point.
#[kernel(allow(divergent_barrier))]
pub unsafe fn failing_barrier_in_loop(input: &[u32], output: *mut u32) {
    let (t, i) = (thread::thread_idx_x() as usize, thread::global_index());
    let cache = cache();
    // SAFETY: this is unsound on purpose; only the simulator runs it. Each thread of the grid has a slot and an
    // element.
    unsafe {
        cache.add(t).write(*input.get_unchecked(i));
        let mut stride = 1;
        while stride <= t {
            thread::sync_threads(); // FINDING
            let other = cache.add(t - stride).read();
            thread::sync_threads(); // every thread has read before any thread writes
            cache.add(t).write(cache.add(t).read().wrapping_add(other));
            stride *= 2;
        }
        output.add(i).write(cache.add(t).read());
    }
}
