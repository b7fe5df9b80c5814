//! Each thread sums its products and stores the sum in its block's shared memory; a tree reduces these to one sum per
//! block, and the host adds the sums of all blocks.
//!
//! This is the dot product of the dot-product slides (`docs/sources.md`) and of "CUDA by Example". The slides recommend
//! the addition on the host for few blocks; but the host has to wait for the grid, and the copy there and back costs
//! more than a second launch.

use super::{Real, grid_share};
use crate::reduce::{Sum, sequential::tree};
use cuda_std::{kernel, shared::dynamic_shared_mem, thread};

/// The idea in one line.
pub const IDEA: &str = "a tree in each block's shared memory, and the host adds the blocks' sums";

/// Default number of threads per block; a power of two, at most 1024.
pub const BLOCK: u32 = 256;

/// Writes each block's sum of products to `output[block index]`.
///
/// # Safety
/// The block is a power of two; dynamic shared memory holds one `T` per thread; `output` one per block.
#[kernel(for T in [f32, f64])]
pub unsafe fn dot_host_sum<T: Real>(a: &[T], b: &[T], output: *mut T) {
    let cache = dynamic_shared_mem::<T>();
    let (tid, block) = (thread::thread_idx_x(), thread::block_dim_x());

    // SAFETY: there is a slot for each thread, and each thread writes its own.
    unsafe { cache.add(tid as usize).write(grid_share(a, b)) };
    thread::sync_threads(); // every thread's sum is stored before the tree reads it

    // SAFETY: the block is a power of two, all of it reaches this call, and its slots were written before the barrier.
    unsafe { tree::<Sum, T>(cache, block / 2, 0) };

    if tid == 0 {
        // SAFETY: `output` has one element per block; slot 0 was written before the last barrier.
        unsafe { output.add(thread::block_idx_x() as usize).write(cache.read()) };
    }
}
