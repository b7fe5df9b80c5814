//! A warp for each segment: lanes load neighbouring elements, 32 at once, and combine their results by shuffles.
//!
//! It needs neither shared memory nor barriers. A load is coalesced, but one of a segment of 16 elements uses half of
//! its lanes, and the shuffles cost the same for any length. A warp with a long segment still runs when the others have
//! finished.

use super::bounds;
use crate::{
    number::Number,
    reduce::{Max, Min, Op, Sum, WARP, collective::warp_reduce},
};
use cuda_std::{kernel, thread};

/// The idea in one line.
pub const IDEA: &str = "one warp per segment: no barriers, 32 elements at a time";

/// Default number of threads per block; a multiple of 32, at most 1024.
pub const BLOCK: u32 = 256;

/// Reduces segment `k` of `values`, the elements `offsets[k]..offsets[k + 1]`, to `results[k]`. The result is the same
/// in every run.
///
/// # Safety
/// The block is a multiple of 32; `offsets` has at least one entry, ascends, and ends within `values`; `results` has
/// one element per segment.
#[kernel(for O in [Sum, Max, Min], for T in [f32, f64, i32, u32, i64, u64])]
pub unsafe fn segreduce_warp_per_segment<O: Op<T>, T: Number>(values: &[T], offsets: &[u64], results: *mut T) {
    let lane = (thread::thread_idx_x() % WARP) as usize;
    let mut k = thread::global_index() / WARP as usize;
    while k + 1 < offsets.len() {
        // SAFETY: there is a segment `k`.
        let (begin, end) = unsafe { bounds(offsets, k) };
        let mut value = O::identity();
        let mut i = begin + lane;
        while i < end {
            // SAFETY: the segment lies within the values.
            value = O::combine(value, unsafe { *values.get_unchecked(i) });
            i += WARP as usize;
        }
        // SAFETY: all lanes of the warp have this segment.
        let value = unsafe { warp_reduce::<O, T>(value) };
        if lane == 0 {
            // SAFETY: no other warp has this segment.
            unsafe { results.add(k).write(value) };
        }
        k += thread::grid_stride() / WARP as usize;
    }
}
