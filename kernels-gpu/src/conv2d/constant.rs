//! The mask is passed by value. Parameters lie in constant memory, and a tap whose index is known at compile time is an
//! operand of the multiply-add: no load, no index.
//!
//! - [`sized`](fn@conv2d_constant_sized): one kernel per size of (square) mask, so that the loops over the mask are
//!   unrolled.
//! - [`any`](fn@conv2d_constant_any): masks of any size, [`TAPS`] taps in each launch, which adds to the output of the
//!   launches before. (An index known only at run time would place the parameters in local memory.)
//!
//! (CUDA C would copy the mask to a `__constant__` array. A `static` of Rust is immutable, so kernel parameters serve
//! as constant memory.)

use super::{Frame, place};
use crate::filter::{Part, Sample, TAPS, source};
use crate::unroll::unroll;
use cuda_std::kernel;

/// The idea in one line.
pub const IDEA: &str = "the mask by value: taps from constant memory, up to 32 per launch; no loops for 3x3, 5x5, 7x7";

/// Sides of the masks for which there is a kernel.
pub const SIZES: [u32; 3] = [3, 5, 7];

/// Convolves an image of `frame.rows` x `frame.columns` x `frame.channels` elements, row-major. The order of additions
/// is fixed, so the result is the same in every run; [`conv2d`](crate::conv2d) states the error bound.
///
/// # Safety
/// `input` and `output` are images of the frame, which has an element, and do not overlap; its mask is K x K. Blocks
/// along x and y have a thread per row and per column times channels.
#[kernel(for T in [f32, f64], for K in [3, 5, 7])]
pub unsafe fn conv2d_constant_sized<T: Sample, const K: usize>(
    input: &[T],
    mask: [[T; K]; K],
    frame: Frame,
    output: *mut T,
) {
    let (row, element) = place();
    if row >= frame.rows || element >= frame.columns * frame.channels {
        return;
    }
    let (column, channel) = (element / frame.channels.max(1), element % frame.channels.max(1));
    let (top, left) = (row as i32 - (K / 2) as i32, column as i32 - (K / 2) as i32);
    let mut columns = [None; K];
    unroll!(j < K => { columns[j] = source(left + j as i32, frame.columns, frame.border) });
    let mut sum = T::ZERO;
    unroll!(i < K => {
        if let Some(row) = source(top + i as i32, frame.rows, frame.border) {
            // SAFETY: the caller upholds this function's contract; `source` gives places inside the image.
            sum = unsafe { row_sum(input, &mask[i], &columns, frame.index(row, 0, channel), frame.channels, sum) };
        }
    });
    // SAFETY: the element is inside the image, and no other thread has this element.
    unsafe { output.add(frame.index(row, column, channel)).write(sum) };
}

/// Adds the products of one row of the mask and the elements under it.
///
/// # Safety
/// The image's row starts at `row`, its columns are `apart` apart, and these are some of them.
#[inline(always)]
unsafe fn row_sum<T: Sample, const K: usize>(
    input: &[T],
    taps: &[T; K],
    columns: &[Option<u32>; K],
    row: usize,
    apart: u32,
    mut sum: T,
) -> T {
    unroll!(j < K => {
        if let Some(column) = columns[j] {
            // SAFETY: the caller upholds this function's contract.
            sum = unsafe { *input.get_unchecked(row + column as usize * apart as usize) }.mul_add(taps[j], sum);
        }
    });
    sum
}

/// Convolves an image with a part of a mask, and adds the result to the output unless it is the first part. The result
/// is the same in every run.
///
/// # Safety
/// `input` and `output` are images of the frame, which has an element, and do not overlap; `taps` are this part of
/// its mask, and the output has the sums of the parts before. Blocks along x and y have a thread per row and per column
/// times channels.
#[kernel(for T in [f32, f64])]
pub unsafe fn conv2d_constant_any<T: Sample>(input: &[T], taps: [T; TAPS], part: Part, frame: Frame, output: *mut T) {
    let (row, element) = place();
    if row >= frame.rows || element >= frame.columns * frame.channels {
        return;
    }
    let (column, channel) = (element / frame.channels.max(1), element % frame.channels.max(1));
    let at = frame.index(row, column, channel);
    // SAFETY: the element is inside the image; no other thread has this element, and the parts before have written
    // it.
    unsafe {
        let before = if part.first == 0 { T::ZERO } else { output.add(at).read() };
        output.add(at).write(part_sum(input, &taps, part, frame, frame.corner(row, column), channel, before));
    }
}

/// Adds the products of the taps of a part of the mask and the elements under them; the mask's first tap is at
/// `(top, left)`.
///
/// # Safety
/// The requirements are those of [`Frame::element`].
#[inline(always)]
unsafe fn part_sum<T: Sample>(
    input: &[T],
    taps: &[T; TAPS],
    part: Part,
    frame: Frame,
    (top, left): (i32, i32),
    channel: u32,
    mut sum: T,
) -> T {
    let across = frame.mask_columns.max(1);
    let (mut i, mut j) = (part.first / across, part.first % across);
    unroll!(t < TAPS => {
        if t as u32 >= part.count {
            return sum;
        }
        if t > 0 {
            j += 1;
            if j == across {
                (i, j) = (i + 1, 0);
            }
        }
        // SAFETY: the caller upholds this function's contract.
        sum = unsafe { frame.element(input, top + i as i32, left + j as i32, channel) }.mul_add(taps[t], sum);
    });
    sum
}
