//! The rung to use: any mix of lengths in one launch, at a speed that depends little on the lengths, with the same bits
//! in every run.
//!
//! - Elements and segment ends are merged into one list (an end comes after its segment's last element) and every
//!   block gets an equal part of it, whether that is one segment's middle or a thousand empty ones: see `split`.
//! - A block processes its part in tiles of 16 KiB. A tile in which no segment ends is only loaded and added up, by
//!   each thread separately, without a barrier. Where one ends (4-byte elements), threads add up the elements before
//!   its end and those after it, with one barrier. Otherwise each thread takes 64 neighbouring bytes of the tile, and a
//!   segmented scan over the threads passes on the sum of a segment that began before: see `tile`.
//! - The next tile's loads start before the tile's work does.
//! - A segment may end blocks later than it began. Each block stores its sum of the segment that is open at its end,
//!   and the last block to finish combines these in the order of the blocks: see `join`.
//!
//! The tiles in which no segment ends, and those with one end, are added up in another order than that of the elements.
//! For operators that do not commute, every tile takes the segmented scan.
//!
//! A segmented scan in every tile leaves two thirds of memory's speed (H200, 2^28 f32: 4.2 TB/s of a million elements
//! each, 2.9 TB/s of 16, of 128, or of a power law). Where all lengths are about the same and suit a warp,
//! [`warp_per_segment`](super::warp_per_segment) is faster: 2^22 elements in segments of 128 take it 13.3 us, and 19.0
//! here. Where most segments are long, [`pieces`] is: 4.4 TB/s of a million elements each. Small inputs, whose time is
//! that of a launch and of its longest chain of loads, are faster in a warp or a block ([`whole`]) for each segment.
//! The plan of `rustwarp` chooses them then.

use super::scan::block_total;
use crate::{
    number::Number,
    operator::{Operator, Pod, chunk::Chunk},
    reduce::{Max, Min, Op, Sum, WARP},
};
use cuda_std::{kernel, thread};
use join::join;
use split::split;

#[cfg(feature = "segreduce")]
pub mod pieces;
#[cfg(feature = "segreduce")]
pub mod stretch;
#[cfg(feature = "segreduce")]
pub mod whole;

mod join;
mod split;
mod tile;

/// The idea in one line.
pub const IDEA: &str = "equal parts of elements and segment ends for all blocks and threads: any mix of lengths";

/// Threads per block; the layout of the tiles depends on it.
pub const BLOCK: u32 = 256;

/// Blocks per multiprocessor.
pub const BLOCKS_PER_SM: u32 = 3;

/// 16-byte vectors of a tile per thread.
const EACH: usize = 4;

/// Elements in a tile.
pub const fn tile(bytes: usize) -> u32 {
    BLOCK * (EACH * width(bytes)) as u32
}

/// Values of this size in a vector: as many as fill 16 bytes, at most eight, or one.
const fn width(bytes: usize) -> usize {
    match bytes {
        1 => 8,
        2 | 4 | 8 => 16 / bytes,
        _ => 1,
    }
}

const _: () = assert!(EACH == 4 && BLOCK >= 2 * WARP);

/// Reduces segment `k` of `values`, the elements `offsets[k]..offsets[k + 1]`, to `results[k]`. The result is the same
/// in every run.
///
/// # Safety
/// `BLOCK` threads; `offsets` has at least one entry, ascends, and ends within `values`; `results` has one element per
/// segment; `carries` and `keys` have one per block and are used by this launch only; `ticket` is 0.
#[cfg_attr(feature = "segreduce", kernel(for O in [Sum, Max, Min], for T in [f32, f64, i32, u32, i64, u64]))]
pub unsafe fn segreduce_best<O: Op<T>, T: Number>(
    values: &[T],
    offsets: &[u64],
    results: *mut T,
    carries: *mut T,
    keys: *mut u64,
    ticket: *mut u32,
) {
    // SAFETY: the caller upholds this function's contract.
    unsafe { segmented_reduce::<O, T>(values, offsets, results, carries, keys, ticket) }
}

/// Largest size of a value in bytes, which a tile's memory limits.
pub const MAX_BYTES: usize = 32;

/// Blocks per multiprocessor for values of this size: as many as have registers and shared memory.
pub const fn any_blocks_per_sm(bytes: usize) -> u32 {
    if bytes <= 8 { BLOCKS_PER_SM } else { 2 }
}

/// Reduces the segments by any operator: those of one that does not commute in the order of their elements.
///
/// # Safety
/// The requirements are those of [`segreduce_best()`].
#[inline(always)]
pub unsafe fn segmented_reduce<O: Operator<T>, T: Pod>(
    values: &[T],
    offsets: &[u64],
    results: *mut T,
    carries: *mut T,
    keys: *mut u64,
    ticket: *mut u32,
) {
    const { assert!(size_of::<T>() <= MAX_BYTES, "segmented reduction takes values of at most 32 bytes") };
    // SAFETY: the caller upholds this function's contract.
    unsafe {
        let (carry, key) = match const { width(size_of::<T>()) } {
            1 => part::<O, T, 1>(values, offsets, results),
            2 => part::<O, T, 2>(values, offsets, results),
            4 => part::<O, T, 4>(values, offsets, results),
            _ => part::<O, T, 8>(values, offsets, results),
        };
        if thread::thread_idx_x() == 0 {
            let block = thread::block_idx_x() as usize;
            carries.add(block).write(carry);
            keys.add(block).write(key);
        }
        join::<O, T>(offsets, results, carries, keys, ticket);
    }
}

/// Reduces the block's part. Returns the block's sum of the segment that is open at its end, and the number of that
/// segment, which is the number of segments if all have ended.
///
/// # Safety
/// The requirements are those of [`segreduce_best()`].
#[inline(always)]
unsafe fn part<O: Operator<T>, T: Pod, const W: usize>(values: &[T], offsets: &[u64], results: *mut T) -> (T, u64) {
    let tid = thread::thread_idx_x();
    // SAFETY: all threads of the block reach this call.
    let (part, mut k) = unsafe {
        tile::clear_ends(tid);
        split(offsets, tile::start::<T, W>(values))
    };
    let len = u64::from(tile(size_of::<T>()));
    // The block's sum of the open segment: `carry`, up to the last tile in which a segment ends, is the same in all
    // threads; `private` is each thread's own part of the tiles since then.
    let (mut carry, mut private, mut streamed) = (O::identity(), O::identity(), false);
    let mut start = part.begin / W as u64 * W as u64;
    // SAFETY: the part lies within the values.
    let mut round = unsafe { tile::load::<O, T, W>(values, &part, start) };
    loop {
        let stop = start + len;
        let more = stop < part.end;
        let next = if more {
            // SAFETY: as above.
            unsafe { tile::load::<O, T, W>(values, &part, stop) }
        } else {
            [Chunk([O::identity(); W]); EACH]
        };
        // SAFETY: it is called only for segments that end in the part.
        let ends = |k: u64| k < part.last && unsafe { part.end_of(offsets, k) } <= stop;
        // For f64 that would take more than the 80 registers that three blocks on a multiprocessor leave, so this is
        // not done for 8-byte elements.
        if O::COMMUTATIVE && W == 4 && ends(k) && !ends(k + 1) {
            // SAFETY: as above.
            let end = unsafe { part.end_of(offsets, k) } - start;
            let (before, behind) = tile::cut::<O, T, W>(round, end as u32);
            // SAFETY: all threads reach this call, after a barrier since the last use of its shared memory.
            carry = O::combine(carry, unsafe { block_total::<O, T>(O::combine(private, before)) });
            if tid == 0 {
                // SAFETY: the segment ends in this block's part, and no other thread writes its result before all
                // blocks are done.
                unsafe { results.add(k as usize).write(carry) };
            }
            thread::sync_threads(); // every thread has read the warps' values before they are written again
            (k, carry, private, streamed) = (k + 1, O::identity(), behind, true);
        } else if !O::COMMUTATIVE || ends(k) {
            if streamed {
                // SAFETY: all threads of the block reach this call. Its barrier also keeps threads from overwriting
                // slots that others still read.
                carry = O::combine(carry, unsafe { block_total::<O, T>(private) });
                (private, streamed) = (O::identity(), false);
            } else {
                thread::sync_threads(); // every thread has read the last tile's totals before its slots are written
            }
            // SAFETY: all threads reach this call, after a barrier that separates them from the last use of the slots.
            k = unsafe { tile::totals::<O, T, W>(offsets, &part, start, k, round, &mut carry, results) };
        } else {
            private = O::combine(private, tile::tree::<O, T, W>(round));
            streamed = true;
        }
        if !more {
            break;
        }
        (start, round) = (stop, next);
    }
    if streamed {
        // SAFETY: all threads of the block reach this call.
        carry = O::combine(carry, unsafe { block_total::<O, T>(private) });
    }
    (carry, part.last)
}
