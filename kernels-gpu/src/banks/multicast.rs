//! Eight lanes at a time want the same word, four words per step. Lanes that want one word share its wavefront; only
//! the four words can still be in each other's way.

use super::{Bytes4, Bytes8, Bytes16, WARP, Word, sum_group};
use cuda_std::kernel;

/// The idea in one line.
pub const IDEA: &str = "eight lanes read one word and share its wavefront; only the four words can conflict";

/// Lanes that read the same word.
pub const LANES: u32 = 8;

/// Sums groups of 32 words.
///
/// # Safety
/// One block of `BLOCK` threads per group; `stride` is 1 to `MAX_STRIDE`; `output` is as long as `input` and does not
/// overlap it.
#[kernel(for W in [Bytes4, Bytes8, Bytes16])]
pub unsafe fn banks_multicast<W: Word>(input: &[u32], stride: u32, output: *mut u32) {
    let pick = |lane: u32, k: u32| (lane / LANES * LANES + k) % WARP;
    // SAFETY: different words have different slots; every lane runs through all words.
    unsafe { sum_group::<W>(input, output, |j| super::strided::slot(j, stride), pick) };
}
