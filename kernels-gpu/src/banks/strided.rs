//! In every step each lane reads a word of its own, and the words are `stride` apart. In step k lane l reads word
//! `l ^ k`, so that the lanes that are served together (all 32, 16 or 8) read neighbouring words in every step.
//!
//! An odd stride visits all 32 banks before it returns to the first: no conflict. An even stride skips banks; with 32
//! all lanes access bank 0. A column of a 32 x 32 tile is such a walk (`transpose`, rung `tiled`), and so is the tree
//! of `reduce`'s second rung.

use super::{Bytes4, Bytes8, Bytes16, Word, sum_group};
use cuda_std::kernel;

/// The idea in one line.
pub const IDEA: &str = "each lane reads a word of its own: gcd(stride, 32) wavefronts per load of 4-byte words";

/// Slot of word `j` of a group.
pub const fn slot(j: u32, stride: u32) -> u32 {
    j * stride
}

/// Sums groups of 32 words.
///
/// # Safety
/// The launch has one block of `BLOCK` threads per group; `stride` is 1 to `MAX_STRIDE`; `output` is as long as `input`
/// and does not overlap it.
#[kernel(for W in [Bytes4, Bytes8, Bytes16])]
pub unsafe fn banks_strided<W: Word>(input: &[u32], stride: u32, output: *mut u32) {
    // SAFETY: different words have different slots; lane and step together select every word.
    unsafe { sum_group::<W>(input, output, |j| slot(j, stride), |lane, k| lane ^ k) };
}
