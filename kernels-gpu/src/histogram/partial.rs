//! Partial privatisation: when not all bins fit in shared memory, the first ones are counted there and the others in
//! global memory.
//!
//! A range test selects the way for each element, so the input is read once, whatever the number of bins. It pays off
//! when the most frequent bins come first.

use super::{Sample, add_global, add_shared, clear, merge};
use cuda_std::{kernel, shared::dynamic_shared_mem, thread};

/// The idea in one line.
pub const IDEA: &str = "one launch for any number of bins: the first in shared memory, the others in global memory";

/// Adds the number of elements in each bin to `counts`; the first `len` bins are counted in shared memory. The result
/// is exact, and the same in every run.
///
/// # Safety
/// `counts` has `bins` elements, which only this launch changes, and `len` is no more; the block has `4 * len` bytes of
/// dynamic shared memory, and its threads get at most 2^32 - 1 elements; for floats `range` is as [`Sample::rule`]
/// requires.
#[kernel(for T in [u8, super::Letter, u32, f32, f64])]
pub unsafe fn histogram_partial<T: Sample>(input: &[T], bins: u32, range: [f64; 3], len: u32, counts: *mut u64) {
    let rule = T::rule(bins, range);
    let counters = dynamic_shared_mem::<u32>();
    // SAFETY: the block's own memory, and all its threads reach this call.
    unsafe { clear(counters, len) };
    thread::sync_threads(); // separates the counters' initialisation from the first count

    let mut i = thread::global_index();
    while i < input.len() {
        // SAFETY: the index is below the length.
        let bin = unsafe { input.get_unchecked(i) }.bin(rule);
        // SAFETY: the index is that of a counter or of a bin of the result.
        unsafe {
            if bin < len {
                add_shared(counters, bin, 1);
            } else if bin < bins {
                add_global(counts, bin, 1);
            }
        }
        i += thread::grid_stride();
    }
    thread::sync_threads(); // separates the last count from the reads of the counters

    // SAFETY: all threads of the block reach this call.
    unsafe { merge(counters, len, counts, 0) };
}
