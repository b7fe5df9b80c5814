//! Privatisation: each block counts in its own shared memory, where atomics are cheap and only the block's threads
//! contend. At the end it adds each of its counts to the result: one global atomic per block and bin instead of one per
//! element.
//!
//! If not all bins fit in shared memory, several launches count a part of the bins each, and each reads the whole input
//! again.

use super::{Sample, add_shared, clear, merge};
use cuda_std::{kernel, shared::dynamic_shared_mem, thread};

/// The idea in one line.
pub const IDEA: &str = "each block counts in shared memory and adds its counts once; more bins take more launches";

/// Adds the number of elements in each of the bins `first..first + len` to `counts`. The result is exact, and the same
/// in every run.
///
/// # Safety
/// `counts` has `bins` elements, which only this launch changes, and `first + len` is no more; the block has `4 * len`
/// bytes of dynamic shared memory, and its threads get at most 2^32 - 1 elements; for floats `range` is as
/// [`Sample::rule`] requires.
#[kernel(for T in [u8, super::Letter, u32, f32, f64])]
pub unsafe fn histogram_shared<T: Sample>(
    input: &[T],
    bins: u32,
    range: [f64; 3],
    first: u32,
    len: u32,
    counts: *mut u64,
) {
    let rule = T::rule(bins, range);
    let counters = dynamic_shared_mem::<u32>();
    // SAFETY: the block's own memory, and all its threads reach this call.
    unsafe { clear(counters, len) };
    thread::sync_threads(); // separates the counters' initialisation from the first count

    let mut i = thread::global_index();
    while i < input.len() {
        // SAFETY: the index is below the length.
        let bin = unsafe { input.get_unchecked(i) }.bin(rule);
        let at = bin.wrapping_sub(first);
        if at < len {
            // SAFETY: the index is that of a counter.
            unsafe { add_shared(counters, at, 1) };
        }
        i += thread::grid_stride();
    }
    thread::sync_threads(); // separates the last count from the reads of the counters

    // SAFETY: all threads reach this call, and by contract the bins are some of the result's.
    unsafe { merge(counters, len, counts, first) };
}
