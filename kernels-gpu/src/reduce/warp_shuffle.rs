//! Warp shuffles: lanes exchange registers, so a warp reduces without shared memory and without barriers.
//!
//! One value per warp goes through shared memory, after the block's only barrier, and the first warp reduces those.

use super::{Max, Min, Op, Sum, collective::block_reduce, grid_stride::grid_share};
use crate::number::Number;
use cuda_std::{kernel, thread};

/// The idea in one line.
pub const IDEA: &str = "registers instead of shared memory: one shared value per warp, one barrier";

/// Default number of threads per block; a multiple of 32, at most 1024.
pub const BLOCK: u32 = 256;

/// Reduces the input to one value per block, `output[block index]`.
///
/// # Safety
/// The block is a multiple of 32; `output` has one element per block.
#[kernel(for O in [Sum, Max, Min], for T in [f32, f64, i32, u32, i64, u64])]
pub unsafe fn reduce_warp_shuffle<O: Op<T>, T: Number>(input: &[T], output: *mut T) {
    // SAFETY: every thread of the block reaches this call, and the block consists of whole warps.
    let value = unsafe { block_reduce::<O, T>(grid_share::<O, T>(input)) };
    if thread::thread_idx_x() == 0 {
        // SAFETY: one output per block.
        unsafe { output.add(thread::block_idx_x() as usize).write(value) };
    }
}
