//! Copies matrices so that their rows start at multiples of 128 bytes: asynchronous copies require multiples of 16.

use crate::tensor::mixed::pad::{self, copy_rows};
use cuda_std::prelude::*;

/// Threads per block.
pub const BLOCK: u32 = pad::BLOCK;

/// Copies matrices, as [`tensor_pad`](crate::tensor::mixed::pad::tensor_pad) does: each family has the kernels that it
/// launches.
///
/// # Safety
/// That of [`tensor_pad`](crate::tensor::mixed::pad::tensor_pad).
#[kernel(for T in [u8, u16, u32], launch_bounds(BLOCK))]
pub unsafe fn mma_pad<T: Copy + Into<u32>>(
    from: *const T,
    to: *mut u128,
    count: u32,
    step: u64,
    rows: u32,
    columns: u32,
    pitch: u32,
) {
    // SAFETY: this kernel has the same contract.
    unsafe { copy_rows(from, to, [count, rows, columns], step, pitch) };
}
