//! The two sides of the same `if`, chosen for 32 neighbouring threads together: even warps have the short chains of 32
//! elements, odd warps the long ones. No lane waits for another, and a warp that has finished leaves the multiprocessor
//! to the others.

use super::{Task, WARP, add_results, either, value};
use cuda_std::{kernel, thread};

/// The idea in one line.
pub const IDEA: &str = "whole warps take different sides: the same branch, and no lane waits";

/// Runs both chains of every element and adds their results.
///
/// # Safety
/// The launch has a block of `BLOCK` threads for each `ELEMENTS` elements; `output` is as long as `input` and does not
/// overlap it.
#[kernel]
pub unsafe fn divergence_by_warp(input: &[u32], short: u32, long: u32, output: *mut u32) {
    let tid = thread::thread_idx_x();
    let (warp, lane) = (tid / WARP, tid % WARP);
    let task = Task { element: warp / 2 * WARP + lane, long: !warp.is_multiple_of(2) };
    let result = either(task, value(input, task.element), short, long);
    // SAFETY: the caller upholds this function's contract; each task belongs to one thread.
    unsafe { add_results(task, result, input.len(), output) };
}
