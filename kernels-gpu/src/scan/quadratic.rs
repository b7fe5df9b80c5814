//! Independent threads: thread `i` adds up the elements of its block's section from the first to its own.
//!
//! This is the plain way to parallelise a serial loop: no thread waits for another's result. But the same sums are
//! computed repeatedly, n^2 / 2 additions for a section of n elements, and the threads of a warp have loops of
//! different lengths.

use super::element_or_identity;
use crate::number::Number;
use crate::reduce::{Max, Min, Op, Sum};
use cuda_std::{kernel, shared::dynamic_shared_mem, thread};

/// The idea in one line.
pub const IDEA: &str = "each thread adds up all elements before its own: n^2 / 2 additions per block";

/// Default number of threads per block; a power of two from 2 to 1024.
pub const BLOCK: u32 = 256;

/// Elements of a block's section.
pub const fn section(block: u32) -> u32 {
    block
}

/// Scans each block's section of the input and writes its total to `sums[block index]`. `exclusive` is 0 or 1. The
/// result is the same in every run; [`scan`](crate::scan) states the error bound of float sums.
///
/// # Safety
/// One block per section; dynamic shared memory holds one `T` per thread; `output` has as many elements as `input` and
/// does not overlap it; `sums` has one per block.
#[kernel(for O in [Sum, Max, Min], for T in [f32, f64, i32, u32, i64, u64])]
pub unsafe fn scan_quadratic<O: Op<T>, T: Number>(input: &[T], exclusive: u32, output: *mut T, sums: *mut T) {
    let values = dynamic_shared_mem::<T>();
    let (tid, block) = (thread::thread_idx_x(), thread::block_dim_x());
    let i = thread::block_idx_x() as usize * section(block) as usize + tid as usize;

    let own = element_or_identity::<O, T>(input, i);
    // SAFETY: one slot per thread, and each thread writes its own.
    unsafe { values.add(tid as usize).write(own) };
    thread::sync_threads(); // separates the writes of the section from its reads

    let mut before = O::identity();
    let mut k = 0;
    while k < tid {
        // SAFETY: the slot lies below the thread's own and was written before the barrier.
        before = O::combine(before, unsafe { values.add(k as usize).read() });
        k += 1;
    }
    let after = O::combine(before, own);
    if i < input.len() {
        // SAFETY: `output` is as long as `input`, and no other thread has this `i`.
        unsafe { output.add(i).write(if exclusive != 0 { before } else { after }) };
    }
    if tid == block - 1 {
        // SAFETY: each block writes its own total only.
        unsafe { sums.add(thread::block_idx_x() as usize).write(after) };
    }
}
