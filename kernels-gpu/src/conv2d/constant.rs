//! The mask is passed by value. Parameters lie in constant memory, and a tap at a place known at compile time is an operand of the
//! multiply-add: no load, no index.
//!
//! The price is a kernel per size of mask, which is also what lets the loops over it be unrolled. (CUDA C would copy the mask to a
//! `__constant__` array. A `static` of Rust can't change, so the parameters are our constant memory.)

use super::{Frame, place};
use crate::filter::{Sample, source, unroll};
use cuda_std::kernel;

/// Rows and columns of the masks that there is a kernel for; others run as in [`basic`](super::basic).
pub const SIZES: [u32; 3] = [3, 5, 7];

/// Filters a picture.
///
/// # Safety
/// `input` and `output` are pictures of the frame, which has an element, and don't overlap; its mask is K x K. Blocks along x and y
/// have a thread per row and per column times channels.
#[kernel(for T in [f32, f64], for K in [3, 5, 7])]
pub unsafe fn conv2d_constant<T: Sample, const K: usize>(input: &[T], mask: [[T; K]; K], frame: Frame, output: *mut T) {
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
            // SAFETY: the caller's promise; `source` gives places inside the picture.
            sum = unsafe { row_sum(input, &mask[i], &columns, frame.index(row, 0, channel), frame.channels, sum) };
        }
    });
    // SAFETY: inside the picture, and no other thread has this element.
    unsafe { output.add(frame.index(row, column, channel)).write(sum) };
}

/// Adds what lies under one row of the mask.
///
/// # Safety
/// The picture's row starts at `row`, its columns are `apart` apart, and these are some of them.
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
            // SAFETY: the caller's promise.
            sum = unsafe { *input.get_unchecked(row + column as usize * apart as usize) }.mul_add(taps[j], sum);
        }
    });
    sum
}
