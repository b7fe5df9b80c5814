//! Votes: every lane learns what all lanes think.

use cuda_std_macros::gpu_only;

#[cfg(target_arch = "nvptx64")]
use crate::intrinsics as nvvm;

/// Whether `predicate` holds on all lanes of `mask`.
///
/// # Safety
/// Every lane of `mask`, this one among them, must come here with the same mask and must not have exited.
#[gpu_only]
pub unsafe fn all(mask: u32, predicate: bool) -> bool {
    // SAFETY: the caller's promise.
    unsafe { nvvm::vote_all(mask, predicate) }
}

/// Whether `predicate` holds on any lane of `mask`.
///
/// # Safety
/// As for [`all`].
#[gpu_only]
pub unsafe fn any(mask: u32, predicate: bool) -> bool {
    // SAFETY: the caller's promise.
    unsafe { nvvm::vote_any(mask, predicate) }
}

/// The lanes of `mask` on which `predicate` holds.
///
/// # Safety
/// As for [`all`].
#[gpu_only]
pub unsafe fn ballot(mask: u32, predicate: bool) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { nvvm::vote_ballot(mask, predicate) }
}

/// [`all`] under the Rust-GPU project's name.
///
/// # Safety
/// As for [`all`].
#[inline(always)]
pub unsafe fn warp_vote_all(mask: u32, predicate: bool) -> bool {
    // SAFETY: the caller's promise.
    unsafe { all(mask, predicate) }
}

/// [`any`] under the Rust-GPU project's name.
///
/// # Safety
/// As for [`all`].
#[inline(always)]
pub unsafe fn warp_vote_any(mask: u32, predicate: bool) -> bool {
    // SAFETY: the caller's promise.
    unsafe { any(mask, predicate) }
}

/// [`ballot`] under the Rust-GPU project's name.
///
/// # Safety
/// As for [`all`].
#[inline(always)]
pub unsafe fn warp_vote_ballot(mask: u32, predicate: bool) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { ballot(mask, predicate) }
}
