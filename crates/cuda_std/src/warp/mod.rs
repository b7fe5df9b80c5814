//! The warp: 32 threads that run together and exchange registers.
//!
//! Every operation takes a `mask`: bit `i` says that lane `i` takes part. The operation waits for all of them; [`ALL`]
//! is the whole warp.
//!
//! The short names (`shuffle_down`, `any`, `reduce`) are ours; those that start with `warp_` are the Rust-GPU
//! project's.

use cuda_std_macros::gpu_only;

#[cfg(target_arch = "nvptx64")]
use crate::intrinsics as nvvm;

mod matching;
mod matrix;
mod reduce;
mod shuffle;
mod vote;

pub use matching::{WarpMatchValue, warp_match_all, warp_match_any};
pub use matrix::multiply_add_f64;
pub use reduce::{WarpReduceValue, WarpReductionOp, reduce, warp_reduce};
pub use shuffle::{
    WarpShuffleValue, shuffle_down, shuffle_idx, shuffle_up, shuffle_xor, warp_shuffle_down, warp_shuffle_idx,
    warp_shuffle_up, warp_shuffle_xor,
};
pub use vote::{all, any, ballot, warp_vote_all, warp_vote_any, warp_vote_ballot};

/// The mask of a whole warp.
pub const ALL: u32 = u32::MAX;

/// The thread's place in its warp: `0..32`.
#[must_use]
#[gpu_only]
pub fn lane_id() -> u32 {
    nvvm::lane_id()
}

/// The lanes that execute this instruction together right now.
///
/// Which lanes those are is the scheduler's choice: don't take it for the set of lanes that entered a branch.
#[must_use]
#[gpu_only]
pub fn activemask() -> u32 {
    nvvm::activemask()
}

/// Whether this is the lowest lane of `mask`: one lane that acts for all.
#[must_use]
#[inline(always)]
pub fn is_leader(mask: u32) -> bool {
    lane_id() == mask.trailing_zeros()
}

/// Waits until all lanes of `mask` are here. What they wrote before is then visible to all of them.
///
/// # Safety
/// Every lane of `mask`, this one among them, must come here with the same mask and must not have exited.
#[gpu_only]
pub unsafe fn sync_warp(mask: u32) {
    // SAFETY: the caller's promise.
    unsafe { nvvm::bar_warp_sync(mask) }
}
