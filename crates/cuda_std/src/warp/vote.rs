//! Votes: the lanes' predicates, combined and returned to all of them.

use cuda_std_macros::gpu_only;

#[cfg(target_arch = "nvptx64")]
use crate::intrinsics as nvvm;

/// Returns whether `predicate` is true in all lanes of `mask`.
///
/// # Safety
/// Every lane of `mask`, this one included, must reach this call with the same mask and must not have exited.
#[gpu_only]
pub unsafe fn all(mask: u32, predicate: bool) -> bool {
    // SAFETY: the caller upholds this function's contract.
    unsafe { nvvm::vote_all(mask, predicate) }
}

/// Returns whether `predicate` is true in any lane of `mask`.
///
/// # Safety
/// As for [`all`].
#[gpu_only]
pub unsafe fn any(mask: u32, predicate: bool) -> bool {
    // SAFETY: the caller upholds this function's contract.
    unsafe { nvvm::vote_any(mask, predicate) }
}

/// Returns the mask of the lanes in `mask` whose `predicate` is true.
///
/// # Safety
/// As for [`all`].
#[gpu_only]
pub unsafe fn ballot(mask: u32, predicate: bool) -> u32 {
    // SAFETY: the caller upholds this function's contract.
    unsafe { nvvm::vote_ballot(mask, predicate) }
}

/// Calls [`all`]: the Rust-GPU project's name for it.
///
/// # Safety
/// As for [`all`].
#[inline(always)]
pub unsafe fn warp_vote_all(mask: u32, predicate: bool) -> bool {
    // SAFETY: the caller upholds this function's contract.
    unsafe { all(mask, predicate) }
}

/// Calls [`any`]: the Rust-GPU project's name for it.
///
/// # Safety
/// As for [`all`].
#[inline(always)]
pub unsafe fn warp_vote_any(mask: u32, predicate: bool) -> bool {
    // SAFETY: the caller upholds this function's contract.
    unsafe { any(mask, predicate) }
}

/// Calls [`ballot`]: the Rust-GPU project's name for it.
///
/// # Safety
/// As for [`all`].
#[inline(always)]
pub unsafe fn warp_vote_ballot(mask: u32, predicate: bool) -> u32 {
    // SAFETY: the caller upholds this function's contract.
    unsafe { ballot(mask, predicate) }
}
