//! A tree sum whose first stride is the number of threads. With as many elements as threads, thread 0 adds element 256
//! of 256.
//!
//! The pairwise loop of the PMPP slides (`docs/sources.md`) is `for (stride = blockDim.x; stride > 1; stride /= 2)`:
//! right for two elements per thread, if it also ran for a stride of 1 (`stride_one_missing`). Right: `reduce`, rung
//! `sequential` (half of the block first, down to 1), and `first_add` with two elements.

use super::{BLOCK, cache};
use cuda_std::{kernel, thread};

/// The mistake in one line.
pub const IDEA: &str = "the tree's first stride is the whole block instead of half of it";

/// Sums `BLOCK` elements per block, wrongly.
///
/// # Safety
/// No launch is safe: the stride is the point.
#[kernel]
pub unsafe fn failing_stride_too_far(input: &[u32], output: *mut u32) {
    let (t, i) = (thread::thread_idx_x() as usize, thread::global_index());
    let cache = cache();
    // SAFETY: this is unsound on purpose; only the simulator runs it. Each thread of the grid has a slot and an
    // element.
    unsafe {
        cache.add(t).write(*input.get_unchecked(i));
        let mut stride = BLOCK as usize;
        while stride > 1 {
            thread::sync_threads(); // separates the last step's writes from this step's reads
            if t < stride {
                cache.add(t).write(cache.add(t).read().wrapping_add(cache.add(t + stride).read())); // FINDING
            }
            stride /= 2;
        }
        if t == 0 {
            output.add(thread::block_idx_x() as usize).write(cache.read());
        }
    }
}
