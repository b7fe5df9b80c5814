//! The data selects the side: of the two threads of an element, the one in the first half of the block has the long
//! chain if the value is odd, and the other one if it is even. Whether a warp diverges depends on 32 values: random
//! ones nearly always do, sorted ones hardly ever.

use super::{ELEMENTS, Task, add_results, either, value};
use cuda_std::{kernel, thread};

/// The idea in one line.
pub const IDEA: &str = "the values select the side: with random ones nearly every warp executes both";

/// Runs both chains of every element and adds their results.
///
/// # Safety
/// The launch has a block of `BLOCK` threads for each `ELEMENTS` elements; `output` is as long as `input` and does not
/// overlap it.
#[kernel]
pub unsafe fn divergence_by_data(input: &[u32], short: u32, long: u32, output: *mut u32) {
    let tid = thread::thread_idx_x();
    let x = value(input, tid % ELEMENTS);
    let odd = !x.is_multiple_of(2);
    let task = Task { element: tid % ELEMENTS, long: odd == (tid < ELEMENTS) };
    let result = either(task, x, short, long);
    // SAFETY: the caller upholds this function's contract; each task belongs to one thread.
    unsafe { add_results(task, result, input.len(), output) };
}
