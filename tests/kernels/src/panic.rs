//! Panics: each must print the message, the source location and the thread, and stop the launch. Their cases are among
//! the planted bugs.

use cuda_std::prelude::*;

/// Thread 3 of block 1 indexes beyond the slice.
#[kernel]
pub unsafe fn panic_index(input: &[u32], out: *mut u32) {
    let i = thread::global_index();
    let value = input[i]; // FINDING panic_index
    // SAFETY: `out` has one value per thread.
    unsafe { *out.add(i) = value };
}

/// One thread panics with a formatted message.
#[kernel(allow(local_memory))]
pub unsafe fn panic_message(limit: u32) {
    let t = thread::thread_idx_x();
    if t == limit {
        panic!("thread {t} reached the limit of {limit}"); // FINDING panic_message
    }
}

/// One thread calls `expect` on `None`.
#[kernel]
pub unsafe fn panic_unwrap(divisor: u32) {
    let _ = thread::thread_idx_x().checked_rem(divisor).expect("a divisor that is not zero"); // FINDING panic_unwrap
}
