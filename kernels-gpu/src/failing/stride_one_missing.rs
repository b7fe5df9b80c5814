//! A tree sum over two elements per thread whose shortest stride is 2: two sums are left, and only one of them is
//! written.
//!
//! The pairwise loop of the PMPP slides (`docs/sources.md`) is `for (stride = blockDim.x; stride > 1; stride /= 2)`; it
//! must continue while `stride > 0`. Right: `reduce`, rung `first_add`, down to a stride of 1. (With one element per
//! thread its first step is wrong as well: `stride_too_far`.)

use super::{BLOCK, pairs};
use cuda_std::{kernel, thread};

/// The mistake in one line.
pub const IDEA: &str = "the tree's shrinking stride ends at 2: every other element is not added";

/// Sums `2 * BLOCK` elements per block, wrongly.
///
/// # Safety
/// `2 * BLOCK` elements and a result per block.
#[kernel]
pub unsafe fn failing_stride_one_missing(input: &[u32], output: *mut u32) {
    const THREADS: usize = BLOCK as usize;
    let (t, block) = (thread::thread_idx_x() as usize, thread::block_idx_x() as usize);
    let values = pairs();
    // SAFETY: two slots and two elements for each thread, a result per block; in a step the slots that are read are not
    // written.
    unsafe {
        values.add(t).write(*input.get_unchecked(2 * THREADS * block + t));
        values.add(THREADS + t).write(*input.get_unchecked(2 * THREADS * block + THREADS + t));
        let mut stride = THREADS;
        // WRONG: the last two sums are 1 apart, so use `> 0`.
        while stride > 1 {
            thread::sync_threads(); // separates the last step's writes from this step's reads
            if t < stride {
                values.add(t).write(values.add(t).read().wrapping_add(values.add(t + stride).read()));
            }
            stride /= 2;
        }
        if t == 0 {
            output.add(block).write(values.read());
        }
    }
}
