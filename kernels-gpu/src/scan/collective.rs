//! Parts shared by the rungs without a tree in shared memory: a warp's scan by shuffles, a block's scan with one shared
//! value per warp, and the scan of several neighbouring elements per thread.

use super::element_or_identity;
use crate::operator::{Operator, Pod, shuffle};
use crate::reduce::WARP;
use core::mem::MaybeUninit;
use cuda_std::{address_space, thread, warp};

/// Inclusive scan over the lanes of a full warp, by Kogge and Stone's steps.
///
/// # Safety
/// All 32 lanes of the warp call it together.
#[inline(always)]
pub unsafe fn warp_scan<O: Operator<T>, T: Pod>(value: T) -> T {
    // SAFETY: the caller upholds this function's contract.
    unsafe { warp_scans::<O, T, 1>([value])[0] }
}

/// Performs `N` independent scans at once.
///
/// # Safety
/// The requirements are those of [`warp_scan`].
#[inline(always)]
pub unsafe fn warp_scans<O: Operator<T>, T: Pod, const N: usize>(mut values: [T; N]) -> [T; N] {
    let lane = warp::lane_id();
    let mut delta = 1;
    while delta < WARP {
        let mut k = 0;
        while k < N {
            // SAFETY: by contract all lanes reach this call.
            let other = unsafe { shuffle::up(values[k], delta) };
            if lane >= delta {
                values[k] = O::combine(other, values[k]);
            }
            k += 1;
        }
        delta *= 2;
    }
    values
}

/// Returns the value of the previous lane, or the identity in lane 0, which turns an inclusive scan into an exclusive
/// one.
///
/// # Safety
/// The requirements are those of [`warp_scan`].
#[inline(always)]
pub unsafe fn lane_before<O: Operator<T>, T: Pod>(value: T) -> T {
    // SAFETY: the caller upholds this function's contract.
    let before = unsafe { shuffle::up(value, 1) };
    if warp::lane_id() == 0 { O::identity() } else { before }
}

/// One slot per warp of a block of at most 1024 threads, wide enough for any `Number`.
#[address_space(shared)]
static mut WARP_TOTALS: [MaybeUninit<u64>; WARP as usize] = [MaybeUninit::uninit(); WARP as usize];

/// Returns, in every thread, its element of the exclusive scan over the threads of a block, and the total. A kernel may
/// call it once only, because its shared memory is not protected by a second barrier.
///
/// # Safety
/// All threads of the block call it together, and the block is a multiple of 32 threads.
#[inline(always)]
pub unsafe fn block_scan<O: Operator<T>, T: Pod>(value: T) -> (T, T) {
    const { assert!(size_of::<T>() <= size_of::<u64>()) };
    let slots = (&raw mut WARP_TOTALS).cast::<u64>();
    let tid = thread::thread_idx_x();
    let (lane, warp, warps) = (tid % WARP, tid / WARP, thread::block_dim_x() / WARP);

    // SAFETY: by contract all threads of whole warps reach this call.
    let inclusive = unsafe { warp_scan::<O, T>(value) };
    // SAFETY: as above, all threads of whole warps reach this call.
    let before = unsafe { lane_before::<O, T>(inclusive) };
    if lane == WARP - 1 {
        // SAFETY: a block has at most 32 warps, and each writes its own slot.
        unsafe { slots.add(warp as usize).cast::<T>().write(inclusive) };
    }
    thread::sync_threads(); // separates the writes of the warps' totals from their reads

    // Every warp scans all totals, which saves the barrier that distributing the results would need.
    // SAFETY: the slots of the block's warps were written before the barrier.
    let total = if lane < warps { unsafe { slots.add(lane as usize).cast::<T>().read() } } else { O::identity() };
    // SAFETY: all lanes of each warp reach this call; lane `k` holds the scan of the totals up to warp `k`.
    unsafe {
        let totals = warp_scan::<O, T>(total);
        let warps_before = shuffle::idx(lane_before::<O, T>(totals), warp);
        (O::combine(warps_before, before), shuffle::idx(totals, warps - 1))
    }
}

/// Elements `first..first + N`, with the identity past the end of the input; and their total.
#[inline(always)]
pub fn load_items<O: Operator<T>, T: Pod, const N: usize>(input: &[T], first: usize) -> ([T; N], T) {
    let items: [T; N] = core::array::from_fn(|k| element_or_identity::<O, T>(input, first + k));
    let mut total = items[0];
    let mut k = 1;
    while k < N {
        total = O::combine(total, items[k]);
        k += 1;
    }
    (items, total)
}

/// Writes the scan of the items, which `before` precedes, to elements `first..first + N`, as far as there are `len` of
/// them.
///
/// # Safety
/// `output` has `len` elements; no other thread accesses these.
#[inline(always)]
pub unsafe fn store_items<O: Operator<T>, T: Pod, const N: usize>(
    items: [T; N],
    mut before: T,
    exclusive: u32,
    output: *mut T,
    first: usize,
    len: usize,
) {
    let mut k = 0;
    while k < N {
        let after = O::combine(before, items[k]);
        if first + k < len {
            // SAFETY: the index is below `len`, and the caller upholds the rest of the contract.
            unsafe { output.add(first + k).write(if exclusive != 0 { before } else { after }) };
        }
        before = after;
        k += 1;
    }
}
