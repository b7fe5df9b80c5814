//! The mask is passed by value. Parameters lie in constant memory, and a tap at a place known at compile time is an operand of the
//! multiply-add: no load, no index.
//!
//! - [`sized`](fn@conv1d_constant_sized): a kernel per size of mask, which is also what lets the loop over it be unrolled.
//! - [`any`](fn@conv1d_constant_any): masks of any size, [`TAPS`] taps in each launch, which adds to what the launches before left in the
//!   output. (An index known only at run time would send the parameters to local memory.)
//!
//! (CUDA C would copy the mask to a `__constant__` array. A `static` of Rust can't change, so the parameters are our constant memory.)

use super::{element, place, start};
use crate::filter::Sample;
use crate::unroll::unroll;
use cuda_std::{kernel, launch::Scalar};

/// Taps of the masks that there is a kernel for.
pub const SIZES: [u32; 5] = [3, 5, 7, 9, 31];

/// Most taps of a launch for any size: as many as `unroll!` has rounds.
pub const TAPS: usize = 32;

/// The taps of a launch among those of the mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Part {
    /// The first one.
    pub first: u32,
    /// How many, at most [`TAPS`].
    pub count: u32,
    /// Taps of the whole mask.
    pub mask: u32,
}

// SAFETY: three numbers of one size, without padding, laid out as written.
unsafe impl Scalar for Part {}

/// Filters a signal.
///
/// # Safety
/// `output` is as long as `input` and does not overlap it; a thread per output.
#[kernel(for T in [f32, f64], for K in [3, 5, 7, 9, 31])]
pub unsafe fn conv1d_constant_sized<T: Sample, const K: usize>(input: &[T], mask: [T; K], border: u32, output: *mut T) {
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

/// Filters a signal by a part of a mask, and adds that to the output unless it is the first part.
///
/// # Safety
/// `output` is as long as `input` and does not overlap it, and has the sums of the parts before; a thread per output.
#[kernel(for T in [f32, f64])]
pub unsafe fn conv1d_constant_any<T: Sample>(input: &[T], taps: [T; TAPS], part: Part, border: u32, output: *mut T) {
    let i = place();
    if i as usize >= input.len() {
        return;
    }
    let start = start(i, part.mask as usize) + part.first as i32;
    // SAFETY: one of the outputs, which no other thread has, and the parts before have written it.
    unsafe {
        let before = if part.first == 0 { T::ZERO } else { output.add(i as usize).read() };
        output.add(i as usize).write(add_part(input, &taps, part.count, start, border, before));
    }
}

/// Adds `count` taps times the elements from `start` on.
#[inline(always)]
fn add_part<T: Sample>(input: &[T], taps: &[T; TAPS], count: u32, start: i32, border: u32, mut sum: T) -> T {
    unroll!(j < TAPS => {
        if j as u32 >= count {
            return sum;
        }
        sum = element(input, start + j as i32, border).mul_add(taps[j], sum);
    });
    sum
}
