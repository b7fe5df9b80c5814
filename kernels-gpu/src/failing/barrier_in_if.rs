//! A tree sum that waits only for the threads that add: the barrier has moved into the `if`.
//!
//! A barrier waits for all threads of the block. Those that don't add never reach it, or reach another one in a later
//! round. The behaviour is then undefined: hardware hangs, or counts any arriving thread and continues too early.
//! Right: `reduce`, rung `sequential`, with the barrier after the `if`.

use super::{BLOCK, cache};
use cuda_std::{kernel, thread};

/// The mistake in one line.
pub const IDEA: &str = "the tree's barrier is inside `if t < half`: only the threads that add wait";

/// Sums `BLOCK` elements per block, wrongly.
///
/// # Safety
/// No launch is safe: the misplaced barrier is the point.
#[kernel(allow(divergent_barrier))]
pub unsafe fn failing_barrier_in_if(input: &[u32], output: *mut u32) {
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
                cache.add(t).write(cache.add(t).read().wrapping_add(cache.add(t + half).read()));
                thread::sync_threads(); // FINDING
            }
            half /= 2;
        }
        if t == 0 {
            output.add(thread::block_idx_x() as usize).write(cache.read());
        }
    }
}
