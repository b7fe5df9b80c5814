//! The two sides have the same shape, so they become one loop: factor and term are selected before, and only the number
//! of steps differs between lanes. The loop's own branch diverges when the short lanes leave it; they wait for the long
//! ones.
//!
//! So a warp pays for its longest lane instead of for both sides; only lanes of equal length would be faster.

use super::{Chain, LONG, SHORT, Task, add_results, value};
use cuda_std::{kernel, thread};

/// The idea in one line.
pub const IDEA: &str = "one loop for both sides: a warp pays for its longest lane only";

/// Runs both chains of every element and adds their results.
///
/// # Safety
/// The launch has a block of `BLOCK` threads for each `ELEMENTS` elements; `output` is as long as `input` and does not
/// overlap it.
#[kernel]
pub unsafe fn divergence_unequal_loops(input: &[u32], short: u32, long: u32, output: *mut u32) {
    let tid = thread::thread_idx_x();
    let task = Task { element: tid / 2, long: !tid.is_multiple_of(2) };
    let chain = Chain {
        factor: if task.long { LONG.factor } else { SHORT.factor },
        term: if task.long { LONG.term } else { SHORT.term },
    };
    let steps = if task.long { long } else { short };
    let result = chain.run(value(input, task.element), steps);
    // SAFETY: the caller upholds this function's contract; each task belongs to one thread.
    unsafe { add_results(task, result, input.len(), output) };
}
