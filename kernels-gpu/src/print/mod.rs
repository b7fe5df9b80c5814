//! Printing: every thread doubles its element, and some of them print it.
//!
//! Printed text goes to a buffer on the device, which the driver writes to the host's standard output when the host
//! next waits for the device; the library `cuPrintf` of the dot-product slides (`docs/sources.md`) managed such a
//! buffer itself. Threads print in any order, and text beyond the size of the buffer (1 MiB unless the host sets
//! another) overwrites the oldest: with thousands of threads, choose those that print.
//!
//! The rungs: [`println`] and [`printf`] print from each chosen thread, [`one_per_warp`] once for 32 threads.
//!
//! Printing makes the code more expensive: arguments are passed through local memory, and Rust's formatting calls
//! functions through pointers, so that the compiler can no longer compute a kernel's registers and stack
//! (`cuda_std::io` has numbers). Print to find a mistake or to show a result; the result that is checked here is the
//! one in memory.
//!
//! Source: the dot-product slides (`docs/sources.md`).

use cuda_std::{thread, view::DisjointSlice};

pub mod one_per_warp;
pub mod printf;
pub mod println;

/// Default number of threads per block.
pub const BLOCK: u32 = 256;

/// Doubles the calling thread's element, if it has one; returns its index and the value that was read.
#[inline(always)]
fn double(input: &[i32], mut output: DisjointSlice<i32>) -> Option<(usize, i32)> {
    let i = thread::unique_index();
    let (&value, out) = input.get(i.get()).zip(output.get_mut(i))?;
    *out = value.wrapping_mul(2);
    Some((i.get(), value))
}

/// Whether thread `i` is one of the `count` threads from `first` on.
#[inline(always)]
fn prints(i: usize, first: u32, count: u32) -> bool {
    i.wrapping_sub(first as usize) < count as usize
}
