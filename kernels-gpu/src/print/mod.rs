//! Printing: every thread doubles its element, and a few of them say so.
//!
//! A kernel has no terminal. What it prints goes to a buffer on the device, which the driver writes to the host's
//! standard output when the host next waits; the slides' `cuPrintf` made that buffer by hand. Threads print in any
//! order, and when the buffer is full (1 MiB unless the host asks for more) the oldest text is lost: with thousands of
//! threads, choose who prints.
//!
//! The rungs: [`println`] and [`printf`] print from each chosen thread, [`one_per_warp`] once for 32 threads.
//!
//! The price is in the code: arguments go through memory of the thread's own, and formatting in Rust brings functions
//! along that are called through pointers, so that the compiler no longer knows a kernel's registers and stack
//! (`cuda_std::io` has numbers). Print to find a mistake or to show a result; the result that counts is the one in
//! memory, and that is what is checked here.
//!
//! Source: the slides "CUDA: more on threads, shared memory, synchronization".

use cuda_std::thread;

pub mod one_per_warp;
pub mod printf;
pub mod println;

/// Threads per block unless the caller asks otherwise.
pub const BLOCK: u32 = 256;

/// Doubles the calling thread's element, if it has one; gives its number and what was read.
///
/// # Safety
/// `output` is as long as `input` and does not overlap it; each element has one thread.
#[inline(always)]
unsafe fn double(input: &[i32], output: *mut i32) -> Option<(usize, i32)> {
    let i = thread::global_index();
    if i >= input.len() {
        return None;
    }
    let value = input[i];
    // SAFETY: an index, of this thread alone.
    unsafe { output.add(i).write(value.wrapping_mul(2)) };
    Some((i, value))
}

/// Whether thread `i` is among the `count` ones from `first` on.
#[inline(always)]
fn prints(i: usize, first: u32, count: u32) -> bool {
    i.wrapping_sub(first as usize) < count as usize
}
