//! Lanes with the same counter are grouped by `match.any`, combine their values by shuffles, and the lowest of them
//! issues one atomic for the group. No two lanes of a warp then access the same address.
//!
//! The lanes of a group can be any of the 32, so the tree runs over their ranks: in every round each lane combines its
//! value with that of the next remaining lane, and the lanes of odd rank then drop out.

use super::{Add, Cas, Dec, Exch, Inc, Max, Min, Op, Sub};
use crate::number::Number;
use cuda_std::{
    atomic::{Atomic, Device},
    kernel, thread, warp,
};

/// The idea in one line.
pub const IDEA: &str = "lanes with the same counter combine values by shuffles, and one lane issues the atomic";

/// Applies element `i` to counter `i % addresses`. The value that an exchange returns is written after the counters, to
/// `addresses + i`.
///
/// # Safety
/// The requirements are those of [`atomics_global`](super::global::atomics_global()), in blocks of whole warps.
#[kernel(for O in [Add, Sub, Min, Max, Exch, Cas], for T in [i32, u32, i64, u64, f32, f64])]
pub unsafe fn atomics_warp_aggregated<O: Op<T>, T: Number>(input: &[T], addresses: u32, counters: *mut T) {
    // SAFETY: the caller upholds this function's contract.
    unsafe { apply_all::<O, T>(input, addresses, counters) };
}

/// Counts around the ring, which PTX supports for `u32` only.
///
/// # Safety
/// The requirements are those of [`atomics_warp_aggregated`](atomics_warp_aggregated()).
#[kernel(for O in [Inc, Dec])]
pub unsafe fn atomics_warp_aggregated_ring<O: Op<u32>>(input: &[u32], addresses: u32, counters: *mut u32) {
    // SAFETY: the caller upholds this function's contract.
    unsafe { apply_all::<O, u32>(input, addresses, counters) };
}

#[inline(always)]
unsafe fn apply_all<O: Op<T>, T: Number>(input: &[T], addresses: u32, counters: *mut T) {
    let addresses = addresses.max(1) as usize;
    let lane = warp::lane_id();
    let mut i = thread::global_index();
    // The whole warp continues as long as its first lane has an element.
    while i - (lane as usize) < input.len() {
        // SAFETY: all 32 lanes reach this call: whole warps, and the loop's condition is the same in all lanes.
        let here = unsafe { warp::ballot(warp::ALL, i < input.len()) };
        if i < input.len() {
            let c = i % addresses;
            // SAFETY: the lanes of `here` are those that have an element, and all of them take this branch.
            unsafe { act::<O, T>(here, lane, input[i], c, counters, addresses + i) };
        }
        i += thread::grid_stride();
    }
}

/// Performs one round: the operations of the lanes of `here`.
///
/// # Safety
/// All lanes of `here` reach this call, each with the index of a counter, and with a `place` of its own if `O` returns
/// a value.
#[inline(always)]
unsafe fn act<O: Op<T>, T: Number>(here: u32, lane: u32, value: T, c: usize, counters: *mut T, place: usize) {
    // SAFETY: the caller upholds this function's contract, for all of these.
    unsafe {
        let group = warp::warp_match_any(here, c as u32);
        let part = join_group::<O, T>(here, group, lane, O::part(value));
        let leads = group.trailing_zeros() == lane;
        let mut old = O::start();
        if leads {
            old = O::apply_part::<Device>(Atomic::from_ptr(counters.add(c)), part);
        }
        if O::RETURNS {
            // The other lanes get the value of the next lower lane of the group.
            let below = group & ((1 << lane) - 1);
            let from = if below == 0 { lane } else { 31 - below.leading_zeros() };
            let handed = warp::shuffle_idx(here, value, from);
            counters.add(place).write(if leads { old } else { handed });
        }
    }
}

/// Combines the parts of a group, lower lanes first; the lowest lane returns the result.
///
/// # Safety
/// All lanes of `here` reach this call; `group` is the set of lanes of `here` that combine their parts, including this
/// lane.
#[inline(always)]
unsafe fn join_group<O: Op<T>, T: Number>(here: u32, group: u32, lane: u32, mut part: T) -> T {
    let mut above = group & (u32::MAX << 1 << lane);
    let mut rank = (group & ((1 << lane) - 1)).count_ones();
    // SAFETY: the caller upholds this function's contract; the loop's condition is the same in all lanes.
    unsafe {
        while warp::any(here, above != 0) {
            let next = if above == 0 { lane } else { above.trailing_zeros() };
            let other = warp::shuffle_idx(here, part, next);
            if above != 0 {
                part = O::join(part, other);
            }
            // Lanes of odd rank have been combined into the next lower lane.
            above &= !warp::ballot(here, rank % 2 == 1);
            rank /= 2;
        }
    }
    part
}
