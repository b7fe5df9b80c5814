//! The warp's own instruction: `redux.sync` combines a register of all 32 lanes at once, where shuffles take five steps.
//!
//! It knows 32-bit integers only. Everything that integers can stand in for goes through it in one to three parts: see
//! [`Redux`](crate::number::Redux). A
//! sum of floats can't, and stays with shuffles. Otherwise this is `warp_shuffle`. (Compute capability 8.0; on older GPUs `cuda_std`
//! makes the instruction of shuffles.)

use super::{Max, Min, Op, Sum, WARP, grid_stride::grid_share};
use crate::number::Number;
use core::mem::MaybeUninit;
use cuda_std::{address_space, kernel, thread};

/// Threads per block unless the caller asks otherwise; a multiple of 32, at most 1024.
pub const BLOCK: u32 = 256;

/// One slot per warp of a block of at most 1024 threads, wide enough for any `Number`.
#[address_space(shared)]
static mut WARP_RESULTS: [MaybeUninit<u64>; WARP as usize] = [MaybeUninit::uninit(); WARP as usize];

/// Reduces the input to one value per block, `output[block index]`.
///
/// # Safety
/// The block is a multiple of 32; `output` has one element per block.
#[kernel(for O in [Sum, Max, Min], for T in [f32, f64, i32, u32, i64, u64])]
pub unsafe fn reduce_warp_intrinsic<O: Op<T>, T: Number>(input: &[T], output: *mut T) {
    let results = (&raw mut WARP_RESULTS).cast::<u64>();
    let tid = thread::thread_idx_x();
    let (lane, warp) = (tid % WARP, tid / WARP);

    // SAFETY: the block is whole warps, and all of it is here.
    let value = unsafe { O::combine_warp(grid_share::<O, T>(input)) };
    if lane == 0 {
        // SAFETY: a block has at most 32 warps, and each writes its own slot.
        unsafe { results.add(warp as usize).cast::<T>().write(value) };
    }
    thread::sync_threads(); // every warp's result is in its slot
    if warp > 0 {
        return;
    }
    let value = if lane < thread::block_dim_x() / WARP {
        // SAFETY: the slots of the block's warps were written before the barrier.
        unsafe { results.add(lane as usize).cast::<T>().read() }
    } else {
        O::identity()
    };
    // SAFETY: all of warp 0 is here.
    let value = unsafe { O::combine_warp(value) };
    if lane == 0 {
        // SAFETY: one output per block.
        unsafe { output.add(thread::block_idx_x() as usize).write(value) };
    }
}
