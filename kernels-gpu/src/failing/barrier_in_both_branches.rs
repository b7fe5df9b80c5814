//! Both branches have a barrier, so all threads wait, but at two different barriers.
//!
//! It looks complete, and is right as long as the whole block takes the same branch. Where a warp's lanes differ, one
//! side waits at its barrier for the other, which has one of its own. The solution of the PMPP slides
//! (`docs/sources.md`) is one barrier after the branches. Right: `transpose`, rung `tiled`.

use super::cache;
use cuda_std::{kernel, thread};

/// The mistake in one line.
pub const IDEA: &str = "a barrier in each branch of `if t % 2 == 0`: two barriers, not one";

/// Swaps the elements of every pair of threads, and doubles the odd ones, wrongly.
///
/// # Safety
/// No launch is safe: the misplaced barriers are the point.
#[kernel(allow(divergent_barrier))]
pub unsafe fn failing_barrier_in_both_branches(input: &[u32], output: *mut u32) {
    let (t, i) = (thread::thread_idx_x() as usize, thread::global_index());
    let cache = cache();
    // SAFETY: this is unsound on purpose; only the simulator runs it. Each thread of the grid has a slot and an
    // element.
    unsafe {
        let value = *input.get_unchecked(i);
        if t.is_multiple_of(2) {
            cache.add(t).write(value);
            thread::sync_threads();
            output.add(i).write(cache.add(t + 1).read());
        } else {
            cache.add(t).write(value.wrapping_add(value));
            thread::sync_threads(); // FINDING
            output.add(i).write(cache.add(t - 1).read());
        }
    }
}
