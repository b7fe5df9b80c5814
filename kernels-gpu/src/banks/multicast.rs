//! Eight lanes at a time read the same word, four words per step. Lanes that read one word share its wavefront; only
//! the four words can conflict with each other.

use super::{Bytes4, Bytes8, Bytes16, WARP, Word, sum_group};
use cuda_std::kernel;

/// The idea in one line.
pub const IDEA: &str = "eight lanes read one word and share its wavefront; only the four words can conflict";

/// Number of lanes that read the same word.
pub const LANES: u32 = 8;

/// Sums groups of 32 words.
///
/// # Safety
/// The launch has one block of `BLOCK` threads per group; `stride` is 1 to `MAX_STRIDE`; `output` is as long as `input`
/// and does not overlap it.
#[kernel(for W in [Bytes4, Bytes8, Bytes16])]
pub unsafe fn banks_multicast<W: Word>(input: &[u32], stride: u32, output: *mut u32) {
    let pick = |lane: u32, k: u32| (lane / LANES * LANES + k) % WARP;
    // SAFETY: different words have different slots; every lane reads all words.
    unsafe { sum_group::<W>(input, output, |j| super::strided::slot(j, stride), pick) };
}
