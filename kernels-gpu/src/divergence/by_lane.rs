//! Neighbouring threads have the two chains of one element. Every warp has both kinds of lanes, and executes both sides
//! of the `if`, each with half of its lanes inactive.

use super::{Task, add_results, either, value};
use cuda_std::{kernel, thread};

/// The idea in one line.
pub const IDEA: &str = "even and odd lanes take different sides of a branch: every warp executes both";

/// Runs both chains of every element and adds their results.
///
/// # Safety
/// The launch has a block of `BLOCK` threads for each `ELEMENTS` elements; `output` is as long as `input` and does not
/// overlap it.
#[kernel]
pub unsafe fn divergence_by_lane(input: &[u32], short: u32, long: u32, output: *mut u32) {
    let tid = thread::thread_idx_x();
    let task = Task { element: tid / 2, long: !tid.is_multiple_of(2) };
    let result = either(task, value(input, task.element), short, long);
    // SAFETY: the caller upholds this function's contract; each task belongs to one thread.
    unsafe { add_results(task, result, input.len(), output) };
}
