//! One thread per pixel: the channels of a pixel are neighbours in memory and use the same taps, so that one thread can
//! filter all of them with one index, one border test and one load of the mask per tap.
//!
//! The number of channels is a constant, so that the sums are in registers.

use super::{Frame, Pixel, place};
use crate::filter::source;
use crate::number::{F16, Number};
use cuda_std::math::Float;
use cuda_std::{kernel, thread};

/// The idea in one line.
pub const IDEA: &str = "one thread per pixel: its channels share indices, border tests and the mask's loads";

/// Channels per thread for an image of this number of channels: all of three or four, else one; blocks along z share
/// the rest.
pub const fn per_thread(channels: u32) -> u32 {
    if channels == 3 || channels == 4 { channels } else { 1 }
}

/// Convolves an image of `frame.rows` x `frame.columns` x `frame.channels` elements, row-major. The order of additions
/// is fixed, so the result is the same in every run; [`conv2d`](crate::conv2d) states the error bound.
///
/// # Safety
/// `input` and `output` are images of the frame, which has an element, and do not overlap; `mask` is the frame's
/// mask. Blocks have a thread per column along x, per row along y, and along z one block per C channels, which divide
/// the image's.
#[kernel(for P in [f32, f64, u8, F16], for C in [1, 3, 4])]
pub unsafe fn conv2d_channels<P: Pixel, const C: usize>(
    input: &[<P as Pixel>::Bits],
    mask: &[<P as Pixel>::Tap],
    frame: Frame,
    output: *mut <P as Pixel>::Bits,
) {
    let (row, column) = place();
    if row >= frame.rows || column >= frame.columns {
        return;
    }
    let channel = thread::block_idx_z() * C as u32;
    let (top, left) = frame.corner(row, column);
    let mut sums = [P::Tap::ZERO; C];
    let mut i = 0;
    while i < frame.mask_rows {
        let source_row = source(top + i as i32, frame.rows, frame.border);
        let mut j = 0;
        while j < frame.mask_columns {
            if let (Some(row), Some(column)) = (source_row, source(left + j as i32, frame.columns, frame.border)) {
                let at = frame.index(row, column, channel);
                // SAFETY: the index is that of a tap of the mask.
                let tap = unsafe { *mask.get_unchecked((i * frame.mask_columns + j) as usize) };
                let mut c = 0;
                while c < C {
                    // SAFETY: the index is that of a channel of a pixel inside the image.
                    sums[c] = P::widen(unsafe { *input.get_unchecked(at + c) }).mul_add(tap, sums[c]);
                    c += 1;
                }
            }
            j += 1;
        }
        i += 1;
    }
    let at = frame.index(row, column, channel);
    let mut c = 0;
    while c < C {
        // SAFETY: the element is inside the image, and no other thread has this pixel's channels.
        unsafe { output.add(at + c).write(P::narrow(sums[c])) };
        c += 1;
    }
}
