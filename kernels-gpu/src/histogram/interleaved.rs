//! Neighbouring threads take neighbouring elements, and all of them move on by the size of the grid: a warp's load is
//! contiguous.
//!
//! The remaining cost is that of the atomics: each is performed in the L2 cache, and those on the same counter one
//! after the other.

use super::{Sample, add_global};
use cuda_std::{kernel, thread};

/// The idea in one line.
pub const IDEA: &str = "neighbouring threads take neighbouring elements: coalesced; a global atomic per element";

/// Adds the number of elements in each bin to `counts`. The result is exact, and the same in every run.
///
/// # Safety
/// `counts` has `bins` elements, which only this launch changes; for floats `range` is as [`Sample::rule`] requires.
#[kernel(for T in [u8, super::Letter, u32, f32, f64])]
pub unsafe fn histogram_interleaved<T: Sample>(input: &[T], bins: u32, range: [f64; 3], counts: *mut u64) {
    let rule = T::rule(bins, range);
    let mut i = thread::global_index();
    while i < input.len() {
        // SAFETY: the index is below the length.
        let bin = unsafe { input.get_unchecked(i) }.bin(rule);
        if bin < bins {
            // SAFETY: `bin` is a bin of the result.
            unsafe { add_global(counts, bin, 1) };
        }
        i += thread::grid_stride();
    }
}
