//! Neighbouring threads take neighbouring elements, and all of them move on by the size of the grid: a warp's load is
//! one piece of memory.
//!
//! What is left is the price of the atomics: each is a trip to the L2 cache, and those to the same counter wait for
//! each other.

use super::{Sample, add_global};
use cuda_std::{kernel, thread};

/// The idea in one line.
pub const IDEA: &str = "neighbouring threads take neighbouring elements: coalesced; a global atomic per element";

/// Adds to `counts` how many elements belong to each bin.
///
/// # Safety
/// `counts` has `bins` elements, which only this launch changes; for floats `range` is as [`Sample::rule`] requires.
#[kernel(for T in [u8, super::Letter, u32, f32, f64])]
pub unsafe fn histogram_interleaved<T: Sample>(input: &[T], bins: u32, range: [f64; 3], counts: *mut u64) {
    let rule = T::rule(bins, range);
    let mut i = thread::global_index();
    while i < input.len() {
        // SAFETY: below the length.
        let bin = unsafe { input.get_unchecked(i) }.bin(rule);
        if bin < bins {
            // SAFETY: a bin of the result.
            unsafe { add_global(counts, bin, 1) };
        }
        i += thread::grid_stride();
    }
}
