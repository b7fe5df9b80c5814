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

/// Lowers the first of `place` to the index of the first element that is the same as the first of `wanted`: NaN is the
/// same as NaN, and -0 is not +0.
#[kernel(for T in [f32, f64, i32, u32, i64, u64])]
pub fn reduce_find<T: Number>(input: &[T], wanted: &[T], place: &[AtomicU64]) {
    let (Some(&wanted), Some(place)) = (wanted.first(), place.first()) else { return };
    for i in thread::unique_indices(input.len()) {
        if i.get() as u64 >= place.load(Ordering::Relaxed) {
            return;
        }
        if input[i].same(wanted) {
            place.fetch_min(i.get() as u64, Ordering::Relaxed);
            return;
        }
    }
}
