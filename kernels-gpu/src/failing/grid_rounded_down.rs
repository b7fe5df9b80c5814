//! 1000 elements in blocks of 256, and a grid of 1000 / 256 = 3 blocks: the last 232 elements have no thread.
//!
//! The kernel is right; its launch is not. The PMPP slides (`docs/sources.md`) stress `ceil(n/256.0)`: with whole
//! numbers the division rounds down before `ceil` is applied. Right: `vecadd`, rung `one_per_thread`, in
//! `n.div_ceil(BLOCK)` blocks.

use super::BLOCK;
use cuda_std::{kernel, thread};

/// The mistake in one line.
pub const IDEA: &str = "n / 256 blocks of 256 threads: the last elements have no thread";

/// Blocks for `n` elements, wrongly.
pub const fn blocks(n: usize) -> u32 {
    // WRONG: the remaining elements need a block as well, so use `div_ceil`.
    n as u32 / BLOCK
}

/// Doubles all elements for which there is a thread.
///
/// # Safety
/// `output` has as many elements as `input`.
#[kernel]
pub unsafe fn failing_grid_rounded_down(input: &[u32], output: *mut u32) {
    let i = thread::global_index();
    if i < input.len() {
        // SAFETY: each element has a result.
        unsafe { output.add(i).write(input[i].wrapping_mul(2)) };
    }
}
