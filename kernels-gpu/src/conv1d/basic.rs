//! A thread per output: it walks over the mask and reads what lies under it.
//!
//! A multiply-add takes two loads, which makes the kernel as fast as the caches are. Neighbouring threads read neighbouring elements,
//! and all of them the same tap of the mask.

use super::{element, place, start};
use crate::filter::Sample;
use cuda_std::kernel;

/// Filters a signal.
///
/// # Safety
/// `output` is as long as `input` and does not overlap it; a thread per output.
#[kernel(for T in [f32, f64])]
pub unsafe fn conv1d_basic<T: Sample>(input: &[T], mask: &[T], border: u32, output: *mut T) {
    let i = place();
    if i as usize >= input.len() {
        return;
    }
    let start = start(i, mask.len());
    let mut sum = T::ZERO;
    let mut j = 0;
    while j < mask.len() {
        sum = element(input, start + j as i32, border).mul_add(mask[j], sum);
        j += 1;
    }
    // SAFETY: one of the outputs, and no other thread has it.
    unsafe { output.add(i as usize).write(sum) };
}
