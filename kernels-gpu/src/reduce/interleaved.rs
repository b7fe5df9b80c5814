//! Interleaved addressing: in step `s` = 1, 2, 4, … every thread whose index is a multiple of `2 * s` takes over its
//! neighbour's value, `s` to the right.
//!
//! The working threads are spread over all warps, so in every step every warp runs with few lanes active (divergence).
//! And `%` by a variable is a long instruction sequence, unless the compiler sees that `2 * s` is a power of two: LLVM
//! does and writes a mask, nvcc does not. It is the first kernel of the ladder and the baseline of every table.

use super::{Max, Min, Op, Sum, collective::element_or_identity};
use crate::number::Number;
use cuda_std::{kernel, shared::dynamic_shared_mem, thread};

/// The idea in one line.
pub const IDEA: &str = "a tree in shared memory; `tid % (2 * s)` selects the threads, so every warp diverges";

/// Default number of threads per block; a power of two, at most 1024.
pub const BLOCK: u32 = 128;

/// Reduces each block's `block` elements to `output[block index]`.
///
/// # Safety
/// The block is a power of two; dynamic shared memory holds one `T` per thread; `output` one per block.
#[kernel(for O in [Sum, Max, Min], for T in [f32, f64, i32, u32, i64, u64])]
pub unsafe fn reduce_interleaved<O: Op<T>, T: Number>(input: &[T], output: *mut T) {
    let values = dynamic_shared_mem::<T>();
    let (tid, block) = (thread::thread_idx_x(), thread::block_dim_x());
    let i = thread::block_idx_x() as usize * block as usize + tid as usize;

    // SAFETY: one slot per thread, and each thread writes its own.
    unsafe { values.add(tid as usize).write(element_or_identity::<O, T>(input, i)) };
    thread::sync_threads(); // all elements of the block are in shared memory

    let mut s = 1;
    while s < block {
        if tid.checked_rem(2 * s) == Some(0) {
            // SAFETY: `tid + s < block`, since `tid` is a multiple of `2 * s` and the block is one too; the neighbour's
            // slot was written before the last barrier and only this thread touches both slots in this step.
            unsafe {
                let slot = values.add(tid as usize);
                slot.write(O::combine(slot.read(), slot.add(s as usize).read()));
            }
        }
        thread::sync_threads(); // this step's results are written before the next step reads them
        s *= 2;
    }

    if tid == 0 {
        // SAFETY: one output per block; slot 0 was written before the last barrier.
        unsafe { output.add(thread::block_idx_x() as usize).write(values.read()) };
    }
}
