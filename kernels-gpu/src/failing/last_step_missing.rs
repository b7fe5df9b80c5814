//! A tree sum over two elements per thread that ends one step early: half of the elements are never added.
//!
//! The loop of Threehearts 2021 (`docs/sources.md`) is `for (stride = 1; stride < blockDim.x; stride *= 2)` with
//! `if (t % stride == 0)`. With `2 * blockDim.x` elements the last stride is `blockDim.x` itself, so the test must be
//! `<=`. Right: `reduce`, rung `interleaved`: as many elements as threads.

use super::{BLOCK, pairs};
use cuda_std::{kernel, thread};

/// The mistake in one line.
pub const IDEA: &str = "the tree's growing stride ends before blockDim: half of the elements are not added";

/// Sums `2 * BLOCK` elements per block, wrongly.
///
/// # Safety
/// `2 * BLOCK` elements and a result per block.
#[kernel]
pub unsafe fn failing_last_step_missing(input: &[u32], output: *mut u32) {
    const THREADS: usize = BLOCK as usize;
    let (t, block) = (thread::thread_idx_x() as usize, thread::block_idx_x() as usize);
    let values = pairs();
    // SAFETY: two slots and two elements for each thread, a result per block; in a step the slots that are read are not
    // written.
    unsafe {
        values.add(t).write(*input.get_unchecked(2 * THREADS * block + t));
        values.add(THREADS + t).write(*input.get_unchecked(2 * THREADS * block + THREADS + t));
        let mut stride = 1;
        // WRONG: the halves are `THREADS` apart, so use `<=`.
        while stride < THREADS {
            thread::sync_threads(); // separates the last step's writes from this step's reads
            if t.is_multiple_of(stride) {
                let value = values.add(2 * t).read().wrapping_add(values.add(2 * t + stride).read());
                values.add(2 * t).write(value);
            }
            stride *= 2;
        }
        if t == 0 {
            output.add(block).write(values.read());
        }
    }
}
