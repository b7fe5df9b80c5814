//! Adds the sums of the parts of a product whose depth was divided, and finishes them.

use super::{Bf16, F16, Factor, S8, Tf32};
use crate::epilogue::Epilogue;
use crate::tensor::mixed::join::{self, join};
use crate::tensor::mixed::problem::Product;
use cuda_std::prelude::*;

/// Threads per block.
pub const BLOCK: u32 = join::BLOCK;

/// Writes a product, as [`tensor_join`](join::tensor_join) does: each family has the kernels that it launches.
///
/// # Safety
/// That of [`tensor_join`](join::tensor_join).
#[kernel(for P in [F16, Bf16, Tf32, S8], launch_bounds(BLOCK))]
pub unsafe fn mma_join<P: Factor>(
    sums: *const u32,
    parts: u32,
    out: *mut u8,
    m: u32,
    n: u32,
    pitch: u32,
    how: u32,
    alpha: f32,
    beta: f32,
    addend: *const u8,
    row_scales: *const f32,
    column_scales: *const f32,
    bias: *const f32,
) {
    let epilogue = Epilogue { alpha, beta, addend, row_scales, column_scales, bias };
    // SAFETY: this kernel has the same contract.
    unsafe { join::<P>(sums.cast(), parts, &Product { out, m, n, pitch, how, epilogue }) };
}
