//! Neighbouring lanes access neighbouring elements, but a warp's first element is not at the start of a sector: one
//! more sector per request, of which the next warp uses the rest.
//!
//! On the first GPUs this cost as much as a stride; on GPUs with caches it is nearly free.

use super::double;
use crate::number::Number;
use cuda_std::{kernel, thread};

/// The idea in one line.
pub const IDEA: &str = "neighbouring lanes, neighbouring elements, but not from a sector's start: one sector more";

/// Doubles all elements; thread `i + offset` has element `i`.
///
/// # Safety
/// `output` is as long as `input` and does not overlap it; the launch has at least `offset` threads more than elements.
#[kernel(for T in [f32, f64])]
pub unsafe fn access_offset<T: Number>(input: &[T], offset: u32, output: *mut T) {
    // The index wraps for the first threads, to a number far beyond the end.
    let i = thread::global_index().wrapping_sub(offset as usize);
    if i < input.len() {
        // SAFETY: `i` is below the length, and no other thread has it.
        unsafe { double(input, i, output) };
    }
}
