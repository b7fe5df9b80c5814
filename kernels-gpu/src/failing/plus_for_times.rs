//! `threadIdx.x + blockIdx.x + blockDim.x`: with `+` in place of `*`, neighbouring blocks work on nearly the same
//! elements, many are done twice, and most not at all.
//!
//! The histogram of Threehearts 2021 (`docs/sources.md`) begins like this and counts letters repeatedly. Here two
//! blocks write one element. Right: `vecadd`, rung `grid_stride`; the formulas are those of `threads`.

use cuda_std::{kernel, thread};

/// The mistake in one line.
pub const IDEA: &str = "`threadIdx + blockIdx + blockDim`: blocks work on the same elements";

/// Writes to each element the index of its block, wrongly.
///
/// # Safety
/// No launch is safe: the wrong index is the point.
#[kernel]
pub unsafe fn failing_plus_for_times(input: &[u32], output: *mut u32) {
    let i = (thread::thread_idx_x() + thread::block_idx_x() + thread::block_dim_x()) as usize;
    if i < input.len() {
        // SAFETY: this is unsound on purpose; only the simulator runs it.
        unsafe { output.add(i).write(input.get_unchecked(i).wrapping_add(thread::block_idx_x())) }; // FINDING
    }
}
