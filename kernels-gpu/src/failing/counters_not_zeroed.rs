//! A histogram of letters in groups of four with counters of each block's own, which are not set to 0: shared memory
//! initially contains the values that the last block wrote there.
//!
//! On a freshly started device these are often 0, so the mistake may stay unnoticed. Right: `histogram`, rung `shared`:
//! the counters are set, and a barrier comes before the first increment.

use super::cache;
use cuda_std::{
    atomic::{BlockAtomicU32, Ordering},
    kernel, thread,
};

/// The mistake in one line.
pub const IDEA: &str = "a block's private counters are incremented before they are set to 0";

/// Groups of four letters.
pub const BINS: usize = 7;

/// Counts letters (0 to 25) in groups of four, wrongly.
///
/// # Safety
/// No launch is safe: this code is wrong on purpose, since the counters are not initialised.
#[kernel]
pub unsafe fn failing_counters_not_zeroed(input: &[u32], output: *mut u32) {
    let (t, i) = (thread::thread_idx_x() as usize, thread::global_index());
    let counters = cache();
    // SAFETY: this is unsound on purpose; only the simulator runs it. An element for each thread of the grid, `BINS`
    // results per block.
    unsafe {
        let bin = (*input.get_unchecked(i) % 26 / 4) as usize;
        BlockAtomicU32::from_ptr(counters.add(bin)).fetch_add(1, Ordering::Relaxed); // FINDING
        thread::sync_threads(); // separates the last count from the reads of the counters
        if t < BINS {
            output.add(thread::block_idx_x() as usize * BINS + t).write(counters.add(t).read());
        }
    }
}
