//! Two launches with a thread per element: the first filters the rows, the second the columns of its result. The sums
//! of rows, of the taps' type, are written to device memory and read again by as many threads as the column has taps.

use crate::conv2d::{Frame, Pixel, place};
use crate::filter::source;
use crate::number::{F16, Number};
use cuda_std::kernel;
use cuda_std::math::Float;

/// The idea in one line.
pub const IDEA: &str = "two launches with a thread per element: rows into memory, then columns";

/// Filters the rows of an image of `frame.rows` x `frame.columns` x `frame.channels` elements, row-major.
///
/// # Safety
/// `input` is an image of the frame, and `sums` memory for as many elements, which do not overlap; `taps` are as many
/// as the frame's mask has columns. Blocks along x and y have a thread per row and per column times channels.
#[kernel(for P in [f32, f64, u8, F16])]
pub unsafe fn separable_rows<P: Pixel>(
    input: &[<P as Pixel>::Bits],
    taps: &[<P as Pixel>::Tap],
    frame: Frame,
    sums: *mut <P as Pixel>::Tap,
) {
    let (row, element) = place();
    if row >= frame.rows || element >= frame.columns * frame.channels {
        return;
    }
    let (column, channel) = (element / frame.channels.max(1), element % frame.channels.max(1));
    let (_, left) = frame.corner(row, column);
    let (mut sum, mut j) = (P::Tap::ZERO, 0);
    while j < frame.mask_columns {
        if let Some(column) = source(left + j as i32, frame.columns, frame.border) {
            // SAFETY: the index is that of a tap; `source` gives places inside the image.
            unsafe {
                let element = P::widen(*input.get_unchecked(frame.index(row, column, channel)));
                sum = element.mul_add(*taps.get_unchecked(j as usize), sum);
            }
        }
        j += 1;
    }
    // SAFETY: the element is inside the image, and no other thread has this element.
    unsafe { sums.add(frame.index(row, column, channel)).write(sum) };
}

/// Filters the columns of the rows' sums.
///
/// # Safety
/// `sums` are as many as the elements of `output`, an image of the frame, and do not overlap it; `taps` are as many as
/// the frame's mask has rows. Blocks along x and y have a thread per row and per column times channels.
#[kernel(for P in [f32, f64, u8, F16])]
pub unsafe fn separable_columns<P: Pixel>(
    sums: &[<P as Pixel>::Tap],
    taps: &[<P as Pixel>::Tap],
    frame: Frame,
    output: *mut <P as Pixel>::Bits,
) {
    let (row, element) = place();
    if row >= frame.rows || element >= frame.columns * frame.channels {
        return;
    }
    let (column, channel) = (element / frame.channels.max(1), element % frame.channels.max(1));
    let (top, _) = frame.corner(row, column);
    let (mut sum, mut i) = (P::Tap::ZERO, 0);
    while i < frame.mask_rows {
        if let Some(row) = source(top + i as i32, frame.rows, frame.border) {
            // SAFETY: the index is that of a tap; `source` gives places inside the image.
            unsafe {
                let element = *sums.get_unchecked(frame.index(row, column, channel));
                sum = element.mul_add(*taps.get_unchecked(i as usize), sum);
            }
        }
        i += 1;
    }
    // SAFETY: the element is inside the image, and no other thread has this element.
    unsafe { output.add(frame.index(row, column, channel)).write(P::narrow(sum)) };
}
