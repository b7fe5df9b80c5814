//! Neighbouring lanes are `stride` elements apart; `stride` warps share a piece of `32 * stride` elements, so that each
//! element is still visited once.
//!
//! With stride 2 half of every sector is not for this warp, from a sector's 32 bytes on each lane has one of its own,
//! and more can't get worse: min(32, stride * size of an element) sectors per request.

use super::{WARP, double};
use crate::number::Number;
use cuda_std::{kernel, thread};

/// The idea in one line.
pub const IDEA: &str = "neighbouring lanes are `stride` elements apart: min(32, stride * size) sectors per request";

/// Doubles all elements.
///
/// # Safety
/// `output` is as long as `input` and does not overlap it; at least as many threads as elements, rounded up to a
/// multiple of `32 * stride`.
#[kernel(for T in [f32, f64])]
pub unsafe fn access_strided<T: Number>(input: &[T], stride: u32, output: *mut T) {
    // The compiler can't know that there is no stride of 0, and would keep a panic for a division by it.
    let stride = stride.max(1) as usize;
    let me = thread::global_index();
    let (warp, lane) = (me / WARP, me % WARP);
    let i = warp / stride * (WARP * stride) + lane * stride + warp % stride;
    if i < input.len() {
        // SAFETY: an index, and (warp, lane) gives each one once.
        unsafe { double(input, i, output) };
    }
}
