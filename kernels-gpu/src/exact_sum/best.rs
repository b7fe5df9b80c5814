//! The rung to use: the exact sum at the speed of memory.
//!
//! - *f32*: a lane has 32 accumulators of `f64` in shared memory, one for every 8 exponents. An `f64` has 53 bits, and
//!   numbers within 8 exponents extend over 31, so that 2^22 of them are added without rounding. An element costs a
//!   conversion, an addition and two accesses to shared memory, whatever the data.
//! - *f64*: a thread has two sums in registers, each of two numbers that do not overlap: of each addition the rounding
//!   error is computed exactly, and added to the second number. Ordinary data leaves no error there. If one is left,
//!   the elements of this round and the next ones go to a fixed-point number of the lane, as in
//!   [`superaccumulator`](super::superaccumulator), but cut by additions of `f64`.
//! - The last block rounds the total, in the same launch.

use super::digits::Parts;
use super::finish::{Finish, Rounded, Written};
use super::{bins, expansion, scaled};
use cuda_std::kernel;

/// The idea in one line.
pub const IDEA: &str = "exact in registers or in f64 per 8 exponents; fixed point only at the end or for what is left";

/// Threads per block; a multiple of 32. (H200, f64 of 2^28, us for 256 threads twice on a multiprocessor and 128
/// threads four and three times: ordinary elements 494, 497, 518; of every exponent 536, 542, 592.)
pub const BLOCK: u32 = 256;

/// Blocks per multiprocessor for numbers of this size: as many as have shared memory and registers on an H200.
pub const fn blocks_per_sm(bytes: usize) -> u32 {
    if bytes == size_of::<f32>() { 3 } else { 2 }
}

/// Bytes of dynamic shared memory per warp for numbers of this size.
pub const fn warp_bytes(bytes: usize) -> u32 {
    if bytes == size_of::<f32>() { bins::WARP_BYTES } else { scaled::WARP_BYTES }
}

/// Most elements that a thread can get, for numbers of this size. An `f64` adds at most 2^8 to the highest word of a
/// column, which is therefore far from an overflow.
pub const fn most_per_thread(bytes: usize) -> u64 {
    if bytes == size_of::<f32>() { bins::MOST } else { (1 << 30) - 1 }
}

/// An element type: `f32 f64`.
pub trait Real: Parts {
    /// The finished sum, in one thread of the grid.
    ///
    /// # Safety
    /// The requirements are those of [`exact_sum_best()`].
    unsafe fn exact_sum<F: Finish<Self>>(
        input: &[Self],
        total: *mut i64,
        words: *mut u32,
        partials: *mut [Self; 2],
        finish: F,
    ) -> Option<F::Result>;
}

impl Real for f32 {
    #[inline(always)]
    unsafe fn exact_sum<F: Finish<f32>>(
        input: &[f32],
        total: *mut i64,
        words: *mut u32,
        _: *mut [f32; 2],
        finish: F,
    ) -> Option<F::Result> {
        // SAFETY: the caller upholds this function's contract.
        unsafe { bins::exact_sum(input, total, words, finish) }
    }
}

impl Real for f64 {
    #[inline(always)]
    unsafe fn exact_sum<F: Finish<f64>>(
        input: &[f64],
        total: *mut i64,
        words: *mut u32,
        partials: *mut [f64; 2],
        finish: F,
    ) -> Option<F::Result> {
        // SAFETY: the caller upholds this function's contract.
        unsafe { expansion::exact_sum(input, total, words, partials, finish) }
    }
}

/// Writes the correctly rounded sum to `output[0]`.
///
/// # Safety
/// The block is a multiple of 32 and has [`warp_bytes`] of dynamic shared memory per warp; there are at most
/// [`MAX_GRID`](super::MAX_GRID) blocks, and a thread gets at most [`most_per_thread`] elements; `total` has a word for
/// each digit and `words` has [`WORDS`](super::WORDS), which are 0; `partials` has an element per block for f64, and
/// may be dangling for f32; all three are used by this launch only.
#[kernel(for T in [f32, f64])]
pub unsafe fn exact_sum_best<T: Real>(
    input: &[T],
    total: *mut i64,
    words: *mut u32,
    partials: *mut [T; 2],
    output: *mut T,
) {
    // SAFETY: the caller upholds this function's contract.
    if let Some(sum) = unsafe { T::exact_sum(input, total, words, partials, Rounded) } {
        // SAFETY: only one thread of the grid takes this branch.
        unsafe { output.write(sum) };
    }
}

/// Writes the exact sum to `output`, as digits and special values: the part of a sum over several devices, which
/// [`round_totals`](super::round_totals) finishes.
///
/// # Safety
/// As for [`exact_sum_best()`]; `output` has [`total_words`](super::total_words) words.
#[kernel(for T in [f32, f64])]
pub unsafe fn exact_sum_digits<T: Real>(
    input: &[T],
    total: *mut i64,
    words: *mut u32,
    partials: *mut [T; 2],
    output: *mut i64,
) {
    // SAFETY: the caller upholds this function's contract; only one thread of the grid finishes the sum.
    let _ = unsafe { T::exact_sum(input, total, words, partials, Written(output)) };
}
