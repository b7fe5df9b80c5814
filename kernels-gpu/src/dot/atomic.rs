//! The blocks' sums are added by atomics: a block reduces by shuffles, with one shared value per warp, and adds its sum
//! to one value in global memory.
//!
//! The caller sets the value to 0 before the launch. The order of the blocks is not defined, so the last bits differ
//! between runs.

use super::{Real, grid_share};
use crate::reduce::{Sum, collective::block_reduce};
use cuda_std::{
    atomic::{Atomic, Ordering},
    kernel, thread,
};

/// The idea in one line.
pub const IDEA: &str = "shuffles instead of shared memory, and one atomic per block: no work is left for the host";

/// Default number of threads per block; a multiple of 32, at most 1024.
pub const BLOCK: u32 = 256;

/// Adds the dot product to `output[0]`.
///
/// # Safety
/// The block is a multiple of 32; `output[0]` was set before the launch and only this launch uses it.
#[kernel(for T in [f32, f64])]
pub unsafe fn dot_atomic<T: Real>(a: &[T], b: &[T], output: *mut T) {
    // SAFETY: every thread of the block reaches this call, and the block consists of whole warps.
    let sum = unsafe { block_reduce::<Sum, T>(grid_share(a, b)) };
    if thread::thread_idx_x() == 0 {
        // SAFETY: during the launch every access to `output[0]` is one of these atomics.
        unsafe { Atomic::<T>::from_ptr(output) }.fetch_add(sum, Ordering::Relaxed);
    }
}
