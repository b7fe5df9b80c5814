//! Building blocks of several rungs: a warp's tree by shuffles, a block's reduction with one shared value per warp, the
//! ticket by which a block finds out that it is the last, and the load of the first rungs.

use super::WARP;
use crate::operator::{Operator, Pod, shuffle, slots};
use cuda_std::{
    atomic::{AtomicU32, Ordering},
    thread,
};

/// Reduces the values of a full warp, in the order of the lanes if the operator does not commute; lane 0 holds the
/// result, other lanes hold partial ones.
///
/// # Safety
/// All 32 lanes of the warp call it together.
#[inline(always)]
pub unsafe fn warp_reduce<O: Operator<T>, T: Pod>(mut value: T) -> T {
    // From far to near, unless the operator needs the order of the lanes: then neighbours first.
    let mut delta = if O::COMMUTATIVE { WARP / 2 } else { 1 };
    while delta > 0 && delta < WARP {
        // SAFETY: by contract all lanes reach this call.
        let other = unsafe { shuffle::down(value, delta) };
        value = O::combine(value, other);
        delta = if O::COMMUTATIVE { delta / 2 } else { delta * 2 };
    }
    value
}

/// The total of a warp's values, by the same tree in each lane; in the order of the lanes, if the operator does not
/// commute.
///
/// # Safety
/// All lanes of the warp call it together.
#[inline(always)]
pub unsafe fn warp_total<O: Operator<T>, T: Pod>(mut value: T) -> T {
    if O::COMMUTATIVE {
        let mut delta = WARP / 2;
        while delta > 0 {
            // SAFETY: the caller upholds this function's contract.
            value = O::combine(value, unsafe { shuffle::xor(value, delta) });
            delta /= 2;
        }
    } else {
        let mut delta = 1;
        while delta < WARP {
            // SAFETY: the caller upholds this function's contract.
            value = unsafe { shuffle::combine_across::<O, T>(value, delta) };
            delta *= 2;
        }
    }
    value
}

/// Reduces the values of a block; thread 0 holds the result. A second call needs a barrier after the first.
///
/// # Safety
/// All threads of the block call it together, and the block is a multiple of 32 threads.
#[inline(always)]
pub unsafe fn block_reduce<O: Operator<T>, T: Pod>(value: T) -> T {
    // SAFETY: the caller upholds this function's contract; and `block_reduce_by` calls this with whole warps.
    unsafe {
        let reduce_warp = |value| warp_reduce::<O, T>(value);
        block_reduce_by(value, reduce_warp, O::identity(), reduce_warp)
    }
}

/// Reduces the values that lane 0 of each warp gets by `of_warp`, with `reduce_warp`, which reduces a warp's 32 values
/// to one in lane 0; `identity` does not change a value. Each warp writes its value to a slot, and after a barrier the
/// first warp reduces the slots.
///
/// # Safety
/// All threads of the block call it together, and the block is a multiple of 32 threads. (Whole warps call `of_warp`
/// and `reduce_warp`.)
#[inline(always)]
pub unsafe fn block_reduce_by<S, V: Copy>(
    share: S,
    of_warp: impl FnOnce(S) -> V,
    identity: V,
    reduce_warp: impl Fn(V) -> V,
) -> V {
    let results = slots::of_warps::<V>();
    let tid = thread::thread_idx_x();
    let (lane, warp) = (tid % WARP, tid / WARP);

    let value = of_warp(share);
    if lane == 0 {
        // SAFETY: a block has at most 32 warps, and each writes its own slot.
        unsafe { results.add(warp as usize).write(value) };
    }
    thread::sync_threads(); // every warp's result is in its slot
    if warp > 0 {
        return value;
    }
    let value = if lane < thread::block_dim_x() / WARP {
        // SAFETY: the slots of the block's warps were written before the barrier.
        unsafe { results.add(lane as usize).read() }
    } else {
        identity
    };
    reduce_warp(value)
}

/// Draws the block's ticket, and returns whether it is the grid's last. The ticket wraps to 0.
///
/// # Safety
/// That of [`is_last_of`], for all blocks of the grid.
#[inline(always)]
pub unsafe fn is_last_block(ticket: *mut u32) -> bool {
    // SAFETY: the caller upholds this function's contract.
    unsafe { is_last_of(ticket, thread::grid_dim_x()) }
}

/// Draws the block's ticket, and returns whether it is the last of `blocks` blocks. The ticket wraps to 0. A block
/// alone only waits for its threads.
///
/// Thread 0 draws. That releases its writes, and those of other threads of its block before a barrier that it has
/// passed; the last block acquires the writes that all others released, and a barrier makes them visible to all its
/// threads.
///
/// # Safety
/// All threads of `blocks` blocks call it once; `ticket` was 0 before the launch, of which these blocks alone use it.
#[inline(always)]
unsafe fn is_last_of(ticket: *mut u32, blocks: u32) -> bool {
    let mut is_last = blocks == 1;
    if !is_last && thread::thread_idx_x() == 0 {
        let last = blocks - 1;
        // SAFETY: during the launch every access to the ticket is one of these atomics.
        is_last = unsafe { AtomicU32::from_ptr(ticket) }.fetch_inc(last, Ordering::AcqRel) == last;
    }
    thread::sync_threads_or(is_last.into()) != 0
}

/// Element `i`, or the identity past the end.
#[inline(always)]
pub fn element_or_identity<O: Operator<T>, T: Copy>(input: &[T], i: usize) -> T {
    if i < input.len() { input[i] } else { O::identity() }
}

/// Element `i`, converted by `map`, or `other` past the end.
#[inline(always)]
pub fn element_or<I: Copy, T>(input: &[I], i: usize, map: impl Fn(I) -> T, other: T) -> T {
    if i < input.len() { map(input[i]) } else { other }
}

/// The blocks that share sums: the last of them to finish adds their parts.
#[derive(Clone, Copy, Debug)]
pub struct Sharing {
    /// Number of these blocks.
    pub pieces: u32,
    /// This block's number among them.
    pub piece: u32,
    /// The number of their sums among all that are shared.
    pub group: u32,
}

impl Sharing {
    /// The work of block `block`, where neighbours share sums.
    #[inline(always)]
    pub fn of(block: u32, pieces: u32) -> Self {
        // It is not 0; without `max` the compiler would keep a panic for a division by 0.
        let pieces = pieces.max(1);
        Self { pieces, piece: block % pieces, group: block / pieces }
    }

    /// Whether the block is the last to have stored its part, so that it sees those of all others.
    ///
    /// # Safety
    /// All threads of the block call it once, after they have stored; `tickets` has an entry for each group, which were
    /// 0 before the launch, which alone uses them.
    #[inline(always)]
    pub unsafe fn is_last(self, tickets: *mut u32) -> bool {
        // SAFETY: the caller upholds the contract.
        unsafe { is_last_of(tickets.add(self.group as usize), self.pieces) }
    }
}
