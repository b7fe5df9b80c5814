//! Array of structures: the elements are points of four fields, one after the other, and each lane has a point. Field
//! by field, a warp accesses every fourth element: four requests, each for all the sectors.

use super::{FIELDS, double};
use crate::number::Number;
use cuda_std::{kernel, thread};

/// The idea in one line.
pub const IDEA: &str = "array of structures, field by field: neighbouring lanes are four elements apart";

/// Doubles all elements, four to a thread.
///
/// # Safety
/// `output` is as long as `input` and does not overlap it; the launch has at least a quarter as many threads as
/// elements.
#[kernel(for T in [f32, f64])]
pub unsafe fn access_structures<T: Number>(input: &[T], output: *mut T) {
    let point = thread::global_index();
    let mut field = 0;
    while field < FIELDS {
        let i = point * FIELDS + field;
        if i < input.len() {
            // SAFETY: `i` is below the length, and no other thread has it.
            unsafe { double(input, i, output) };
        }
        field += 1;
    }
}
