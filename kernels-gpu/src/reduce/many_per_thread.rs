//! Many elements per thread: a grid of fixed size, and each thread combines pairs of elements until the input ends.
//!
//! The tree costs log2(block) steps per block however many elements fed it, so the more elements per thread, the
//! cheaper the tree (Brent's theorem: n / log n threads with log n elements each). The loop runs at the speed of
//! memory.

use super::{Max, Min, Op, Sum, WARP, collective::element_or_identity, sequential::tree, unroll_last_warp::last_warp};
use crate::number::Number;
use cuda_std::{kernel, shared::dynamic_shared_mem, thread};

/// The idea in one line.
pub const IDEA: &str = "a fixed grid and many elements per thread: each block pays for its tree once";

/// Default number of threads per block; a power of two from 64 to 1024.
pub const BLOCK: u32 = 256;

/// Reduces the input to one value per block, `output[block index]`.
///
/// # Safety
/// The block is a power of two, at least 64; dynamic shared memory holds one `T` per thread; `output` one per block.
#[kernel(for O in [Sum, Max, Min], for T in [f32, f64, i32, u32, i64, u64])]
pub unsafe fn reduce_many_per_thread<O: Op<T>, T: Number>(input: &[T], output: *mut T) {
    let values = dynamic_shared_mem::<T>();
    let (tid, block) = (thread::thread_idx_x(), thread::block_dim_x());
    let step = 2 * block as usize * thread::grid_dim_x() as usize;

    let mut value = O::identity();
    let mut i = thread::block_idx_x() as usize * (2 * block as usize) + tid as usize;
    while i < input.len() {
        value = O::combine(value, O::combine(input[i], element_or_identity::<O, T>(input, i + block as usize)));
        i += step;
    }
    // SAFETY: one slot per thread, and each thread writes its own.
    unsafe { values.add(tid as usize).write(value) };
    thread::sync_threads(); // every thread's value is in shared memory

    // SAFETY: the block is a power of two and reaches this call as a whole, and its slots were written before the
    // barrier.
    unsafe { tree::<O, T>(values, block / 2, WARP) };

    if tid < WARP {
        // SAFETY: at least 64 slots, all written before the last barrier; the whole of warp 0 reaches this call.
        let value = unsafe { last_warp::<O, T>(values) };
        if tid == 0 {
            // SAFETY: one output per block.
            unsafe { output.add(thread::block_idx_x() as usize).write(value) };
        }
    }
}
