//! Long segments: the host cuts those that are longer than a piece, and each piece has a block of its own.
//!
//! Blocks start in the order of the pieces as others end, so that the device reads one region of memory after the
//! other, and all multiprocessors end at the same time. Equal parts for all resident blocks read as many regions at
//! once. (H200, 2^28 f32 in segments of 2^20: 245 us instead of 257; of 4096: 241 us, by a warp each 266.)
//!
//! The last of a segment's blocks to finish combines the results of its pieces, in their order.

use super::stretch::share;
use crate::{
    number::Number,
    reduce::{Max, Min, Op, Sum, collective::block_reduce},
};
use cuda_std::{
    atomic::{AtomicU32, Ordering},
    kernel, thread,
};

/// Threads per block; a multiple of 32, at most 1024.
pub const BLOCK: u32 = 256;

/// Bytes that a block loads in one round. Pieces of a cut segment are a multiple of it long.
pub const ROUND: usize = 16 << 10;

/// Reduces piece `i` of `values`, the elements `cuts[i]..cuts[i + 1]` of segment `segments[i]`. The pieces of segment
/// `k` are `firsts[k]..firsts[k + 1]`, at least one, and their combination is `results[k]`. The result is the same in
/// every run.
///
/// # Safety
/// The block is a multiple of 32, and there is one block per piece; `cuts` has one entry more than there are pieces,
/// ascends, and ends within `values`; `firsts` has one entry more than there are segments; `partials` has one element
/// per piece and is used by this launch only; `tickets` has one entry per segment, all 0.
#[kernel(for O in [Sum, Max, Min], for T in [f32, f64, i32, u32, i64, u64])]
pub unsafe fn segreduce_best_pieces<O: Op<T>, T: Number>(
    values: &[T],
    cuts: &[u64],
    segments: &[u32],
    firsts: &[u32],
    results: *mut T,
    partials: *mut T,
    tickets: *mut u32,
) {
    let (piece, tid) = (thread::block_idx_x() as usize, thread::thread_idx_x());
    // SAFETY: there is a piece of this number, it lies within the values, and its segment has limits.
    let (elements, segment, first, end) = unsafe {
        let (begin, end) = (*cuts.get_unchecked(piece), *cuts.get_unchecked(piece + 1));
        let segment = *segments.get_unchecked(piece) as usize;
        let elements = values.get_unchecked(begin as usize..end as usize);
        (elements, segment, *firsts.get_unchecked(segment), *firsts.get_unchecked(segment + 1))
    };
    let value = share::<O, T>(elements, tid as usize, thread::block_dim_x() as usize);
    // SAFETY: all threads of the block reach this call, in whole warps.
    let value = unsafe { block_reduce::<O, T>(value) };
    if end - first == 1 {
        if tid == 0 {
            // SAFETY: no other block has a piece of this segment.
            unsafe { results.add(segment).write(value) };
        }
        return;
    }
    let mut is_last = false;
    if tid == 0 {
        // SAFETY: one partial result per piece; during the launch every access to the ticket is one of these atomics.
        unsafe {
            partials.add(piece).write(value);
            let last = end - first - 1;
            is_last = AtomicU32::from_ptr(tickets.add(segment)).fetch_inc(last, Ordering::AcqRel) == last;
        }
    }
    // Its barrier also separates the two uses of the shared memory in `block_reduce`.
    if thread::sync_threads_or(is_last.into()) == 0 {
        return;
    }
    let mut value = O::identity();
    let mut i = first + tid;
    while i < end {
        // SAFETY: all blocks of the segment have written their results, which are not written again.
        value = O::combine(value, unsafe { partials.add(i as usize).read() });
        i += thread::block_dim_x();
    }
    // SAFETY: the whole block reaches this call: all its threads got the same answer from the barrier.
    let value = unsafe { block_reduce::<O, T>(value) };
    if tid == 0 {
        // SAFETY: this block alone is the segment's last.
        unsafe { results.add(segment).write(value) };
    }
}
