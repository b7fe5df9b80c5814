//! All threads of the grid increment one counter by a load, an addition and a store. Those that load the same value
//! store the same sum, and all but one increment is lost.
//!
//! Right: `atomics`, rung `global`; and fast: rung `shared`, with a private counter for each block.

use cuda_std::{kernel, thread};

/// The mistake in one line.
pub const IDEA: &str = "all threads increment one counter by a load, an addition and a store";

/// Counts the odd elements, wrongly.
///
/// # Safety
/// No launch is safe: the race is the point.
#[kernel]
pub unsafe fn failing_counter_without_atomics(input: &[u32], output: *mut u32) {
    let i = thread::global_index();
    // SAFETY: this is unsound on purpose; only the simulator runs it. An element for each thread of the grid.
    unsafe {
        if !input.get_unchecked(i).is_multiple_of(2) {
            output.write(output.read().wrapping_add(1)); // FINDING
        }
    }
}
