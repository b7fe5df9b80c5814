//! Neighbouring lanes are `stride` elements apart; `stride` warps share a range of `32 * stride` elements, so that each
//! element is still visited once.
//!
//! With stride 2 a warp uses half of every sector. Once the stride reaches a sector's 32 bytes, each lane needs a
//! separate sector, and a larger stride costs no more: min(32, stride * size of an element) sectors per request.

use super::{WARP, double};
use crate::number::Number;
use cuda_std::{kernel, thread};

/// The idea in one line.
pub const IDEA: &str = "neighbouring lanes are `stride` elements apart: min(32, stride * size) sectors per request";

/// Doubles all elements.
///
/// # Safety
/// `output` is as long as `input` and does not overlap it; the launch has at least as many threads as elements, rounded
/// up to a multiple of `32 * stride`.
#[kernel(for T in [f32, f64])]
pub unsafe fn access_strided<T: Number>(input: &[T], stride: u32, output: *mut T) {
    // Without `max` the compiler would keep a panic for a division by a stride of 0.
    let stride = stride.max(1) as usize;
    let me = thread::global_index();
    let (warp, lane) = (me / WARP, me % WARP);
    let i = warp / stride * (WARP * stride) + lane * stride + warp % stride;
    if i < input.len() {
        // SAFETY: `i` is below the length, and (warp, lane) gives each index once.
        unsafe { double(input, i, output) };
    }
}
