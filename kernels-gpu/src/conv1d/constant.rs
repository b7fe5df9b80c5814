//! The mask is passed by value. Parameters lie in constant memory, and a tap whose index is known at compile time is an
//! operand of the multiply-add: no load, no index.
//!
//! - [`sized`](fn@conv1d_constant_sized): one kernel per size of mask, so that the loop over the mask is unrolled.
//! - [`any`](fn@conv1d_constant_any): masks of any size, [`TAPS`] taps in each launch, which adds to the output of the
//!   launches before. (An index known only at run time would place the parameters in local memory.)
//!
//! (CUDA C would copy the mask to a `__constant__` array. A `static` of Rust is immutable, so kernel parameters serve
//! as constant memory.)

use super::{Frame, signal::Signal};
use crate::filter::{Part, Sample, TAPS};
use crate::unroll::unroll;
use cuda_std::{kernel, thread, view::DisjointSlice};

/// The idea in one line.
pub const IDEA: &str = "the mask by value: taps from constant memory, up to 32 per launch; no loop for 3, 5, 7, 9, 31";

/// Numbers of taps for which there is a kernel.
pub const SIZES: [u32; 5] = [3, 5, 7, 9, 31];

/// Convolves a signal of `frame.samples` x `frame.channels` elements, row-major. The order of additions is fixed, so
/// the result is the same in every run; [`conv1d`](crate::conv1d) states the error bound. The launch has a thread per
/// element.
#[kernel(for T in [f32, f64], for K in [3, 5, 7, 9, 31])]
pub fn conv1d_constant_sized<T: Sample, const K: usize>(
    input: &[T],
    mask: [T; K],
    frame: Frame,
    mut output: DisjointSlice<T>,
) {
    let i = thread::unique_index();
    let Some(signal) = Signal::new(input, frame) else { return };
    let Some(out) = output.get_mut(i) else { return };
    let (start, apart) = (frame.start_at(i.get() as u32), frame.channels as i32);
    let mut sum = T::ZERO;
    unroll!(j < K => {
        sum = signal.at(start + j as i32 * apart).mul_add(mask[j], sum);
    });
    *out = sum;
}

/// Convolves a signal with a part of a mask, and adds the result to the output unless it is the first part. The result
/// is the same in every run. The launch has a thread per element.
#[kernel(for T in [f32, f64])]
pub fn conv1d_constant_any<T: Sample>(
    input: &[T],
    taps: [T; TAPS],
    part: Part,
    frame: Frame,
    mut output: DisjointSlice<T>,
) {
    let i = thread::unique_index();
    let Some(signal) = Signal::new(input, frame) else { return };
    let Some(out) = output.get_mut(i) else { return };
    let start = frame.start_at(i.get() as u32) + (part.first * frame.channels) as i32;
    let before = if part.first == 0 { T::ZERO } else { *out };
    *out = add_part(&signal, &taps, part.count, (start, frame.channels as i32), before);
}

/// Adds the products of `count` taps and the elements under them; the first tap is at place `start`, the next one
/// `apart` from it.
#[inline(always)]
fn add_part<T: Sample>(
    signal: &Signal<'_, T>,
    taps: &[T; TAPS],
    count: u32,
    (start, apart): (i32, i32),
    mut sum: T,
) -> T {
    unroll!(j < TAPS => {
        if j as u32 >= count {
            return sum;
        }
        sum = signal.at(start + j as i32 * apart).mul_add(taps[j], sum);
    });
    sum
}
