//! 1000 elements in blocks of 256 are four blocks and 1024 threads; the last 24 have no element, and the test for it is
//! missing.
//!
//! Right: `vecadd`, rung `grid_stride`, as any other: `if i < n`.

use cuda_std::{kernel, thread};

/// The mistake in one line.
pub const IDEA: &str = "`if i < n` is missing, and the last block has more threads than elements";

/// Doubles all elements, and accesses memory past their end.
///
/// # Safety
/// No launch is safe: the missing test is the point.
#[kernel]
pub unsafe fn failing_no_bounds_test(input: &[u32], output: *mut u32) {
    let i = thread::global_index();
    // SAFETY: this is unsound on purpose; only the simulator runs it.
    unsafe { output.add(i).write(2 * *input.get_unchecked(i)) }; // FINDING
}
