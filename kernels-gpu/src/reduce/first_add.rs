//! First add during load: a block covers two blocks' worth of elements, and each thread adds its two while loading.
//!
//! In `sequential` half of the threads load one element and then idle. Here every thread does one addition before the
//! tree starts, and half as many blocks pay for a tree.

use super::{Max, Min, Op, Sum, collective::element_or_identity, sequential::tree};
use crate::number::Number;
use cuda_std::{kernel, shared::dynamic_shared_mem, thread};

/// The idea in one line.
pub const IDEA: &str = "each thread adds two elements while loading: half the blocks, and no thread idles at the start";

/// Default number of threads per block; a power of two, at most 1024.
pub const BLOCK: u32 = 128;

/// Elements that one thread loads.
pub const PER_THREAD: usize = 2;

/// Reduces each block's `2 * block` elements to `output[block index]`.
///
/// # Safety
/// The block is a power of two; dynamic shared memory holds one `T` per thread; `output` one per block.
#[kernel(for O in [Sum, Max, Min], for T in [f32, f64, i32, u32, i64, u64])]
pub unsafe fn reduce_first_add<O: Op<T>, T: Number>(input: &[T], output: *mut T) {
    let values = dynamic_shared_mem::<T>();
    let (tid, block) = (thread::thread_idx_x(), thread::block_dim_x());
    let i = thread::block_idx_x() as usize * (PER_THREAD * block as usize) + tid as usize;

    let first = element_or_identity::<O, T>(input, i);
    let second = element_or_identity::<O, T>(input, i + block as usize);
    // SAFETY: one slot per thread, and each thread writes its own.
    unsafe { values.add(tid as usize).write(O::combine(first, second)) };
    thread::sync_threads(); // all of the block's pairs are in shared memory

    // SAFETY: the block is a power of two and reaches this call as a whole, and its slots were written before the
    // barrier.
    unsafe { tree::<O, T>(values, block / 2, 0) };

    if tid == 0 {
        // SAFETY: one output per block; slot 0 was written before the last barrier.
        unsafe { output.add(thread::block_idx_x() as usize).write(values.read()) };
    }
}
