//! Accesses outside the allocated memory.

use core::mem::MaybeUninit;

use cuda_std::prelude::*;

#[address_space(shared)]
static mut SMALL: [MaybeUninit<u32>; 64] = [const { MaybeUninit::uninit() }; 64];

/// Every thread writes, including those beyond the end: `if i < n` is missing.
#[kernel]
pub unsafe fn bounds_write(out: *mut u32) {
    let i = thread::global_index();
    // SAFETY: this code is wrong on purpose: the check of the bounds is missing.
    unsafe { *out.add(i) = i as u32 }; // FINDING bounds_write
}

/// Each thread reads its right neighbour's element, which does not exist for the last thread.
#[kernel]
pub unsafe fn bounds_read(input: &[u32], out: *mut u32) {
    let i = thread::global_index();
    // SAFETY: this code is wrong on purpose: the check of the bounds is missing.
    unsafe { *out.add(i) = *input.as_ptr().add(i + 1) }; // FINDING bounds_read
}

/// The block has one thread more than the shared array has elements.
#[kernel]
pub unsafe fn bounds_shared(out: *mut u32) {
    let small = (&raw mut SMALL).cast::<u32>();
    let t = thread::thread_idx_x() as usize;
    // SAFETY: this code is wrong on purpose: the array is too small.
    unsafe {
        *small.add(t) = t as u32; // FINDING bounds_shared
        thread::sync_threads(); // the array is written before it is read
        *out.add(t) = *small.add(t ^ 1);
    }
}
