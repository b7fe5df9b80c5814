//! A few segments: a block for each, which reads whole vectors.
//!
//! Nothing is combined between blocks, so a small input takes little more than a launch: 2^14 elements in segments of
//! 2048 take an H200 5.2 us, in equal parts 7.7.

use super::stretch::share;
use crate::{
    number::Number,
    reduce::{Max, Min, Op, Sum, collective::block_reduce},
    segreduce::bounds,
};
use cuda_std::{kernel, thread};

/// Threads per block; a multiple of 32, at most 1024.
pub const BLOCK: u32 = 256;

/// Reduces segment `k` of `values`, the elements `offsets[k]..offsets[k + 1]`, to `results[k]`. The result is the same
/// in every run.
///
/// # Safety
/// The block is a multiple of 32, and there is one block per segment; `offsets` has one entry more, ascends, and ends
/// within `values`; `results` has one element per segment.
#[kernel(for O in [Sum, Max, Min], for T in [f32, f64, i32, u32, i64, u64])]
pub unsafe fn segreduce_best_whole<O: Op<T>, T: Number>(values: &[T], offsets: &[u64], results: *mut T) {
    let (segment, tid) = (thread::block_idx_x() as usize, thread::thread_idx_x());
    // SAFETY: there is a segment of this number, and it lies within the values.
    let elements = unsafe {
        let (begin, end) = bounds(offsets, segment);
        values.get_unchecked(begin..end)
    };
    let value = share::<O, T>(elements, tid as usize, thread::block_dim_x() as usize);
    // SAFETY: all threads of the block reach this call, in whole warps.
    let value = unsafe { block_reduce::<O, T>(value) };
    if tid == 0 {
        // SAFETY: no other block has this segment.
        unsafe { results.add(segment).write(value) };
    }
}
