//! Accesses outside of what was allocated.

use core::mem::MaybeUninit;

use cuda_std::prelude::*;

#[address_space(shared)]
static mut SMALL: [MaybeUninit<u32>; 64] = [const { MaybeUninit::uninit() }; 64];

/// Writes by every thread, also by those beyond the end: `if i < n` is missing.
#[kernel]
pub unsafe fn bounds_write(out: *mut u32) {
    let i = thread::global_index();
    // SAFETY: none: the missing check is the point.
    unsafe { *out.add(i) = i as u32 }; // FINDING bounds_write
}

/// Reads the right neighbour, which the last thread does not have.
#[kernel]
pub unsafe fn bounds_read(input: &[u32], out: *mut u32) {
    let i = thread::global_index();
    // SAFETY: none: the missing check is the point.
    unsafe { *out.add(i) = *input.as_ptr().add(i + 1) }; // FINDING bounds_read
}

/// One thread more than the shared array has places.
#[kernel]
pub unsafe fn bounds_shared(out: *mut u32) {
    let small = (&raw mut SMALL).cast::<u32>();
    let t = thread::thread_idx_x() as usize;
    // SAFETY: none: the array that is too small is the point.
    unsafe {
        *small.add(t) = t as u32; // FINDING bounds_shared
        thread::sync_threads(); // the array is written before it is read
        *out.add(t) = *small.add(t ^ 1);
    }
}
