//! One pass with decoupled look-back: every element is read once and written once.
//!
//! Each block publishes the total of its tile as soon as it is computed, then looks back: it adds up the totals of the
//! tiles before it until it reaches one with a published prefix (the sum of everything up to that tile), and publishes
//! its own prefix. No block waits for a whole chain of blocks, only for totals, which all blocks compute at the same
//! time. (Merrill and Garland, "Single-pass Parallel Prefix Scan with Decoupled Look-back", 2016.)
//!
//! A block must wait only for blocks that have started, so tiles are assigned by a ticket, in the order in which blocks
//! start. A warp looks at 32 predecessors at once. The number of totals that a block adds before it reaches a prefix
//! depends on timing, and with it the rounding of float sums: they may differ in the last bits between runs. All other
//! results are exact.
//!
//! Every tile costs a ticket, a look-back and two records, and tiles are as small here as those of the rungs before:
//! 2^26 elements are 65536 of them. On a large input this rung therefore moves the least data and is still slower
//! (H200, f32: 455 us; `reduce_then_scan` 253 us). [`best`](super::best) avoids these costs with larger tiles and
//! look-back in two steps.

use super::collective::{block_scan, load_items, store_items};
pub use super::three_phase::{BLOCK, ITEMS, section};
use crate::number::Number;
use crate::operator::record::{Records, words};
use crate::reduce::{Max, Min, Op, Sum, WARP};
use core::mem::MaybeUninit;
use cuda_std::{
    address_space,
    atomic::{AtomicU64, Ordering},
    kernel, thread, warp,
};

/// The idea in one line.
pub const IDEA: &str = "one pass, 2 n elements moved: each block looks back at what the blocks before it published";

/// Words of 8 bytes that the launch needs for this many tiles of elements of this size: the ticket, and a record per
/// tile.
pub const fn state_words(tiles: u64, bytes: usize) -> u64 {
    1 + tiles * words(bytes) as u64
}

/// Tag of a tile's own total.
const TOTAL: u32 = 1;
/// Tag of a prefix: the total of a tile and all tiles before it.
const PREFIX: u32 = 2;

/// The values that one thread passes to its block: the ticket, then the prefix.
#[address_space(shared)]
static mut TICKET: MaybeUninit<u64> = MaybeUninit::uninit();
#[address_space(shared)]
static mut BEFORE: MaybeUninit<u64> = MaybeUninit::uninit();

/// Scans the input. `exclusive` is 0 or 1. The rounding of float sums may differ between runs; all other results are
/// the same in every run.
///
/// # Safety
/// One block per tile, a multiple of 32 threads; `state` has [`state_words()`], all 0; `output` has as many elements as
/// `input` and does not overlap it.
#[kernel(for O in [Sum, Max, Min], for T in [f32, f64, i32, u32, i64, u64])]
pub unsafe fn scan_look_back<O: Op<T>, T: Number>(input: &[T], exclusive: u32, state: *mut u64, output: *mut T) {
    let (ticket, before_tile) = ((&raw mut TICKET).cast::<u64>(), (&raw mut BEFORE).cast::<T>());
    let tid = thread::thread_idx_x();
    if tid == 0 {
        // SAFETY: all accesses to word 0 are such atomics; one thread writes the shared slot.
        unsafe { ticket.write(AtomicU64::from_ptr(state).fetch_add(1, Ordering::Relaxed)) };
    }
    thread::sync_threads(); // separates thread 0's write of the ticket from the block's reads
    // SAFETY: the slot was written before the barrier.
    let tile = unsafe { ticket.read() } as usize;

    let first = tile * section(thread::block_dim_x()) as usize + tid as usize * ITEMS;
    let (items, total) = load_items::<O, T, ITEMS>(input, first);
    // SAFETY: the whole block reaches this call, in whole warps.
    let (before, total) = unsafe { block_scan::<O, T>(total) };

    if tid < WARP {
        // SAFETY: the whole of warp 0 reaches this call; after the ticket there is a record per tile.
        let prefix = unsafe { look_back::<O, T>(&Records::new(state.add(1)), tile, total) };
        if tid == 0 {
            // SAFETY: one thread writes the shared slot.
            unsafe { before_tile.write(prefix) };
        }
    }
    thread::sync_threads(); // separates thread 0's write of the prefix from the block's reads

    // SAFETY: the slot was written before the barrier; `output` is as long as `input`, and these elements are this
    // thread's.
    unsafe {
        let before = O::combine(before_tile.read(), before);
        store_items::<O, T, ITEMS>(items, before, exclusive, output, first, input.len());
    }
}

/// Publishes the tile's total, computes the sum of all tiles before it, and publishes the sum of both. Returns the sum
/// before the tile.
///
/// # Safety
/// All 32 lanes of a warp call it together, one warp for each tile. There is a record for each tile, and every tile
/// before this one belongs to a block that runs.
#[inline(always)]
unsafe fn look_back<O: Op<T>, T: Number>(records: &Records<T>, tile: usize, total: T) -> T {
    let lane = warp::lane_id();
    if lane == 0 {
        let tag = if tile == 0 { PREFIX } else { TOTAL };
        // SAFETY: the record of this tile, which only this thread writes.
        unsafe { records.publish(tile, total, tag) };
    }
    let mut before = O::identity();
    // Tiles that are not yet accounted for.
    let mut left = tile;
    while left > 0 {
        // SAFETY: all lanes reach this call.
        let (value, last) = unsafe { window::<O, T>(records, left) };
        before = O::combine(value, before);
        left = if last { 0 } else { left.saturating_sub(WARP as usize) };
    }
    if lane == 0 && tile > 0 {
        // SAFETY: only this thread writes the record of this tile, and the tag differs from that of the total.
        unsafe { records.publish(tile, O::combine(before, total), PREFIX) };
    }
    before
}

/// The sum over the tiles `left - 1`, `left - 2`, … up to the first with a prefix, at most 32, and whether
/// there was one.
///
/// # Safety
/// The requirements are those of [`look_back`]; `left` is not 0.
#[inline(always)]
unsafe fn window<O: Op<T>, T: Number>(records: &Records<T>, left: usize) -> (T, bool) {
    let lane = warp::lane_id();
    let (mut value, mut tag) = (O::identity(), TOTAL);
    // SAFETY: all lanes reach this call, and stay together: they leave the loops by a vote.
    unsafe {
        loop {
            if (lane as usize) < left {
                (value, tag) = records.read(left - 1 - lane as usize);
            }
            if warp::all(warp::ALL, tag != 0) {
                break;
            }
        }
        let prefixes = warp::ballot(warp::ALL, tag == PREFIX);
        // Tiles further away than the nearest prefix are part of that prefix.
        if lane > prefixes.trailing_zeros() {
            value = O::identity();
        }
        let mut delta = WARP / 2;
        while delta > 0 {
            value = O::combine(warp::shuffle_xor(warp::ALL, value, delta), value);
            delta /= 2;
        }
        (value, prefixes != 0)
    }
}
