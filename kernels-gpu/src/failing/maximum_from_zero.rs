//! The maximum of the input, started from 0. If all numbers are negative, the result is 0, which is not one of them.
//!
//! `VecMax` of the max-reduction notes (`docs/sources.md`) starts from `RAND_MIN`, a name that C does not have; it
//! stands for the least number that `rand` returns, 0. No checker can report it, since every access is right. Right:
//! `reduce`, rung `grid_stride`, which starts from the identity of the maximum: negative infinity.

use super::{BLOCK, cache};
use cuda_std::{kernel, thread};

/// The mistake in one line.
pub const IDEA: &str = "a maximum starts from 0, which is the result even if all numbers are negative";

/// The maximum of the block's share, wrongly.
///
/// # Safety
/// A result per block.
#[kernel]
pub unsafe fn failing_maximum_from_zero(input: &[f32], output: *mut f32) {
    let t = thread::thread_idx_x() as usize;
    let cache = cache().cast::<f32>();
    // WRONG: the maximum of no elements is `f32::NEG_INFINITY`.
    let mut best = 0.0_f32;
    let mut i = thread::global_index();
    while i < input.len() {
        best = if input[i] > best { input[i] } else { best };
        i += thread::grid_stride();
    }
    // SAFETY: a slot for each thread, a result per block; in a step of the tree the slots that are read are not
    // written.
    unsafe {
        cache.add(t).write(best);
        thread::sync_threads(); // separates the loads from the first step of the tree
        let mut half = BLOCK as usize / 2;
        while half > 0 {
            if t < half {
                let (own, other) = (cache.add(t).read(), cache.add(t + half).read());
                cache.add(t).write(if other > own { other } else { own });
            }
            thread::sync_threads(); // separates this step's writes from the next step's reads
            half /= 2;
        }
        if t == 0 {
            output.add(thread::block_idx_x() as usize).write(cache.read());
        }
    }
}
