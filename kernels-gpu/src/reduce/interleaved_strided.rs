//! Interleaved addressing, improved: the same tree as `interleaved`, but thread `t` works on slot `2 * s * t`, so the
//! working threads are packed into the first warps and whole warps retire.
//!
//! That removes the divergence and the `%`. Bank conflicts remain: in step `s` the lanes of a warp are `2 * s` words
//! apart, so 2, 4, … 32 of them access different words of one bank, and each access takes that many passes.

use super::{Max, Min, Op, Sum, collective::element_or_identity};
use crate::number::Number;
use cuda_std::{kernel, shared::dynamic_shared_mem, thread};

/// The idea in one line.
pub const IDEA: &str = "the same tree with packed threads: no divergence, but bank conflicts";

/// Default number of threads per block; a power of two, at most 1024.
pub const BLOCK: u32 = 128;

/// Reduces each block's `block` elements to `output[block index]`.
///
/// # Safety
/// The block is a power of two; dynamic shared memory holds one `T` per thread; `output` one per block.
#[kernel(for O in [Sum, Max, Min], for T in [f32, f64, i32, u32, i64, u64])]
pub unsafe fn reduce_interleaved_strided<O: Op<T>, T: Number>(input: &[T], output: *mut T) {
    let values = dynamic_shared_mem::<T>();
    let (tid, block) = (thread::thread_idx_x(), thread::block_dim_x());
    let i = thread::block_idx_x() as usize * block as usize + tid as usize;

    // SAFETY: one slot per thread, and each thread writes its own.
    unsafe { values.add(tid as usize).write(element_or_identity::<O, T>(input, i)) };
    thread::sync_threads(); // all elements of the block are in shared memory

    let mut s = 1;
    while s < block {
        let index = 2 * s * tid;
        if index < block {
            // SAFETY: `index + s < block`, since both `index` and the block are multiples of `2 * s`; both slots were
            // written before the last barrier and only this thread touches them in this step.
            unsafe {
                let slot = values.add(index as usize);
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
