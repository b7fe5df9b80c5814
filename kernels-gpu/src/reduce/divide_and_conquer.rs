//! Divide and conquer: the input is cut into one contiguous part per thread, each thread reduces its part by itself,
//! and the parts' results are combined by halves.
//!
//! Threads of a CPU share a vector in this way, each streaming through its own part of memory. On a GPU 32 lanes read
//! at the same time, a part's length apart: every load is 32 sectors, of which one eighth is used. `grid_stride`
//! differs only in the elements that a thread takes.

use super::{Max, Min, Op, Sum, sequential::tree};
use crate::number::Number;
use cuda_std::{kernel, shared::dynamic_shared_mem, thread};

/// The idea in one line.
pub const IDEA: &str = "a contiguous part per thread, as on a CPU: each load of a warp touches 32 sectors";

/// Default number of threads per block; a power of two, at most 1024.
pub const BLOCK: u32 = 256;

/// Reduces the input to one value per block, `output[block index]`.
///
/// # Safety
/// The block is a power of two; dynamic shared memory holds one `T` per thread; `output` one per block.
#[kernel(for O in [Sum, Max, Min], for T in [f32, f64, i32, u32, i64, u64])]
pub unsafe fn reduce_divide_and_conquer<O: Op<T>, T: Number>(input: &[T], output: *mut T) {
    let results = dynamic_shared_mem::<T>();
    let (tid, block) = (thread::thread_idx_x(), thread::block_dim_x());

    // Divide: threads past the end have no elements.
    let part = input.len().div_ceil(thread::grid_stride().max(1));
    let mut i = thread::global_index() * part;
    let end = (i + part).min(input.len());
    let mut value = O::identity();
    while i < end {
        // SAFETY: `end` is at most the length.
        value = O::combine(value, unsafe { *input.get_unchecked(i) });
        i += 1;
    }
    // SAFETY: one slot per thread, and each thread writes its own.
    unsafe { results.add(tid as usize).write(value) };
    thread::sync_threads(); // every part's result is in shared memory

    // Conquer: halves of halves.
    // SAFETY: the block is a power of two and reaches this call as a whole, and its slots were written before the
    // barrier.
    unsafe { tree::<O, T>(results, block / 2, 0) };

    if tid == 0 {
        // SAFETY: one output per block; slot 0 was written before the last barrier.
        unsafe { output.add(thread::block_idx_x() as usize).write(results.read()) };
    }
}
