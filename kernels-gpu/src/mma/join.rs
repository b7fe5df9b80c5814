//! Adds the sums of the parts of a product whose depth was divided, and finishes them.

use super::{Bf16, F16, Factor, S8, Tf32};
use crate::epilogue::Epilogue;
use crate::tensor::mixed::Sum;
use crate::tensor::mixed::problem::Product;
use crate::unroll::unroll;
use cuda_std::prelude::*;

/// Threads per block.
pub const BLOCK: u32 = 256;

/// Parts that a thread reads at once.
const AT_ONCE: usize = 16;

/// Writes the product of `m` by `n`, in rows `pitch` elements apart, whose `parts` matrices of sums follow each other;
/// sums become its elements as in [`mma_best`](super::best::mma_best). They are added in the order of
/// the parts.
///
/// # Safety
/// `sums` has the matrices, of f32, or i32 for [`S8`]; `out` has room for the product, which overlaps nothing but,
/// exactly, the addend; the other pointers are null or have their elements.
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

/// What [`mma_join`] does.
///
/// # Safety
/// That of [`mma_join`].
#[inline(always)]
unsafe fn join<P: Factor>(sums: *const P::Sum, parts: u32, product: &Product) {
    // Without `max` the compiler would keep a panic for a division by 0.
    let columns = (product.n as usize).max(1);
    let len = product.m as usize * columns;
    let mut index = thread::global_index();
    while index < len {
        let mut sum = P::Sum::ZERO;
        let mut part = 0;
        while part < parts as usize {
            let mut of = [P::Sum::ZERO; AT_ONCE];
            unroll!(i < AT_ONCE => {
                if part + i < parts as usize {
                    // SAFETY: by contract the part has the element.
                    of[i] = unsafe { *sums.add((part + i) * len + index) };
                }
            });
            unroll!(i < AT_ONCE => { sum = sum.plus(of[i]) });
            part += AT_ONCE;
        }
        let place = [(index / columns) as u32, (index % columns) as u32];
        // SAFETY: the element is inside the product, and this thread's.
        unsafe { product.write::<P>(place, sum) };
        index += thread::grid_stride();
    }
}
