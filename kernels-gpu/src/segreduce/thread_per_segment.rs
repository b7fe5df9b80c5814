//! A thread for each segment: it walks from the first element to the last.
//!
//! No lane waits for another to combine anything. But lanes read a segment's length apart, so a load touches up to 32
//! sectors, and a warp takes as long as the longest of its 32 segments.

use super::bounds;
use crate::{
    number::Number,
    reduce::{Max, Min, Op, Sum},
};
use cuda_std::{kernel, thread};

/// The idea in one line.
pub const IDEA: &str = "one thread per segment: nothing to combine, but lanes read far apart";

/// Default number of threads per block; any number works.
pub const BLOCK: u32 = 256;

/// Reduces segment `k` of `values`, the elements `offsets[k]..offsets[k + 1]`, to `results[k]`. The result is the same
/// in every run.
///
/// # Safety
/// `offsets` has at least one entry, ascends, and ends within `values`; `results` has one element per segment.
#[kernel(for O in [Sum, Max, Min], for T in [f32, f64, i32, u32, i64, u64])]
pub unsafe fn segreduce_thread_per_segment<O: Op<T>, T: Number>(values: &[T], offsets: &[u64], results: *mut T) {
    let mut k = thread::global_index();
    while k + 1 < offsets.len() {
        // SAFETY: there is a segment `k`.
        let (begin, end) = unsafe { bounds(offsets, k) };
        let mut value = O::identity();
        let mut i = begin;
        while i < end {
            // SAFETY: the segment lies within the values.
            value = O::combine(value, unsafe { *values.get_unchecked(i) });
            i += 1;
        }
        // SAFETY: no other thread has this segment.
        unsafe { results.add(k).write(value) };
        k += thread::grid_stride();
    }
}
