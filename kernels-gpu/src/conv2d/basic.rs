//! One thread per element of the result, which walks over the mask and reads the elements under it.
//!
//! A multiply-add takes two loads, so the throughput of the caches limits the kernel. Neighbouring threads read
//! neighbouring elements, and all of them the same tap of the mask.

use super::{Frame, place};
use crate::filter::Sample;
use cuda_std::kernel;

/// The idea in one line.
pub const IDEA: &str = "one thread per element, image and mask from device memory: as fast as the caches";

/// Convolves an image of `frame.rows` x `frame.columns` x `frame.channels` elements, row-major. The order of additions
/// is fixed, so the result is the same in every run; [`conv2d`](crate::conv2d) states the error bound.
///
/// # Safety
/// `input` and `output` are images of the frame, which has an element, and do not overlap; `mask` is the frame's
/// mask. Blocks along x and y have a thread per row and per column times channels.
#[kernel(for T in [f32, f64])]
pub unsafe fn conv2d_basic<T: Sample>(input: &[T], mask: &[T], frame: Frame, output: *mut T) {
    let (row, element) = place();
    if row >= frame.rows || element >= frame.columns * frame.channels {
        return;
    }
    let (column, channel) = (element / frame.channels.max(1), element % frame.channels.max(1));
    let (top, left) = frame.corner(row, column);
    let mut sum = T::ZERO;
    let mut i = 0;
    while i < frame.mask_rows {
        let mut j = 0;
        while j < frame.mask_columns {
            // SAFETY: the index is that of a tap, and the caller upholds the rest of the contract.
            unsafe {
                let tap = *mask.get_unchecked((i * frame.mask_columns + j) as usize);
                sum = frame.element(input, top + i as i32, left + j as i32, channel).mul_add(tap, sum);
            }
            j += 1;
        }
        i += 1;
    }
    // SAFETY: the element is inside the image, and no other thread has this element.
    unsafe { output.add(frame.index(row, column, channel)).write(sum) };
}
