//! The plain form: every lane has a fixed-point number in shared memory, and adds each element to it.
//!
//! An element is cut into pieces of 32 bits, two of an `f32` and three of an `f64`, and each is added to a digit. Words
//! of 64 bits leave room for 2^31 additions without a carry. At the end the digits of all lanes are added to those of
//! the total, which the last block rounds.
//!
//! It costs about twenty instructions per element and two accesses to shared memory per piece, whatever the elements.

use super::digits::{Column, Parts, add_columns, is_last, report};
use super::finish::{Rounded, finish_total};
use cuda_std::{kernel, thread};

pub use super::digits::column_bytes;

/// The idea in one line.
pub const IDEA: &str = "every lane adds its elements to a fixed-point number that holds any sum exactly";

/// Default number of threads per block; a multiple of 32. A thread has 68 digits of 8 bytes for f64, and 11 for f32.
pub const BLOCK: u32 = 96;

/// Writes the correctly rounded sum to `output[0]`.
///
/// # Safety
/// The block is a multiple of 32 and has [`column_bytes`] of dynamic shared memory per warp; there are at most
/// [`MAX_GRID`](super::MAX_GRID) blocks, and a thread gets at most 2^31 - 1 elements; `total` has a word for each digit
/// and `words` has [`WORDS`](super::WORDS), which are 0 and used by this launch only.
#[kernel(for T in [f32, f64])]
pub unsafe fn exact_sum_superaccumulator<T: Parts>(input: &[T], total: *mut i64, words: *mut u32, output: *mut T) {
    // SAFETY: the caller upholds this function's contract.
    unsafe {
        let column = Column::of_lane(T::DIGITS);
        column.clear(T::DIGITS);
        let mut special = 0;
        let mut i = thread::global_index();
        while i < input.len() {
            special |= column.add(input[i]);
            i += thread::grid_stride();
        }
        report(words, special);
        thread::sync_threads(); // separates the additions to the columns from their sum
        add_columns::<T>(total);
        if is_last(words)
            && let Some(sum) = finish_total([T::ZERO; 2], total, words, Rounded)
        {
            output.write(sum);
        }
    }
}
