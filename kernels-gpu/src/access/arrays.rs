//! Structure of arrays: the first quarter of the elements holds the first field of all points, and so on. For every
//! field neighbouring lanes access neighbouring elements, and code that needs one field moves no other.

use super::{FIELDS, double};
use crate::number::Number;
use cuda_std::{kernel, thread};

/// The idea in one line.
pub const IDEA: &str = "structure of arrays: neighbouring lanes access neighbouring elements of any field";

/// Doubles all elements, four to a thread.
///
/// # Safety
/// `output` is as long as `input` and does not overlap it; the launch has at least a quarter as many threads as
/// elements.
#[kernel(for T in [f32, f64])]
pub unsafe fn access_arrays<T: Number>(input: &[T], output: *mut T) {
    let points = input.len().div_ceil(FIELDS);
    let point = thread::global_index();
    let mut field = 0;
    while field < FIELDS {
        let i = field * points + point;
        if point < points && i < input.len() {
            // SAFETY: `i` is below the length, and no other thread has it.
            unsafe { double(input, i, output) };
        }
        field += 1;
    }
}
