//! Loads and stores of a chosen width or with a cache hint, and asynchronous copies.
//!
//! A plain `*p` is right most of the time; for a `&[T]` parameter LLVM already uses the read-only path
//! (`ld.global.nc`).

use cuda_std_macros::gpu_only;

#[cfg(target_arch = "nvptx64")]
use crate::intrinsics as nvvm;

mod asynchronous;
mod bulk;
mod cached;
mod mbarrier;
mod shared_address;
pub mod sm_80;
mod tensor_map;
mod vector;

pub use asynchronous::{copy_async, copy_async_commit, copy_async_if, copy_async_or_zero, copy_async_wait};
pub use bulk::{copy_bulk, copy_bulk_to_blocks};
pub use cached::{Cached, Load, Store, load_as, store_as};
pub use mbarrier::{Mbarrier, fence_init};
pub use shared_address::SharedAddress;
pub use tensor_map::{TensorMap, fence_copies, wait_copies_read};
pub use vector::{F32x4, F64x2, I32x4, I64x2, U32x4, U64x2, Vector};

/// Reads exactly once, at this point of the program: for memory that another thread or the host may write meanwhile.
///
/// The read orders no other access; [`crate::atomic`] does.
///
/// # Safety
/// `at` must be aligned and point to an initialised `T`.
#[inline(always)]
pub unsafe fn load_volatile<T: Copy>(at: *const T) -> T {
    // SAFETY: the caller upholds this function's contract.
    unsafe { at.read_volatile() }
}

/// Writes exactly once, at this point of the program.
///
/// # Safety
/// `at` must be aligned and point to memory that may be written.
#[inline(always)]
pub unsafe fn store_volatile<T: Copy>(at: *mut T, value: T) {
    // SAFETY: the caller upholds this function's contract.
    unsafe { at.write_volatile(value) }
}

/// Bytes of dynamic shared memory that the launch requested.
#[must_use]
#[gpu_only]
pub fn dynamic_smem_size() -> u32 {
    nvvm::dynamic_smem_size()
}

/// Bytes of shared memory that a block of this kernel uses: static, dynamic, and reserved by the system.
#[must_use]
#[gpu_only]
pub fn total_smem_size() -> u32 {
    nvvm::total_smem_size()
}
