//! What rungs share: a warp's tree by shuffles, a block's by one shared value per warp, a grid's by its last block, and
//! the first rungs' load.

use super::{Op, WARP};
use crate::number::Number;
use core::mem::MaybeUninit;
use cuda_std::{
    address_space,
    atomic::{AtomicU32, Ordering},
    thread, warp,
};

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

/// 16 bytes.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
struct Slot([u64; 2]);

/// One slot per warp of a block of at most 1024 threads.
#[address_space(shared)]
static mut WARP_RESULTS: [MaybeUninit<Slot>; WARP as usize] = [MaybeUninit::uninit(); WARP as usize];

/// Reduces the values of a block; thread 0 holds the result. A second call needs a barrier after the first.
///
/// # Safety
/// All threads of the block call it together, and the block is a multiple of 32 threads.
#[inline(always)]
pub unsafe fn block_reduce<O: Op<T>, T: Number>(value: T) -> T {
    // SAFETY: the caller's promise; and `block_reduce_by` calls this with whole warps.
    unsafe { block_reduce_by(value, O::identity(), |value| warp_reduce::<O, T>(value)) }
}

/// The same for whatever `reduce_warp` makes one value of a warp's 32, which lane 0 gets; `identity` changes none.
/// Warps write what they have to a slot each, and behind a barrier the first one reduces those.
///
/// # Safety
/// All threads of the block call it together, and the block is a multiple of 32 threads. (Whole warps call
/// `reduce_warp`.)
#[inline(always)]
pub unsafe fn block_reduce_by<V: Copy>(value: V, identity: V, reduce_warp: impl Fn(V) -> V) -> V {
    const { assert!(size_of::<V>() <= size_of::<Slot>() && align_of::<V>() <= align_of::<Slot>()) };
    let results = (&raw mut WARP_RESULTS).cast::<V>();
    let tid = thread::thread_idx_x();
    let (lane, warp) = (tid % WARP, tid / WARP);

    let value = reduce_warp(value);
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

/// Reduces the values of all threads of the grid; one thread gets the result, all others `None`.
///
/// Every block writes one partial result and takes a ticket. The block that draws the last one knows that all others
/// are done, and reduces the partial results in the order of the blocks, so that it does not matter who was last.
/// (NVIDIA's `threadFenceReduction` sample.) The ticket wraps around to 0 by itself: it is ready for the next launch.
///
/// # Safety
/// All threads of the grid call it once, and blocks are a multiple of 32 threads; `partials` has one element per block
/// and is used by this launch only; `ticket` is 0.
#[inline(always)]
pub unsafe fn grid_reduce<O: Op<T>, T: Number>(value: T, partials: *mut T, ticket: *mut u32) -> Option<T> {
    let (tid, blocks) = (thread::thread_idx_x(), thread::grid_dim_x());
    // SAFETY: every thread of the block is here, and the block is whole warps.
    let value = unsafe { block_reduce::<O, T>(value) };
    let mut last = 0;
    if tid == 0 {
        // SAFETY: one partial result per block.
        unsafe { partials.add(thread::block_idx_x() as usize).write(value) };
        // SAFETY: the caller's promise.
        last = unsafe { draw_last(ticket) }.into();
    }
    // The barrier hands thread 0's view of the other blocks' results to the whole block, and separates the two uses of
    // the shared memory in `block_reduce`.
    if thread::sync_threads_or(last) == 0 {
        return None;
    }

    let mut value = O::identity();
    let mut i = tid;
    while i < blocks {
        // SAFETY: all blocks have written their results, and no one writes them any more.
        value = O::combine(value, unsafe { partials.add(i as usize).read() });
        i += thread::block_dim_x();
    }
    // SAFETY: the whole block is here: all its threads got the same answer from the barrier.
    let value = unsafe { block_reduce::<O, T>(value) };
    (tid == 0).then_some(value)
}

/// Draws the calling block's ticket; tells whether it is the grid's last.
///
/// It releases what the thread wrote, and what other threads of its block wrote before a barrier that it passed; the
/// last block acquires what all others released.
///
/// # Safety
/// One thread of each block calls it; `ticket` was 0 before the launch, which alone uses it.
#[inline(always)]
pub unsafe fn draw_last(ticket: *mut u32) -> bool {
    let last = thread::grid_dim_x() - 1;
    // SAFETY: during the launch every access to the ticket is one of these.
    unsafe { AtomicU32::from_ptr(ticket) }.fetch_inc(last, Ordering::AcqRel) == last
}

/// Element `i`, or the identity behind the end.
#[inline(always)]
pub fn element_or_identity<O: Op<T>, T: Number>(input: &[T], i: usize) -> T {
    if i < input.len() { input[i] } else { O::identity() }
}
