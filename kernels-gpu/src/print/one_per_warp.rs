//! One line for 32 threads: the warp adds up its elements by shuffles, and its first lane prints the sum.

use super::{double, prints};
use cuda_std::{kernel, println, thread, view::DisjointSlice, warp};

/// The idea in one line.
pub const IDEA: &str = "a warp adds up its elements, and one lane prints for all 32";

/// Doubles all elements; warps whose first thread is one of `first` to `first + count - 1` print.
///
/// # Safety
/// The launch has blocks of whole warps.
#[kernel]
pub unsafe fn print_one_per_warp(input: &[i32], first: u32, count: u32, output: DisjointSlice<i32>) {
    let i = thread::global_index();
    let value = double(input, output).map_or(0, |(_, value)| value);
    // SAFETY: blocks have whole warps, and all threads reach this call.
    let sum = unsafe { warp::reduce(value, i32::wrapping_add) };
    if warp::lane_id() == 0 && i < input.len() && prints(i, first, count) {
        println!("block {} warp {}: sum is {sum}", thread::block_idx_x(), thread::thread_idx_x() / 32);
    }
}
