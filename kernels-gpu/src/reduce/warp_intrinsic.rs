//! The warp's own instruction: `redux.sync` combines a register of all 32 lanes at once, where shuffles take five
//! steps.
//!
//! It supports 32-bit integers only. 64-bit integers, and floats mapped to integers of the same order, are reduced in
//! one to three parts: see [`Redux`](crate::number::Redux). Sums of floats cannot be mapped to integers and use
//! shuffles. Otherwise this rung equals `warp_shuffle`. (The instruction requires compute capability 8.0; on older
//! GPUs `cuda_std` replaces it by shuffles.)

use super::{Max, Min, Op, Sum, collective::block_reduce_by, grid_stride::grid_share};
use crate::number::Number;
use cuda_std::{kernel, thread};

/// The idea in one line.
pub const IDEA: &str = "`redux.sync` instead of five shuffles; 64-bit integers and ordered floats in parts of 32 bits";

/// Default number of threads per block; a multiple of 32, at most 1024.
pub const BLOCK: u32 = 256;

/// Reduces the input to one value per block, `output[block index]`.
///
/// # Safety
/// The block is a multiple of 32; `output` has one element per block.
#[kernel(for O in [Sum, Max, Min], for T in [f32, f64, i32, u32, i64, u64])]
pub unsafe fn reduce_warp_intrinsic<O: Op<T>, T: Number>(input: &[T], output: *mut T) {
    let share = grid_share::<O, T>(input);
    // SAFETY: the block consists of whole warps, and all of it reaches this call.
    let value = unsafe {
        let reduce_warp = |value| O::combine_warp(value);
        block_reduce_by(share, reduce_warp, O::identity(), reduce_warp)
    };
    if thread::thread_idx_x() == 0 {
        // SAFETY: one output per block.
        unsafe { output.add(thread::block_idx_x() as usize).write(value) };
    }
}
