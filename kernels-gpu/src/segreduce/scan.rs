//! Collectives of a block for [`best`](super::best): a segmented scan over its threads, and a total for all of them.

use super::best::BLOCK;
use crate::{
    operator::{Operator, Pod, shuffle, slots},
    reduce::{WARP, collective::warp_total},
};
use core::mem::MaybeUninit;
use cuda_std::{address_space, thread, warp};

const WARPS: u32 = BLOCK / WARP;

/// Whether a segment ends in the warp.
#[address_space(shared)]
static mut ENDED: [MaybeUninit<u32>; WARPS as usize] = [MaybeUninit::uninit(); WARPS as usize];

/// Returns, for each thread, the sum that threads before it have of the segment that is open where it begins. `ended`:
/// a segment ends in the thread; `tail`: what it has of the segment that is open at its end. `carry` is what is open
/// before the block, and then after it: the same in all threads.
///
/// # Safety
/// All of `BLOCK` threads call it, after a barrier since the last call.
#[inline(always)]
pub unsafe fn block_scan<O: Operator<T>, T: Pod>(ended: bool, tail: T, carry: &mut T) -> T {
    // For each warp the sum of the segment that is open at its end.
    let (tails, any_ended) = (slots::of_warps::<T>(), (&raw mut ENDED).cast::<u32>());
    let tid = thread::thread_idx_x();
    let (lane, warp) = (tid % WARP, tid / WARP);

    // Within the warp: each lane adds up tails down to the nearest lane that a segment ends in (Kogge and Stone's scan,
    // stopped there). SAFETY: the whole warp reaches this call.
    let enders = unsafe { warp::ballot(warp::ALL, ended) };
    let up_to_here = enders & (u32::MAX >> (WARP - 1 - lane));
    let nearest = if up_to_here != 0 { WARP - 1 - up_to_here.leading_zeros() } else { 0 };
    let mut sum = tail;
    let mut distance = 1;
    while distance < WARP {
        // SAFETY: the whole warp reaches this call.
        let other = unsafe { shuffle::up(sum, distance) };
        if lane >= nearest + distance {
            sum = O::combine(other, sum);
        }
        distance *= 2;
    }
    // SAFETY: the whole warp reaches this call.
    let before = unsafe { shuffle::up(sum, 1) };
    if lane == WARP - 1 {
        // SAFETY: each warp has a slot.
        unsafe {
            tails.add(warp as usize).write(sum);
            any_ended.add(warp as usize).write(u32::from(enders != 0));
        }
    }
    thread::sync_threads(); // every warp's tail is in its slot

    // The warps are few, so their sums are combined one by one.
    let (mut at_warp, mut at) = (*carry, *carry);
    let mut w = 0;
    while w < WARPS {
        if w == warp {
            at_warp = at;
        }
        // SAFETY: the slot was written before the barrier.
        let (tail, ended) = unsafe { (tails.add(w as usize).read(), any_ended.add(w as usize).read()) };
        at = if ended != 0 { tail } else { O::combine(at, tail) };
        w += 1;
    }
    *carry = at;
    match lane {
        0 => at_warp,
        _ if enders & ((1 << lane) - 1) != 0 => before,
        _ => O::combine(at_warp, before),
    }
}

/// Combines the values of all threads, and returns the result in all of them.
///
/// # Safety
/// All of `BLOCK` threads call it, after a barrier since the last call of this or of [`block_scan`], and with one
/// before the next.
#[inline(always)]
pub unsafe fn block_total<O: Operator<T>, T: Pod>(value: T) -> T {
    let tails = slots::of_warps::<T>();
    let tid = thread::thread_idx_x();
    // SAFETY: the whole warp reaches this call.
    let value = unsafe { warp_total::<O, T>(value) };
    if tid.is_multiple_of(WARP) {
        // SAFETY: each warp has a slot.
        unsafe { tails.add((tid / WARP) as usize).write(value) };
    }
    thread::sync_threads(); // every warp's value is in its slot
    let mut total = O::identity();
    let mut w = 0;
    while w < WARPS {
        // SAFETY: the slot was written before the barrier.
        total = O::combine(total, unsafe { tails.add(w as usize).read() });
        w += 1;
    }
    total
}
