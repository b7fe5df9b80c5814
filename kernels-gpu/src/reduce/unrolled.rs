//! Completely unrolled: the block size is a constant of the kernel, and with it every step of the tree.
//!
//! The loop counter, its comparison and its branch are gone; each step is a test of the thread index, an addition and a
//! barrier. The price is one kernel per block size.

use super::{Max, Min, Op, Sum, WARP, collective::element_or_identity, sequential::tree, unroll_last_warp::last_warp};
use crate::number::Number;
use cuda_std::{kernel, shared::dynamic_shared_mem, thread};

/// The idea in one line.
pub const IDEA: &str = "the block size is a compile-time constant: the loop and its tests disappear";

/// Default number of threads per block.
pub const BLOCK: u32 = 128;

/// The block sizes for which there is a kernel.
pub const BLOCKS: [u32; 3] = [128, 256, 512];

/// Elements that one thread loads.
pub const PER_THREAD: usize = 2;

/// Reduces each block's `2 * B` elements to `output[block index]`.
///
/// # Safety
/// The block is `B` threads; dynamic shared memory holds one `T` per thread; `output` one per block.
#[kernel(for O in [Sum, Max, Min], for T in [f32, f64, i32, u32, i64, u64], for B in [128, 256, 512])]
pub unsafe fn reduce_unrolled<O: Op<T>, T: Number, const B: u32>(input: &[T], output: *mut T) {
    const { assert!(B.is_power_of_two() && B >= 2 * WARP && B <= 1024) };
    let values = dynamic_shared_mem::<T>();
    let tid = thread::thread_idx_x();
    let i = thread::block_idx_x() as usize * (PER_THREAD * B as usize) + tid as usize;

    let first = element_or_identity::<O, T>(input, i);
    let second = element_or_identity::<O, T>(input, i + B as usize);
    // SAFETY: one slot per thread, and each thread writes its own.
    unsafe { values.add(tid as usize).write(O::combine(first, second)) };
    thread::sync_threads(); // all of the block's pairs are in shared memory

    // Every argument is a constant, so the compiler unrolls the steps.
    // SAFETY: the block is a power of two and reaches this call as a whole, and its slots were written before the
    // barrier.
    unsafe { tree::<O, T>(values, B / 2, WARP) };

    if tid < WARP {
        // SAFETY: at least 64 slots, all written before the last barrier; the whole of warp 0 reaches this call.
        let value = unsafe { last_warp::<O, T>(values) };
        if tid == 0 {
            // SAFETY: one output per block.
            unsafe { output.add(thread::block_idx_x() as usize).write(value) };
        }
    }
}
