//! The walk of [`strided`](super::strided) with an unused word after every row of the banks (128 bytes: 32 words of 4
//! bytes, 16 of 8, 8 of 16). Words that were a row apart, in one bank, are now a row and a word apart, in neighbouring
//! banks.
//!
//! It costs a 33rd of the memory (a 9th, for 16 bytes) and an addition per address, and helps with common strides:
//! powers of two, up to a row. At two rows words are shifted by two, and only every second bank is used; and a stride
//! of 33 words of 4 bytes becomes 34, which is even.

use super::{Bytes4, Bytes8, Bytes16, WARP, Word, sum_group};
use cuda_std::kernel;

/// The idea in one line.
pub const IDEA: &str = "an unused word after every 32: strides that are powers of two no longer conflict";

/// Slot of word `j` of a group, with `row` words to a row of the banks.
pub const fn slot(j: u32, stride: u32, row: u32) -> u32 {
    j * stride + j * stride / row
}

/// Sums groups of 32 words.
///
/// # Safety
/// The launch has one block of `BLOCK` threads per group; `stride` is 1 to `MAX_STRIDE`; `output` is as long as `input`
/// and does not overlap it.
#[kernel(for W in [Bytes4, Bytes8, Bytes16])]
pub unsafe fn banks_padded<W: Word>(input: &[u32], stride: u32, output: *mut u32) {
    // SAFETY: different words have different slots; lane and step together select every word.
    unsafe { sum_group::<W>(input, output, |j| slot(j, stride, WARP / W::LEN as u32), |lane, k| lane ^ k) };
}
