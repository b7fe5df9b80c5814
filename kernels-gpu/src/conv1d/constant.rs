//! The mask is passed by value. Parameters lie in constant memory, and a tap whose index is known at compile time is an
//! operand of the multiply-add: no load, no index.
//!
//! - [`sized`](fn@conv1d_constant_sized): one kernel per size of mask, so that the loop over the mask is unrolled.
//! - [`any`](fn@conv1d_constant_any): masks of any size, [`TAPS`] taps in each launch, which adds to the output of the
//!   launches before. (An index known only at run time would place the parameters in local memory.)
//!
//! (CUDA C would copy the mask to a `__constant__` array. A `static` of Rust is immutable, so kernel parameters serve
//! as constant memory.)

use super::{Frame, place};
use crate::filter::{Part, Sample, TAPS};
use crate::unroll::unroll;
use cuda_std::kernel;

/// The idea in one line.
pub const IDEA: &str = "the mask by value: taps from constant memory, up to 32 per launch; no loop for 3, 5, 7, 9, 31";

/// Numbers of taps for which there is a kernel.
pub const SIZES: [u32; 5] = [3, 5, 7, 9, 31];

/// Convolves a signal of `frame.samples` x `frame.channels` elements, row-major. The order of additions is fixed, so
/// the result is the same in every run; [`conv1d`](crate::conv1d) states the error bound.
///
/// # Safety
/// `input` and `output` are signals of the frame and do not overlap; its mask has K taps. A thread per element.
#[kernel(for T in [f32, f64], for K in [3, 5, 7, 9, 31])]
pub unsafe fn conv1d_constant_sized<T: Sample, const K: usize>(
    input: &[T],
    mask: [T; K],
    frame: Frame,
    output: *mut T,
) {
    let i = place();
    if i as usize >= input.len() {
        return;
    }
    let (start, apart) = (frame.start_at(i), frame.channels as i32);
    let mut sum = T::ZERO;
    unroll!(j < K => {
        // SAFETY: the caller upholds this function's contract.
        sum = unsafe { frame.element_at(input, start + j as i32 * apart) }.mul_add(mask[j], sum);
    });
    // SAFETY: the index is that of an output, and no other thread has it.
    unsafe { output.add(i as usize).write(sum) };
}

/// Convolves a signal with a part of a mask, and adds the result to the output unless it is the first part. The result
/// is the same in every run.
///
/// # Safety
/// `input` and `output` are signals of the frame and do not overlap; `taps` are this part of its mask, and the output
/// has the sums of the parts before. A thread per element.
#[kernel(for T in [f32, f64])]
pub unsafe fn conv1d_constant_any<T: Sample>(input: &[T], taps: [T; TAPS], part: Part, frame: Frame, output: *mut T) {
    let i = place();
    if i as usize >= input.len() {
        return;
    }
    let start = frame.start_at(i) + (part.first * frame.channels) as i32;
    // SAFETY: the index is that of an output, which no other thread has and the parts before have written; the caller
    // upholds the rest of the contract.
    unsafe {
        let before = if part.first == 0 { T::ZERO } else { output.add(i as usize).read() };
        output.add(i as usize).write(add_part(input, &taps, part.count, frame, start, before));
    }
}

/// Adds the products of `count` taps and the elements under them; the first tap is at place `start`.
///
/// # Safety
/// The requirements are those of [`Frame::element_at`].
#[inline(always)]
unsafe fn add_part<T: Sample>(input: &[T], taps: &[T; TAPS], count: u32, frame: Frame, start: i32, mut sum: T) -> T {
    unroll!(j < TAPS => {
        if j as u32 >= count {
            return sum;
        }
        // SAFETY: the caller upholds this function's contract.
        sum = unsafe { frame.element_at(input, start + j as i32 * frame.channels as i32) }.mul_add(taps[j], sum);
    });
    sum
}
