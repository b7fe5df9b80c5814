//! A thread per column, which it walks from top to bottom. Each thread strides over memory, but in every step the lanes
//! of a warp access neighbours in one row.

use super::double;
use crate::number::Number;
use cuda_std::{kernel, thread};

/// The idea in one line.
pub const IDEA: &str = "one thread per column: in every step a warp reads 32 neighbours of a row";

/// Doubles every element of a row-major matrix of `rows` x `columns` elements.
///
/// # Safety
/// `input` and `output` have `rows * columns` elements and do not overlap; the launch has at least `columns` threads.
#[kernel(for T in [f32, f64])]
pub unsafe fn access_column_walk<T: Number>(input: &[T], rows: u32, columns: u32, output: *mut T) {
    let column = thread::global_index();
    if column < columns as usize {
        let mut row = 0;
        while row < rows as usize {
            // SAFETY: the element is inside the matrix, and no other thread has this column.
            unsafe { double(input, row * columns as usize + column, output) };
            row += 1;
        }
    }
}
