//! The kernel for many bins: a block counts the bins that fit in its maximum of shared memory, 227 KiB or 58 000 bins
//! on Hopper.
//!
//! - More bins are divided into windows, and each block of a group of neighbouring blocks counts one window. The blocks
//!   of a group read the same elements at the same time, so that memory is read once, and the other blocks find the
//!   elements in the L2 cache. Neither sorting nor counts per block in global memory are needed (CUB uses 1.5 GB of
//!   them for 2^20 bins), and the time does not depend on the distribution of the keys.
//! - Equal elements of a warp are added by one instruction, since the hardware merges increments by 1. A frequent bin
//!   therefore costs no more than others.
//! - At its end a group adds each count to the result once.

use super::{
    super::{Sample, add_shared, clear, merge},
    for_each,
};
use cuda_std::{kernel, shared::dynamic_shared_mem, thread};

/// Default number of threads per block; a multiple of 32, at most 1024.
pub const BLOCK: u32 = 1024;

/// 16-byte loads in flight per thread.
// tune: 4 8
pub const UNROLL: usize = 8;

/// Threads per multiprocessor, as far as their registers and counters fit.
pub const THREADS_PER_SM: u32 = 1024;

/// Minimum number of elements that a group counts per bin of a window; with fewer, more groups would only mean more
/// counts to add.
pub const ELEMENTS_PER_BIN: u64 = 4;

/// Adds the number of elements in each bin to `counts`. The result is exact, and the same in every run. Each block
/// counts the bins of one window of `window` bins.
///
/// # Safety
/// The block is a multiple of 32 and has `4 * window` bytes of dynamic shared memory; the grid is a multiple of
/// `bins / window`, rounded up, and a group's elements are at most 2^32 - 1; `counts` has `bins` elements, which no
/// other launch changes; for floats `range` is as [`Sample::rule`] requires.
#[kernel(for T in [u8, crate::histogram::Letter, u32, f32, f64])]
pub unsafe fn histogram_best_windows<T: Sample>(
    input: &[T],
    bins: u32,
    range: [f64; 3],
    window: u32,
    counts: *mut u64,
) {
    let rule = T::rule(bins, range);
    let windows = bins.div_ceil(window.max(1)).max(1);
    let (group, groups) = (thread::block_idx_x() / windows, thread::grid_dim_x() / windows);
    let first = thread::block_idx_x() % windows * window;
    let len = window.min(bins - first);
    let counters = dynamic_shared_mem::<u32>();
    // SAFETY: the block's own memory, and all its threads reach this call.
    unsafe { clear(counters, len) };
    thread::sync_threads(); // separates the counters' initialisation from the first count

    let threads = thread::block_dim_x() as usize;
    let me = group as usize * threads + thread::thread_idx_x() as usize;
    let visit = |element: T| {
        let at = element.bin(rule).wrapping_sub(first);
        if at < len {
            // SAFETY: the index is that of a counter.
            unsafe { add_shared(counters, at, 1) };
        }
    };
    // SAFETY: a block has at least 32 threads.
    unsafe { for_each::<T, UNROLL>(input, me, groups as usize * threads, visit) };
    thread::sync_threads(); // separates the last count from the reads of the counters

    // SAFETY: all threads of the block reach this call.
    unsafe { merge(counters, len, counts, first) };
}
