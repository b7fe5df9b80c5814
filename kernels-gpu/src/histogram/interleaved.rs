//! Neighbouring threads take neighbouring elements, and all of them move on by the size of the grid: a warp's load is
//! contiguous.
//!
//! The remaining cost is that of the atomics: each is performed in the L2 cache, and those on the same counter one
//! after the other.

use super::{Sample, count};
use cuda_std::{atomic::AtomicU64, kernel, thread};

/// The idea in one line.
pub const IDEA: &str = "neighbouring threads take neighbouring elements: coalesced; a global atomic per element";

/// Adds the number of elements in each bin to the first `bins` of `counts`. The result is exact, and the same in every
/// run. For floats, `range` is as [`Sample::rule`] says.
#[kernel(for T in [u8, super::Letter, u32, f32, f64])]
pub fn histogram_interleaved<T: Sample>(input: &[T], bins: u32, range: [f64; 3], counts: &[AtomicU64]) {
    let Some(counts) = counts.get(..bins as usize) else { return };
    let rule = T::rule(bins, range);
    for i in thread::unique_indices(input.len()) {
        count(counts, input[i].bin(rule));
    }
}
