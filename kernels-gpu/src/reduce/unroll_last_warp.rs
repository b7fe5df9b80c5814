//! Unroll the last warp: once 64 values are left, one warp finishes them, and a warp needs no block barrier.
//!
//! The classic form leaves the barriers out and relies on lock-step execution of a warp (`volatile` shared memory).
//! Since Volta lanes may diverge, so that form is a race. The correct form reads the two remaining values per lane and
//! then shuffles; `shfl.sync` names the lanes that it waits for.

use super::{
    Max, Min, Op, Sum, WARP,
    collective::{element_or_identity, warp_reduce},
    sequential::tree,
};
use crate::number::Number;
use cuda_std::{kernel, shared::dynamic_shared_mem, thread};

/// The idea in one line.
pub const IDEA: &str = "one warp finishes the last 64 values by shuffles: six barriers fewer";

/// Default number of threads per block; a power of two from 64 to 1024.
pub const BLOCK: u32 = 128;

/// Elements that one thread loads.
pub const PER_THREAD: usize = 2;

/// Reduces each block's `2 * block` elements to `output[block index]`.
///
/// # Safety
/// The block is a power of two, at least 64; dynamic shared memory holds one `T` per thread; `output` one per block.
#[kernel(for O in [Sum, Max, Min], for T in [f32, f64, i32, u32, i64, u64])]
pub unsafe fn reduce_unroll_last_warp<O: Op<T>, T: Number>(input: &[T], output: *mut T) {
    let values = dynamic_shared_mem::<T>();
    let (tid, block) = (thread::thread_idx_x(), thread::block_dim_x());
    let i = thread::block_idx_x() as usize * (PER_THREAD * block as usize) + tid as usize;

    let first = element_or_identity::<O, T>(input, i);
    let second = element_or_identity::<O, T>(input, i + block as usize);
    // SAFETY: one slot per thread, and each thread writes its own.
    unsafe { values.add(tid as usize).write(O::combine(first, second)) };
    thread::sync_threads(); // all of the block's pairs are in shared memory

    // SAFETY: the block is a power of two and reaches this call as a whole, and its slots were written before the
    // barrier.
    unsafe { tree::<O, T>(values, block / 2, WARP) };

    if tid < WARP {
        // SAFETY: the block has at least 64 slots, all written before the last barrier; the whole of warp 0 reaches
        // this call.
        let value = unsafe { last_warp::<O, T>(values) };
        if tid == 0 {
            // SAFETY: one output per block.
            unsafe { output.add(thread::block_idx_x() as usize).write(value) };
        }
    }
}

/// Reduces the 64 values in the first slots; lane 0 holds the result.
///
/// # Safety
/// All lanes of one warp call it, and 64 slots were written before a barrier.
#[inline(always)]
pub(super) unsafe fn last_warp<O: Op<T>, T: Number>(values: *const T) -> T {
    // SAFETY: lane `t` reads slots `t` and `t + 32` of the 64.
    let (low, high) = unsafe {
        let slot = values.add((thread::thread_idx_x() % WARP) as usize);
        (slot.read(), slot.add(WARP as usize).read())
    };
    // SAFETY: the whole warp reaches this call.
    unsafe { warp_reduce::<O, T>(O::combine(low, high)) }
}
