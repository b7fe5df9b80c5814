//! Neighbouring lanes touch neighbouring elements, but a warp's first one does not lie at the start of a sector: one
//! sector more per request, of which the next warp uses the rest.
//!
//! On the first GPUs this cost as much as a stride; since there are caches it is nearly free.

use super::double;
use crate::number::Number;
use cuda_std::{kernel, thread};

/// The idea in one line.
pub const IDEA: &str = "neighbouring lanes, neighbouring elements, but not from a sector's start: one sector more";

/// Doubles all elements; thread `i + offset` has element `i`.
///
/// # Safety
/// `output` is as long as `input` and does not overlap it; at least `offset` threads more than elements.
#[kernel(for T in [f32, f64])]
pub unsafe fn access_offset<T: Number>(input: &[T], offset: u32, output: *mut T) {
    // Wraps for the first threads, to far behind the end.
    let i = thread::global_index().wrapping_sub(offset as usize);
    if i < input.len() {
        // SAFETY: an index, of this thread alone.
        unsafe { double(input, i, output) };
    }
}
