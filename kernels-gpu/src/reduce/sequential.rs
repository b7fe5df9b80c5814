//! Sequential addressing: the stride starts at half the block and halves, and thread `t` adds slot `t + s` to slot `t`.
//!
//! Neighbouring lanes touch neighbouring words, so there are no bank conflicts, and the working threads are the first
//! `s`, so there is no divergence until one warp is left. Half of the threads only load.

use super::{Max, Min, Op, Sum, collective::element_or_identity};
use crate::number::Number;
use cuda_std::{kernel, shared::dynamic_shared_mem, thread};

/// The idea in one line.
pub const IDEA: &str = "the stride shrinks instead of growing: neighbouring threads, neighbouring banks";

/// Default number of threads per block; a power of two, at most 1024.
pub const BLOCK: u32 = 128;

/// Reduces each block's `block` elements to `output[block index]`.
///
/// # Safety
/// The block is a power of two; dynamic shared memory holds one `T` per thread; `output` one per block.
#[kernel(for O in [Sum, Max, Min], for T in [f32, f64, i32, u32, i64, u64])]
pub unsafe fn reduce_sequential<O: Op<T>, T: Number>(input: &[T], output: *mut T) {
    let values = dynamic_shared_mem::<T>();
    let (tid, block) = (thread::thread_idx_x(), thread::block_dim_x());
    let i = thread::block_idx_x() as usize * block as usize + tid as usize;

    // SAFETY: one slot per thread, and each thread writes its own.
    unsafe { values.add(tid as usize).write(element_or_identity::<O, T>(input, i)) };
    thread::sync_threads(); // all elements of the block are in shared memory

    // SAFETY: the block is a power of two and reaches this call as a whole, and its slots were written before the
    // barrier.
    unsafe { tree::<O, T>(values, block / 2, 0) };

    if tid == 0 {
        // SAFETY: one output per block; slot 0 was written before the last barrier.
        unsafe { output.add(thread::block_idx_x() as usize).write(values.read()) };
    }
}

/// Halves `2 * from` values in shared memory until `until` of them are left in the first slots; `until` = 0 leaves one.
///
/// # Safety
/// All threads of the block call it together; `from` is 0 or a power of two with `2 * from` slots that were written
/// before a barrier.
#[inline(always)]
pub(crate) unsafe fn tree<O: Op<T>, T: Number>(values: *mut T, from: u32, until: u32) {
    let tid = thread::thread_idx_x();
    let mut s = from;
    while s > until {
        if tid < s {
            // SAFETY: `tid + s < 2 * s <= 2 * from`; slots `s..2 * s` were written before the last barrier and are only
            // read in this step, slots `..s` belong to one thread each.
            unsafe {
                let slot = values.add(tid as usize);
                slot.write(O::combine(slot.read(), slot.add(s as usize).read()));
            }
        }
        thread::sync_threads(); // this step's results are written before the next step reads them
        s /= 2;
    }
}
