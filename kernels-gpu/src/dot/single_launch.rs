//! The last block finishes: every block writes its sum and draws a ticket, and the block that draws the last ticket
//! adds all sums in the order of the blocks (NVIDIA's `threadFenceReduction` sample). It wraps to 0, and is ready for
//! the next launch.
//!
//! It is one launch, as in `atomic`, but the order of additions does not depend on the order of arrival: the same bits
//! in every run.

use super::{Real, grid_share};
use crate::reduce::{
    Sum,
    collective::{block_reduce, is_last_block},
};
use cuda_std::{kernel, thread};

/// The idea in one line.
pub const IDEA: &str = "the last block adds the blocks' sums in order: one launch, the same bits on every run";

/// Default number of threads per block; a multiple of 32, at most 1024.
pub const BLOCK: u32 = 256;

/// Writes the dot product to `output[0]`.
///
/// # Safety
/// The block is a multiple of 32; `partials` has one element per block and is used by this launch only; `ticket` is 0.
#[kernel(for T in [f32, f64])]
pub unsafe fn dot_single_launch<T: Real>(a: &[T], b: &[T], partials: *mut T, ticket: *mut u32, output: *mut T) {
    let (tid, blocks) = (thread::thread_idx_x(), thread::grid_dim_x());
    // SAFETY: every thread of the block reaches this call, and the block consists of whole warps.
    let mut sum = unsafe { block_reduce::<Sum, T>(grid_share(a, b)) };
    // A block alone waits for nothing: no partial sum, and no ticket.
    if blocks > 1 {
        if tid == 0 {
            // SAFETY: one partial sum per block.
            unsafe { partials.add(thread::block_idx_x() as usize).write(sum) };
        }
        // Its barrier also separates the two uses of the shared memory in `block_reduce`.
        // SAFETY: the caller upholds this function's contract.
        if !unsafe { is_last_block(ticket) } {
            return;
        }
        sum = T::ZERO;
        let mut i = tid;
        while i < blocks {
            // SAFETY: all blocks have written their sums, which are not written again.
            sum = sum.add(unsafe { partials.add(i as usize).read() });
            i += thread::block_dim_x();
        }
        // SAFETY: the whole block reaches this call: all its threads got the same answer from the barrier.
        sum = unsafe { block_reduce::<Sum, T>(sum) };
    }
    if tid == 0 {
        // SAFETY: only a block alone, or the last one, reaches this point.
        unsafe { output.write(sum) };
    }
}
