//! The last block finishes: every block writes its sum and draws a ticket, and the block that draws the last ticket
//! adds all sums in the order of the blocks.
//!
//! It is one launch, as in `atomic`, but the order of additions does not depend on the order of arrival: the same bits
//! in every run.

use super::{Real, grid_share};
use crate::reduce::{Sum, collective::grid_reduce};
use cuda_std::kernel;

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
    // SAFETY: every thread of the grid reaches this call, in blocks of whole warps; the caller upholds the rest of the
    // contract.
    if let Some(sum) = unsafe { grid_reduce::<Sum, T>(grid_share(a, b), partials, ticket) } {
        // SAFETY: only one thread of the grid takes this branch.
        unsafe { output.write(sum) };
    }
}
