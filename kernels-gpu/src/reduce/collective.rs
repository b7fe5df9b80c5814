//! What the faster rungs share: a warp's tree by shuffles, a block's by one shared value per warp, and the first rungs' load.

use super::{Op, WARP};
use crate::number::Number;
use core::mem::MaybeUninit;
use cuda_std::{address_space, thread, warp};

/// Reduces the values of a full warp; lane 0 holds the result, other lanes hold partial ones.
///
/// # Safety
/// All 32 lanes of the warp call it together.
#[inline(always)]
pub unsafe fn warp_reduce<O: Op<T>, T: Number>(mut value: T) -> T {
    let mut delta = WARP / 2;
    while delta > 0 {
        // SAFETY: the caller promises that all lanes named by the mask are here.
        let other = unsafe { warp::shuffle_down(warp::ALL, value, delta) };
        value = O::combine(value, other);
        delta /= 2;
    }
    value
}

/// One slot per warp of a block of at most 1024 threads, wide enough for any `Number`.
#[address_space(shared)]
static mut WARP_RESULTS: [MaybeUninit<u64>; WARP as usize] = [MaybeUninit::uninit(); WARP as usize];

/// Reduces the values of a block; thread 0 holds the result. A second call needs a barrier after the first.
///
/// # Safety
/// All threads of the block call it together, and the block is a multiple of 32 threads.
#[inline(always)]
pub unsafe fn block_reduce<O: Op<T>, T: Number>(value: T) -> T {
    const { assert!(size_of::<T>() <= size_of::<u64>()) };
    let results = (&raw mut WARP_RESULTS).cast::<u64>();
    let tid = thread::thread_idx_x();
    let (lane, warp) = (tid % WARP, tid / WARP);

    // SAFETY: whole warps, as the caller promises.
    let value = unsafe { warp_reduce::<O, T>(value) };
    if lane == 0 {
        // SAFETY: a block has at most 32 warps, and each writes its own slot.
        unsafe { results.add(warp as usize).cast::<T>().write(value) };
    }
    thread::sync_threads(); // every warp's result is in its slot
    if warp > 0 {
        return value;
    }
    let value = if lane < thread::block_dim_x() / WARP {
        // SAFETY: the slots of the block's warps were written before the barrier.
        unsafe { results.add(lane as usize).cast::<T>().read() }
    } else {
        O::identity()
    };
    // SAFETY: all of warp 0 is here.
    unsafe { warp_reduce::<O, T>(value) }
}

/// Element `i`, or the identity behind the end.
#[inline(always)]
pub fn element_or_identity<O: Op<T>, T: Number>(input: &[T], i: usize) -> T {
    if i < input.len() { input[i] } else { O::identity() }
}
