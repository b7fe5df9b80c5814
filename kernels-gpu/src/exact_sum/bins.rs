//! Sums of `f32` by exponent: 32 accumulators per lane, each an `f64` that never rounds.
//!
//! Accumulator `b` takes the exponents `8 * b` to `8 * b + 7`. Their numbers are multiples of 2^(8 * b) units and below
//! 2^(8 * b + 31), in the unit of `digits`, and an `f64` represents multiples of a unit up to 2^53 times as large.
//! Infinities and NaN have the highest exponent, and make the last accumulator an infinity or NaN.

use super::digits::{add_lanes, is_last, report, scale, special_bit};
use super::finish::{Finish, finish_total};
use crate::operator::chunk::Chunk;
use crate::reduce::WARP;
use crate::unroll::unroll;
use cuda_std::{
    memory::{U32x4, Vector},
    shared::dynamic_shared_mem,
    thread, warp,
};

/// Accumulators per lane.
const BINS: u32 = 32;

/// Bytes of dynamic shared memory per warp.
pub const WARP_BYTES: u32 = BINS * WARP * size_of::<f64>() as u32;

/// Most numbers that an accumulator takes: 2^31 times as many are 2^53.
pub const MOST: u64 = 1 << 22;

/// 16-byte loads in flight per thread. (H200, 2^28 elements: 4210 GB/s with 8, 4140 GB/s with 4; 4010 GB/s if a round
/// is loaded before the additions of the one before.)
// tune: 4 8
const UNROLL: usize = 8;

/// Elements of 16 bytes.
const W: usize = 4;

/// The finished sum, in one thread of the grid.
///
/// # Safety
/// The requirements are those of [`exact_sum_best()`](super::best::exact_sum_best()).
#[inline(always)]
pub unsafe fn exact_sum<F: Finish<f32>>(
    input: &[f32],
    total: *mut i64,
    words: *mut u32,
    finish: F,
) -> Option<F::Result> {
    let (tid, lane) = (thread::thread_idx_x(), warp::lane_id());
    let warp = tid / WARP;
    let block = dynamic_shared_mem::<f64>();
    // SAFETY: the block has the shared memory of all its warps.
    let bins = unsafe { block.add((warp * BINS * WARP) as usize) };
    let mut i = lane;
    while i < BINS * WARP / 2 {
        // SAFETY: the vector consists of accumulators of this warp, and no other lane has it.
        unsafe { U32x4::store(Vector([0; 4]), bins.cast::<U32x4>().add(i as usize)) };
        i += WARP;
    }
    // Separates the initialisation of other lanes' accumulators from their use.
    // SAFETY: all lanes reach this call.
    unsafe { warp::sync_warp(warp::ALL) };
    // SAFETY: the accumulators of this lane are in the warp's.
    let mine = unsafe { bins.add(lane as usize) };
    // SAFETY: only this lane accesses its accumulators until the next barrier.
    for_each(input, |x| unsafe { add(mine, x) });
    thread::sync_threads(); // separates the additions to the accumulators from their sums

    let warps = thread::block_dim_x() / WARP;
    let mut bin = warp;
    while bin < BINS {
        // SAFETY: the accumulators of the block no longer change; the whole warp has the same bin.
        unsafe { add_bin(block, bin, warps, total, words) };
        bin += warps;
    }
    // SAFETY: all threads of the grid come here; the caller upholds the rest of the contract.
    unsafe { if is_last(words) { finish_total([0.0; 2], total, words, finish) } else { None } }
}

/// Adds an element to the accumulator of its exponent.
///
/// # Safety
/// `bins` is the first of the lane's accumulators.
#[inline(always)]
unsafe fn add(bins: *mut f64, x: f32) {
    const ROW: u32 = WARP * size_of::<f64>() as u32;
    const { assert!(ROW == 1 << 8) };
    // The highest five bits of the exponent, times the size of a row.
    let offset = x.to_bits() >> (26 - 8) & ((BINS - 1) * ROW);
    // SAFETY: the offset is that of one of the lane's accumulators.
    unsafe {
        let bin = bins.byte_add(offset as usize);
        bin.write(bin.read() + f64::from(x));
    }
}

/// Adds accumulator `bin` of all lanes of the block to the total.
///
/// # Safety
/// All lanes of a warp call it; the accumulators do not change meanwhile.
#[inline(always)]
unsafe fn add_bin(block: *const f64, bin: u32, warps: u32, total: *mut i64, words: *mut u32) {
    let (mut sum, mut special) = (0_i64, 0);
    let position = 8 * bin;
    let mut w = 0;
    while w < warps {
        // SAFETY: the index is that of an accumulator.
        let value = unsafe { block.add(((w * BINS + bin) * WARP + warp::lane_id()) as usize).read() };
        if value.is_finite() {
            // At most 2^53 for each of at most 1024 threads.
            sum += scale(value, 150 - position as i32) as i64;
        } else {
            special |= special_bit(value);
        }
        w += 1;
    }
    // SAFETY: `words` is that of the launch.
    unsafe { report(words, special) };
    // SAFETY: all lanes call it; the total has the words, since 8 * 31 bits are 7 digits and a shift.
    unsafe { add_lanes(total, position, sum) };
}

/// Visits the thread's share of the elements.
#[inline(always)]
fn for_each(input: &[f32], visit: impl Fn(f32)) {
    // SAFETY: a chunk is an array of f32, and any bits are one.
    let (head, chunks, tail) = unsafe { input.align_to::<Chunk<f32, W>>() };
    let (me, threads) = (thread::global_index(), thread::grid_stride());
    let is_full = |i: usize| i + (UNROLL - 1) * threads < chunks.len();
    // SAFETY: called for full rounds only, whose indices are all below the length.
    let load = |i: usize| core::array::from_fn(|k| unsafe { Chunk::load(chunks.as_ptr().add(i + k * threads)) });
    let mut i = me;
    if is_full(i) {
        // The loads of a round stand at the end of the round before, where all of them are issued together. At its
        // beginning ptxas moves each of them down to its additions, and few are in flight.
        let mut round: [_; UNROLL] = load(i);
        i += UNROLL * threads;
        while is_full(i) {
            each(round, &visit);
            round = load(i);
            i += UNROLL * threads;
        }
        each(round, &visit);
    }
    while i < chunks.len() {
        // SAFETY: the index is below the length.
        each([unsafe { Chunk::load(chunks.as_ptr().add(i)) }], &visit);
        i += threads;
    }
    // At most three on either side, and at least 32 threads.
    if me < head.len() {
        visit(head[me]);
    }
    if me < tail.len() {
        visit(tail[me]);
    }
}

#[inline(always)]
fn each<const N: usize>(round: [Chunk<f32, W>; N], visit: &impl Fn(f32)) {
    unroll!(k < const { N * W } => { visit(round[k / W].0[k % W]) });
}
