//! One thread per output, which walks over the mask and reads the elements under it.
//!
//! A multiply-add takes two loads, so the throughput of the caches limits the kernel. Neighbouring threads read
//! neighbouring elements, of one channel or of several, and all of them the same tap of the mask.

use super::{Frame, place};
use crate::filter::Sample;
use cuda_std::kernel;

/// The idea in one line.
pub const IDEA: &str = "one thread per output, signal and mask from device memory: as fast as the caches";

/// Convolves a signal of `frame.samples` x `frame.channels` elements, row-major. The order of additions is fixed, so
/// the result is the same in every run; [`conv1d`](crate::conv1d) states the error bound.
///
/// # Safety
/// `input` and `output` are signals of the frame and do not overlap; `mask` is the frame's mask. A thread per element.
#[kernel(for T in [f32, f64])]
pub unsafe fn conv1d_basic<T: Sample>(input: &[T], mask: &[T], frame: Frame, output: *mut T) {
    let i = place();
    if i as usize >= input.len() {
        return;
    }
    let mut under = frame.start_at(i);
    let mut sum = T::ZERO;
    let mut j = 0;
    while j < mask.len() {
        // SAFETY: the caller upholds this function's contract.
        sum = unsafe { frame.element_at(input, under) }.mul_add(mask[j], sum);
        under += frame.channels as i32;
        j += 1;
    }
    // SAFETY: the index is that of an output, and no other thread has it.
    unsafe { output.add(i as usize).write(sum) };
}
