//! One thread per sample: the channels of a sample are neighbours in memory and use the same taps, so that one thread
//! can filter all of them with one index, one border test and one load of the mask per tap.
//!
//! The number of channels is a constant, so that the sums are in registers.

use super::{Frame, place};
use crate::filter::{Sample, source};
use cuda_std::{kernel, thread};

/// The idea in one line.
pub const IDEA: &str = "one thread per sample: its channels share indices, border tests and the mask's loads";

/// Channels per thread for a signal of this number of channels: the largest divisor up to four; blocks along y share
/// the rest.
pub const fn per_thread(channels: u32) -> u32 {
    let mut each = 4;
    while !channels.is_multiple_of(each) {
        each -= 1;
    }
    each
}

/// Convolves a signal of `frame.samples` x `frame.channels` elements, row-major. The order of additions is fixed, so
/// the result is the same in every run; [`conv1d`](crate::conv1d) states the error bound.
///
/// # Safety
/// `input` and `output` are signals of the frame and do not overlap; `mask` is the frame's mask. The grid has a thread
/// per sample along x and a block per C channels along y; C divides the signal's number of channels.
#[kernel(for T in [f32, f64], for C in [1, 2, 3, 4])]
pub unsafe fn conv1d_channels<T: Sample, const C: usize>(input: &[T], mask: &[T], frame: Frame, output: *mut T) {
    let sample = place();
    if sample >= frame.samples {
        return;
    }
    let channel = thread::block_idx_y() * C as u32;
    let start = frame.start(sample);
    let mut sums = [T::ZERO; C];
    let mut j = 0;
    while j < mask.len() {
        if let Some(at) = source(start + j as i32, frame.samples, frame.border) {
            let first = (at * frame.channels + channel) as usize;
            let mut c = 0;
            while c < C {
                // SAFETY: the index is that of a channel of a sample of the signal.
                sums[c] = unsafe { *input.get_unchecked(first + c) }.mul_add(mask[j], sums[c]);
                c += 1;
            }
        }
        j += 1;
    }
    let first = (sample * frame.channels + channel) as usize;
    let mut c = 0;
    while c < C {
        // SAFETY: the element is inside the signal, and no other thread has this sample's channels.
        unsafe { output.add(first + c).write(sums[c]) };
        c += 1;
    }
}
