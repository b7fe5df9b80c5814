//! Aggregation: a thread keeps the bin of its last element and the length of the current run of that bin in registers.
//! It adds once per run, when an element of another bin follows.
//!
//! When most elements are equal, threads that add each element singly contend for one counter. Where neighbours differ,
//! this rung only adds the cost of the comparison.

use super::{Sample, add_global, add_shared, clear, merge};
use cuda_std::{kernel, shared::dynamic_shared_mem, thread};

/// The idea in one line.
pub const IDEA: &str = "a run of equal elements is counted in a register and added once: made for skewed data";

/// Adds the number of elements in each bin to `counts`; the first `len` bins are counted in shared memory. The result
/// is exact, and the same in every run.
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
    thread::sync_threads(); // separates the counters' initialisation from the first addition

    let add = |bin: u32, run: u32| {
        // SAFETY: the index is that of a counter or of a bin of the result.
        unsafe {
            if bin < len {
                add_shared(counters, bin, run);
            } else if bin < bins {
                add_global(counts, bin, run);
            }
        }
    };
    // Elements of no bin form a run as well, which is not counted.
    let (mut last, mut run) = (bins, 0);
    let mut i = thread::global_index();
    while i < input.len() {
        // SAFETY: the index is below the length.
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
    thread::sync_threads(); // separates the last addition from the reads of the counters

    // SAFETY: all threads of the block reach this call.
    unsafe { merge(counters, len, counts, 0) };
}
