//! A thread per row, which it walks from left to right. In every step the lanes of a warp are a whole row apart: 32
//! sectors for 32 elements.

use super::double;
use crate::number::Number;
use cuda_std::{kernel, thread};

/// The idea in one line.
pub const IDEA: &str = "one thread per row: neighbouring lanes are a row apart, and each needs a sector of its own";

/// Doubles every element of a row-major matrix of `rows` x `columns` elements.
///
/// # Safety
/// `input` and `output` have `rows * columns` elements and do not overlap; the launch has at least `rows` threads.
#[kernel(for T in [f32, f64])]
pub unsafe fn access_row_walk<T: Number>(input: &[T], rows: u32, columns: u32, output: *mut T) {
    let row = thread::global_index();
    if row < rows as usize {
        let mut column = 0;
        while column < columns as usize {
            // SAFETY: the element is inside the matrix, and no other thread has this row.
            unsafe { double(input, row * columns as usize + column, output) };
            column += 1;
        }
    }
}
