//! Loads and stores of a chosen width or a chosen way through the caches.
//!
//! A plain `*p` is right most of the time: through a `&[T]` parameter LLVM already uses the read-only path
//! (`ld.global.nc`).

use cuda_std_macros::gpu_only;

#[cfg(target_arch = "nvptx64")]
use crate::intrinsics as nvvm;

mod asynchronous;
mod cached;
mod vector;

pub use asynchronous::{SharedAddress, copy_async, copy_async_commit, copy_async_or_zero, copy_async_wait};
pub use cached::{Cached, Load, Store, load_as, store_as};
pub use vector::{F32x4, F64x2, I32x4, I64x2, U32x4, U64x2, Vector};

/// Reads once, exactly here, whatever the optimiser knows: for memory that another thread or the host writes meanwhile.
///
/// It orders nothing else: see [`crate::atomic`].
///
/// # Safety
/// `at` must be aligned and point to an initialised `T`.
#[inline(always)]
pub unsafe fn load_volatile<T: Copy>(at: *const T) -> T {
    // SAFETY: the caller's promise.
    unsafe { at.read_volatile() }
}

/// Writes once, exactly here.
///
/// # Safety
/// `at` must be aligned and point to memory that may be written.
#[inline(always)]
pub unsafe fn store_volatile<T: Copy>(at: *mut T, value: T) {
    // SAFETY: the caller's promise.
    unsafe { at.write_volatile(value) }
}

/// Bytes of dynamic shared memory that the launch asked for.
#[must_use]
#[gpu_only]
pub fn dynamic_smem_size() -> u32 {
    nvvm::dynamic_smem_size()
}

/// Bytes of shared memory that a block of this kernel uses: static, dynamic, and what the system adds.
#[must_use]
#[gpu_only]
pub fn total_smem_size() -> u32 {
    nvvm::total_smem_size()
}
