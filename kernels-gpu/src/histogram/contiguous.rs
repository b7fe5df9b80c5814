//! Each thread counts a share of neighbouring elements, with an atomic addition to the result for each.
//!
//! This partition suits a CPU, but not a GPU: at each step the lanes of a warp are a whole share apart, so that 32
//! loads touch 32 sectors and use one element of each.

use super::{Sample, count};
use cuda_std::{atomic::AtomicU64, kernel, thread};

/// The idea in one line.
pub const IDEA: &str = "neighbouring elements per thread: each lane loads from a sector of its own; global atomics";

/// Adds the number of elements in each bin to the first `bins` of `counts`. The result is exact, and the same in every
/// run. For floats, `range` is as [`Sample::rule`] says.
#[kernel(for T in [u8, super::Letter, u32, f32, f64])]
pub fn histogram_contiguous<T: Sample>(input: &[T], bins: u32, range: [f64; 3], counts: &[AtomicU64]) {
    let Some(counts) = counts.get(..bins as usize) else { return };
    let rule = T::rule(bins, range);
    let share = input.len().div_ceil(thread::grid_stride().max(1));
    let mut i = thread::global_index() * share;
    let end = input.len().min(i + share);
    while i < end {
        count(counts, input[i].bin(rule));
        i += 1;
    }
}
