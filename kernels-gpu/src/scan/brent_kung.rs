//! Brent and Kung's adder as a scan: an up-sweep through a reduction tree and a down-sweep through its mirror image, in
//! one array.
//!
//! After the up-sweep, the slots 1, 3, 7, … (counted from 0) of each tree hold its sums; the down-sweep adds them to
//! the slots between. Each thread has two elements. The work is 2 n - 2 - log n additions for n elements, linear in n.
//! The active threads have neighbouring indices, so that warps diverge only where fewer than 32 threads are active, but
//! their strides of 2, 4, 8, … cause bank conflicts.

use super::element_or_identity;
use crate::number::Number;
use crate::reduce::{Max, Min, Op, Sum};
use cuda_std::{kernel, shared::dynamic_shared_mem, thread};

/// The idea in one line.
pub const IDEA: &str = "a tree up and its mirror image down: 2 n additions instead of n log n";

/// Default number of threads per block; a power of two from 1 to 1024.
pub const BLOCK: u32 = 256;

/// Elements of a block's section.
pub const fn section(block: u32) -> u32 {
    2 * block
}

/// Scans each block's section of the input and writes its total to `sums[block index]`. `exclusive` is 0 or 1. The
/// result is the same in every run; [`scan`](crate::scan) states the error bound of float sums.
///
/// # Safety
/// One block per section, a power of two; dynamic shared memory holds two `T` per thread; `output` has as many elements
/// as `input` and does not overlap it; `sums` has one per block.
#[kernel(for O in [Sum, Max, Min], for T in [f32, f64, i32, u32, i64, u64])]
pub unsafe fn scan_brent_kung<O: Op<T>, T: Number>(input: &[T], exclusive: u32, output: *mut T, sums: *mut T) {
    let values = dynamic_shared_mem::<T>();
    let (tid, block) = (thread::thread_idx_x(), thread::block_dim_x());
    let section = section(block);
    let first = thread::block_idx_x() as usize * section as usize;

    let mut k = tid;
    while k < section {
        // SAFETY: each slot is written by one thread.
        unsafe { values.add(k as usize).write(element_or_identity::<O, T>(input, first + k as usize)) };
        k += block;
    }

    // Up-sweep: slot `at` becomes the sum of the `2 * s` slots that end there.
    let mut s = 1;
    while s < section {
        thread::sync_threads(); // separates the writes of the step before from this step's reads
        let at = (tid + 1) * s * 2 - 1;
        if at < section {
            // SAFETY: both slots lie in the section. Slots `at` belong to one thread each, and slots `at - s` are only
            // read.
            unsafe { add_to::<O, T>(values, at - s, at) };
        }
        s *= 2;
    }

    // Down-sweep: slot `at`, which holds the sum of everything up to it, completes the slot half a tree after it.
    s = block / 2;
    while s > 0 {
        thread::sync_threads(); // separates the writes of the step before from this step's reads
        let at = (tid + 1) * s * 2 - 1;
        if at + s < section {
            // SAFETY: both slots lie in the section. Slots `at + s` belong to one thread each, and slots `at` are only
            // read.
            unsafe { add_to::<O, T>(values, at, at + s) };
        }
        s /= 2;
    }
    thread::sync_threads(); // separates the last step's writes from the reads of the result

    let mut k = tid;
    while k < section && first + (k as usize) < input.len() {
        // SAFETY: the slots belong to the section and were written before the last barrier; `output` is as long as
        // `input`.
        unsafe {
            let value = match (exclusive, k) {
                (0, _) => values.add(k as usize).read(),
                (_, 0) => O::identity(),
                _ => values.add(k as usize - 1).read(),
            };
            output.add(first + k as usize).write(value);
        }
        k += block;
    }
    if tid == 0 {
        // SAFETY: one total per block; the last slot was written before the last barrier.
        unsafe { sums.add(thread::block_idx_x() as usize).write(values.add(section as usize - 1).read()) };
    }
}

/// Writes the combination of slots `from` and `to`, in this order, to slot `to`.
///
/// # Safety
/// Both are initialised, no other thread accesses `to` and none writes `from` before the next barrier.
#[inline(always)]
unsafe fn add_to<O: Op<T>, T: Number>(values: *mut T, from: u32, to: u32) {
    // SAFETY: the caller upholds this function's contract.
    unsafe {
        let slot = values.add(to as usize);
        slot.write(O::combine(values.add(from as usize).read(), slot.read()));
    }
}
