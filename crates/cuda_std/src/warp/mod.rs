//! The warp: 32 threads that run together and exchange registers.
//!
//! Every operation takes a `mask`: lane `i` participates if bit `i` is set. The operation waits for all lanes of the
//! mask; [`ALL`] is the whole warp.
//!
//! Functions whose names start with `warp_` have the Rust-GPU project's signatures; the short names (`shuffle_down`,
//! `any`, `reduce`) exist in this crate only.

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

/// The thread's index in its warp: `0..32`.
#[must_use]
#[gpu_only]
pub fn lane_id() -> u32 {
    nvvm::lane_id()
}

/// The lanes that execute this instruction together right now.
///
/// The scheduler chooses these lanes. They need not be all the lanes that entered a branch, so the result is not a mask
/// for the operations of this module.
#[must_use]
#[gpu_only]
pub fn activemask() -> u32 {
    nvvm::activemask()
}

/// Whether this is the lowest lane of `mask`, which can then act for all of them.
#[must_use]
#[inline(always)]
pub fn is_leader(mask: u32) -> bool {
    lane_id() == mask.trailing_zeros()
}

/// Waits until all lanes of `mask` have reached this call. Their earlier writes are then visible to all of them.
///
/// # Safety
/// Every lane of `mask`, this one included, must reach this call with the same mask and must not have exited.
#[gpu_only]
pub unsafe fn sync_warp(mask: u32) {
    // SAFETY: the caller upholds this function's contract.
    unsafe { nvvm::bar_warp_sync(mask) }
}
