//! Aggregation: a thread keeps the bin of its last element and how often it came in a row, in registers. Only when
//! another bin comes does it add, once for the whole run.
//!
//! When most elements are equal, threads that add one at a time all wait for the same counter. Where neighbours differ,
//! the comparison is what this rung costs and nothing is gained.

use super::{Sample, add_global, add_shared, clear, merge};
use cuda_std::{kernel, shared::dynamic_shared_mem, thread};

/// The idea in one line.
pub const IDEA: &str = "a run of equal elements is counted in a register and added once: made for skewed data";

/// Adds to `counts` how many elements belong to each bin; the first `len` are counted in shared memory.
///
/// # Safety
/// `counts` has `bins` elements, which only this launch changes, and `len` is no more; the block has `4 * len` bytes of
/// dynamic shared memory, and its threads get at most 2^32 - 1 elements; for floats `range` is as [`Sample::rule`]
/// requires.
#[kernel(for T in [u8, super::Letter, u32, f32, f64])]
pub unsafe fn histogram_aggregated<T: Sample>(input: &[T], bins: u32, range: [f64; 3], len: u32, counts: *mut u64) {
    let rule = T::rule(bins, range);
    let counters = dynamic_shared_mem::<u32>();
    // SAFETY: the block's own memory, and all its threads reach this call.
    unsafe { clear(counters, len) };
    thread::sync_threads(); // all counters are 0 before the first run is added

    let add = |bin: u32, run: u32| {
        // SAFETY: one of the counters, or a bin of the result.
        unsafe {
            if bin < len {
                add_shared(counters, bin, run);
            } else if bin < bins {
                add_global(counts, bin, run);
            }
        }
    };
    // A run of no bin at all is a run too: it is not counted.
    let (mut last, mut run) = (bins, 0);
    let mut i = thread::global_index();
    while i < input.len() {
        // SAFETY: below the length.
        let bin = unsafe { input.get_unchecked(i) }.bin(rule);
        if bin == last {
            run += 1;
        } else {
            add(last, run);
            (last, run) = (bin, 1);
        }
        i += thread::grid_stride();
    }
    add(last, run);
    thread::sync_threads(); // all threads have added before the counts are read

    // SAFETY: all threads reach this call.
    unsafe { merge(counters, len, counts, 0) };
}
