//! A block for each segment: each thread combines every 256th element, and the threads' results are reduced by shuffles
//! and a shared value per warp.
//!
//! This suits long segments. A segment of 16 elements occupies 16 of 256 threads, and its block executes a barrier for
//! 15 additions.

use super::bounds;
use crate::{
    number::Number,
    reduce::{Max, Min, Op, Sum, collective::block_reduce},
};
use cuda_std::{kernel, thread};

/// The idea in one line.
pub const IDEA: &str = "one block per segment: most threads have no work where segments are short";

/// Default number of threads per block; a multiple of 32, at most 1024.
pub const BLOCK: u32 = 256;

/// Reduces segment `k` of `values`, the elements `offsets[k]..offsets[k + 1]`, to `results[k]`. The result is the same
/// in every run.
///
/// # Safety
/// The block is a multiple of 32; `offsets` has at least one entry, ascends, and ends within `values`; `results` has
/// one element per segment.
#[kernel(for O in [Sum, Max, Min], for T in [f32, f64, i32, u32, i64, u64])]
pub unsafe fn segreduce_block_per_segment<O: Op<T>, T: Number>(values: &[T], offsets: &[u64], results: *mut T) {
    let mut k = thread::block_idx_x() as usize;
    while k + 1 < offsets.len() {
        // SAFETY: there is a segment `k`.
        let (begin, end) = unsafe { bounds(offsets, k) };
        let mut value = O::identity();
        let mut i = begin + thread::thread_idx_x() as usize;
        while i < end {
            // SAFETY: the segment lies within the values.
            value = O::combine(value, unsafe { *values.get_unchecked(i) });
            i += thread::block_dim_x() as usize;
        }
        // SAFETY: every thread of the block reaches this call, and the block consists of whole warps.
        let value = unsafe { block_reduce::<O, T>(value) };
        if thread::thread_idx_x() == 0 {
            // SAFETY: no other block has this segment.
            unsafe { results.add(k).write(value) };
        }
        thread::sync_threads(); // separates the reads of the warps' shared values from the writes of the next segment's
        k += thread::grid_dim_x() as usize;
    }
}
