//! One thread per output, which walks over the mask and reads the elements under it.
//!
//! A multiply-add takes two loads, so the throughput of the caches limits the kernel. Neighbouring threads read
//! neighbouring elements, of one channel or of several, and all of them the same tap of the mask.

use super::{Frame, signal::Signal};
use crate::filter::Sample;
use cuda_std::{kernel, thread, view::DisjointSlice};

/// The idea in one line.
pub const IDEA: &str = "one thread per output, signal and mask from device memory: as fast as the caches";

/// Convolves a signal of `frame.samples` x `frame.channels` elements, row-major. The order of additions is fixed, so
/// the result is the same in every run; [`conv1d`](crate::conv1d) states the error bound. The launch has a thread per
/// element.
#[kernel(for T in [f32, f64])]
pub fn conv1d_basic<T: Sample>(input: &[T], mask: &[T], frame: Frame, mut output: DisjointSlice<T>) {
    let i = thread::unique_index();
    let Some(signal) = Signal::new(input, frame) else { return };
    let Some(out) = output.get_mut(i) else { return };
    let mut under = frame.start_at(i.get() as u32);
    let mut sum = T::ZERO;
    for &tap in mask {
        sum = signal.at(under).mul_add(tap, sum);
        under += frame.channels as i32;
    }
    *out = sum;
}
