//! Completion of segments that end in a later block than they begin in.

use super::BLOCK;
use crate::{
    operator::{Operator, Pod},
    reduce::collective::is_last_block,
    segreduce::scan::block_scan,
};
use cuda_std::thread;

/// The last block to finish completes the segments that end in a later block than they began in.
///
/// # Safety
/// All threads of the grid call it, when their block's part is done; otherwise as
/// [`segreduce_best()`](super::segreduce_best()).
#[inline(always)]
pub unsafe fn join<O: Operator<T>, T: Pod>(
    offsets: &[u64],
    results: *mut T,
    carries: *mut T,
    keys: *mut u64,
    ticket: *mut u32,
) {
    let (tid, blocks) = (thread::thread_idx_x(), thread::grid_dim_x());
    thread::sync_threads(); // separates the block's writes of its results from the ticket that releases them
    // SAFETY: the caller upholds this function's contract.
    if !unsafe { is_last_block(ticket) } {
        return;
    }
    let mut carry = O::identity();
    let mut from = 0;
    while from < blocks {
        let block = from + tid;
        let key = |block: u32| {
            // SAFETY: one key per block, which are not written again.
            if block < blocks { unsafe { keys.add(block as usize).read() } } else { offsets.len() as u64 - 1 }
        };
        // SAFETY: as above.
        let value = if block < blocks { unsafe { carries.add(block as usize).read() } } else { O::identity() };
        // The segment that is open after this block ends in the next one.
        let ends = key(block) != key(block + 1);
        // SAFETY: the whole block reaches this call: the last block, with the same `from` in all threads.
        let before = unsafe { block_scan::<O, T>(ends, if ends { O::identity() } else { value }, &mut carry) };
        if ends {
            // SAFETY: the next block has written this result, and no other thread completes it.
            unsafe {
                let result = results.add(key(block) as usize);
                result.write(O::combine(O::combine(before, value), result.read()));
            }
        }
        thread::sync_threads(); // separates the reads of `block_scan`'s shared memory from its next use
        from += BLOCK;
    }
}
