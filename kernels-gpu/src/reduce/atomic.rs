//! The blocks' results are combined by atomics: each block combines its result into one value in global memory, so no
//! second launch is needed.
//!
//! The caller sets the value to the identity before the launch. The order of the blocks is not defined, so the last
//! bits of a float sum differ between runs; integers, maximum and minimum are always the same.

use super::{Max, Min, Op, Sum, collective::block_reduce, grid_stride::grid_share};
use crate::number::Number;
use cuda_std::{atomic::Atomic, kernel, thread};

/// The idea in one line.
pub const IDEA: &str = "all blocks combine into one value by atomics: no second launch";

/// Default number of threads per block; a multiple of 32, at most 1024.
pub const BLOCK: u32 = 256;

/// Combines the whole input into `output[0]`.
///
/// # Safety
/// The block is a multiple of 32; `output[0]` was set before the launch and only this launch uses it.
#[kernel(for O in [Sum, Max, Min], for T in [f32, f64, i32, u32, i64, u64])]
pub unsafe fn reduce_atomic<O: Op<T>, T: Number>(input: &[T], output: *mut T) {
    // SAFETY: every thread of the block reaches this call, and the block consists of whole warps.
    let value = unsafe { block_reduce::<O, T>(grid_share::<O, T>(input)) };
    if thread::thread_idx_x() == 0 {
        // SAFETY: during the launch every access to `output[0]` is one of these atomics.
        O::combine_atomic(unsafe { Atomic::from_ptr(output) }, value);
    }
}
