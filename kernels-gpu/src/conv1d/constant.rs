//! The mask is passed by value. Parameters lie in constant memory, and a tap at a place known at compile time is an operand of the
//! multiply-add: no load, no index.
//!
//! The price is a kernel per size of mask, which is also what lets the loop over it be unrolled. (CUDA C would copy the mask to a
//! `__constant__` array. A `static` of Rust can't change, so the parameters are our constant memory.)

use super::{element, place, start};
use crate::filter::{Sample, unroll};
use cuda_std::kernel;

/// Taps of the masks that there is a kernel for; others run as in [`basic`](super::basic).
pub const SIZES: [u32; 5] = [3, 5, 7, 9, 31];

/// Filters a signal.
///
/// # Safety
/// `output` is as long as `input` and does not overlap it; a thread per output.
#[kernel(for T in [f32, f64], for K in [3, 5, 7, 9, 31])]
pub unsafe fn conv1d_constant<T: Sample, const K: usize>(input: &[T], mask: [T; K], border: u32, output: *mut T) {
    let i = place();
    if i as usize >= input.len() {
        return;
    }
    let start = start(i, K);
    let mut sum = T::ZERO;
    unroll!(j < K => { sum = element(input, start + j as i32, border).mul_add(mask[j], sum) });
    // SAFETY: one of the outputs, and no other thread has it.
    unsafe { output.add(i as usize).write(sum) };
}
