//! A sum by grid stride whose threads start at `blockIdx.x * gridDim.x + threadIdx.x`: the blocks start on each other's
//! elements, most are added once for each block, and the rest never.
//!
//! The dot-product slides (`docs/sources.md`) write `(blockIdx.x * NumBlocks) + threadIdx.x` one line above the right
//! formula, `(blockIdx.x * blockDim.x) + threadIdx.x`. Reading twice is no race. Right: `vecadd`, rung `grid_stride`;
//! the formulas are those of `threads`.

use cuda_std::{
    atomic::{AtomicU32, Ordering},
    kernel, thread,
};

/// The mistake in one line.
pub const IDEA: &str = "blocks start at blockIdx * gridDim: some elements are added twice, and others never";

/// Sums all elements, wrongly.
///
/// # Safety
/// `output` has an element.
#[kernel]
pub unsafe fn failing_start_by_grid(input: &[u32], output: *mut u32) {
    let mut sum = 0_u32;
    // WRONG: blocks are `block_dim_x` threads apart.
    let mut i = (thread::block_idx_x() * thread::grid_dim_x() + thread::thread_idx_x()) as usize;
    while i < input.len() {
        sum = sum.wrapping_add(input[i]);
        i += thread::grid_stride();
    }
    // SAFETY: all threads access it atomically.
    unsafe { AtomicU32::from_ptr(output) }.fetch_add(sum, Ordering::Relaxed);
}
