//! The index of a value: the second pass of `argmax` and `argmin`, after any rung has found the value.
//!
//! Every thread walks through its elements from the front, and stops at the first match or once another thread has
//! found one at a lower index. The lowest index wins by an atomic minimum, whose result does not depend on the order of
//! threads. Two passes read the input twice; [`arg`](super::arg) tracks the index in the first pass instead.

use crate::number::Number;
use cuda_std::{
    atomic::{AtomicU64, Ordering},
    kernel, thread,
};

/// Threads per block.
pub const BLOCK: u32 = 256;

/// Lowers `place[0]` to the index of the first element that is the same as `wanted[0]`: NaN is the same as NaN, and -0
/// is not +0.
///
/// # Safety
/// `wanted` has an element; `place[0]` was set before the launch and only this launch uses it.
#[kernel(for T in [f32, f64, i32, u32, i64, u64])]
pub unsafe fn reduce_find<T: Number>(input: &[T], wanted: &[T], place: *mut u64) {
    // SAFETY: `wanted` has an element; and during the launch every access to `place[0]` is atomic.
    let (wanted, place) = unsafe { (*wanted.get_unchecked(0), AtomicU64::from_ptr(place)) };
    let mut i = thread::global_index();
    while i < input.len() && (i as u64) < place.load(Ordering::Relaxed) {
        // SAFETY: below the length.
        if unsafe { *input.get_unchecked(i) }.same(wanted) {
            place.fetch_min(i as u64, Ordering::Relaxed);
            return;
        }
        i += thread::grid_stride();
    }
}
