//! `println!` as on the host: the text is formatted in the thread's local memory, and passed to the driver in one
//! piece.

use super::{double, prints};
use cuda_std::{kernel, println, thread, view::DisjointSlice};

/// The idea in one line.
pub const IDEA: &str = "Rust's `println!`: formatted on the device, for any `Display`";

/// Doubles all elements; threads `first` to `first + count - 1` of the grid print. The launch has a thread for each
/// element.
#[kernel]
pub fn print_println(input: &[i32], first: u32, count: u32, output: DisjointSlice<i32>) {
    if let Some((i, value)) = double(input, output)
        && prints(i, first, count)
    {
        println!("block {} thread {}: value is {value}", thread::block_idx_x(), thread::thread_idx_x());
    }
}
