//! Grid stride with shared memory: each thread reduces its elements in a register, advancing by the size of the grid;
//! then a tree reduces the block's values in shared memory.
//!
//! It is the `VecMax` of the max-reduction notes (`docs/sources.md`): any length, coalesced, one value per block. The
//! notes start from `RAND_MIN`, which is wrong for inputs that are all smaller; the identity of the operation is right.

use super::{Max, Min, Op, Sum, sequential::tree};
use crate::number::Number;
use cuda_std::{kernel, shared::dynamic_shared_mem, thread};

/// The idea in one line.
pub const IDEA: &str = "each thread strides over the input by the size of the grid, then a tree in shared memory";

/// Default number of threads per block; a power of two, at most 1024.
pub const BLOCK: u32 = 256;

/// Reduces the input to one value per block, `output[block index]`.
///
/// # Safety
/// The block is a power of two; dynamic shared memory holds one `T` per thread; `output` one per block.
#[kernel(for O in [Sum, Max, Min], for T in [f32, f64, i32, u32, i64, u64])]
pub unsafe fn reduce_grid_stride<O: Op<T>, T: Number>(input: &[T], output: *mut T) {
    let cache = dynamic_shared_mem::<T>();
    let (tid, block) = (thread::thread_idx_x(), thread::block_dim_x());

    // SAFETY: one slot per thread, and each thread writes its own.
    unsafe { cache.add(tid as usize).write(grid_share::<O, T>(input)) };
    thread::sync_threads(); // every thread's value is in the cache

    // SAFETY: the block is a power of two and reaches this call as a whole, and its slots were written before the
    // barrier.
    unsafe { tree::<O, T>(cache, block / 2, 0) };

    if tid == 0 {
        // SAFETY: one output per block; slot 0 was written before the last barrier.
        unsafe { output.add(thread::block_idx_x() as usize).write(cache.read()) };
    }
}

/// Combines the elements `t`, `t + threads`, `t + 2 * threads`, … of the calling thread, the `t`-th of the grid.
#[inline(always)]
pub(super) fn grid_share<O: Op<T>, T: Number>(input: &[T]) -> T {
    let block = thread::block_dim_x() as usize;
    let mut value = O::identity();
    let mut i = thread::block_idx_x() as usize * block + thread::thread_idx_x() as usize;
    while i < input.len() {
        value = O::combine(value, input[i]);
        i += block * thread::grid_dim_x() as usize;
    }
    value
}
