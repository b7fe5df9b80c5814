//! All lanes read the same word: one wavefront serves the whole warp, whatever the bank.

use super::{Bytes4, Bytes8, Bytes16, Word, sum_group};
use cuda_std::kernel;

/// The idea in one line.
pub const IDEA: &str = "all lanes read the same word: one wavefront, whatever the stride";

/// Sums groups of 32 words.
///
/// # Safety
/// The launch has one block of `BLOCK` threads per group; `stride` is 1 to `MAX_STRIDE`; `output` is as long as `input`
/// and does not overlap it.
#[kernel(for W in [Bytes4, Bytes8, Bytes16])]
pub unsafe fn banks_broadcast<W: Word>(input: &[u32], stride: u32, output: *mut u32) {
    // SAFETY: different words have different slots; every lane reads all words.
    unsafe { sum_group::<W>(input, output, |j| super::strided::slot(j, stride), |_, k| k) };
}
