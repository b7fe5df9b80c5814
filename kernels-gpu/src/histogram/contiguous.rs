//! Each thread counts a share of neighbouring elements, with an atomic addition to the result for each.
//!
//! This partition suits a CPU, but not a GPU: at each step the lanes of a warp are a whole share apart, so that 32
//! loads touch 32 sectors and use one element of each.

use super::{Sample, add_global};
use cuda_std::{kernel, thread};

/// The idea in one line.
pub const IDEA: &str = "neighbouring elements per thread: each lane loads from a sector of its own; global atomics";

/// Adds the number of elements in each bin to `counts`. The result is exact, and the same in every run.
///
/// # Safety
/// `counts` has `bins` elements, which only this launch changes; for floats `range` is as [`Sample::rule`] requires.
#[kernel(for T in [u8, super::Letter, u32, f32, f64])]
pub unsafe fn histogram_contiguous<T: Sample>(input: &[T], bins: u32, range: [f64; 3], counts: *mut u64) {
    let rule = T::rule(bins, range);
    let share = input.len().div_ceil(thread::grid_stride().max(1));
    let mut i = thread::global_index() * share;
    let end = input.len().min(i + share);
    while i < end {
        // SAFETY: the index is below the length.
        let bin = unsafe { input.get_unchecked(i) }.bin(rule);
        if bin < bins {
            // SAFETY: `bin` is a bin of the result.
            unsafe { add_global(counts, bin, 1) };
        }
        i += 1;
    }
}
