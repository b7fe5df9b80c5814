//! Even threads write and wait; odd threads have nothing to write and continue.
//!
//! In a warp both sides run one after the other, so half of the warp waits at a barrier that the other half does not
//! execute. Right: `transpose`, rung `tiled`: threads with nothing to load also execute the barrier.

use super::cache;
use cuda_std::{kernel, thread};

/// The mistake in one line.
pub const IDEA: &str = "a barrier in one branch of `if t % 2 == 0`";

/// Gives every pair of threads the even one's element, wrongly.
///
/// # Safety
/// No launch is safe: the misplaced barrier is the point.
#[kernel(allow(divergent_barrier))]
pub unsafe fn failing_barrier_in_one_branch(input: &[u32], output: *mut u32) {
    let (t, i) = (thread::thread_idx_x() as usize, thread::global_index());
    let cache = cache();
    // SAFETY: this is unsound on purpose; only the simulator runs it. Each thread of the grid has a slot and an
    // element.
    unsafe {
        if t.is_multiple_of(2) {
            cache.add(t).write(*input.get_unchecked(i));
            thread::sync_threads(); // FINDING
        }
        output.add(i).write(cache.add(t & !1).read());
    }
}
