//! Kogge and Stone's adder as a scan: the steps of `naive`, within a block and in shared memory.
//!
//! Thread `i` reads what thread `i - s` writes in the same step. With one buffer each step would need two barriers, one
//! between reading and writing and one between writing and reading; without the first there is a race. With two buffers
//! that swap roles one barrier per step is enough.

use super::element_or_identity;
use crate::number::Number;
use crate::reduce::{Max, Min, Op, Sum};
use cuda_std::{kernel, shared::dynamic_shared_mem, thread};

/// The idea in one line.
pub const IDEA: &str = "the same steps within a block: with two shared buffers, one barrier per step is enough";

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
/// One block per section; dynamic shared memory holds two `T` per thread; `output` has as many elements as `input` and
/// does not overlap it; `sums` has one per block.
#[kernel(for O in [Sum, Max, Min], for T in [f32, f64, i32, u32, i64, u64])]
pub unsafe fn scan_kogge_stone<O: Op<T>, T: Number>(input: &[T], exclusive: u32, output: *mut T, sums: *mut T) {
    let values = dynamic_shared_mem::<T>();
    let (tid, block) = (thread::thread_idx_x(), thread::block_dim_x());
    let i = thread::block_idx_x() as usize * section(block) as usize + tid as usize;

    // The buffers' first slots.
    let (mut from, mut to) = (0, block);
    // SAFETY: one slot per thread, and each thread writes its own.
    unsafe { values.add(tid as usize).write(element_or_identity::<O, T>(input, i)) };
    thread::sync_threads(); // separates the writes of the section from the first step's reads

    let mut s = 1;
    while s < block {
        // SAFETY: the source buffer was written before the last barrier and is only read in this step; the thread
        // writes its own slot of the destination buffer, which no thread reads before the next barrier.
        unsafe {
            let mut value = values.add((from + tid) as usize).read();
            if tid >= s {
                value = O::combine(values.add((from + tid - s) as usize).read(), value);
            }
            values.add((to + tid) as usize).write(value);
        }
        // Separates this step's writes from the next step's reads, and this step's reads from the next step's writes.
        thread::sync_threads();
        (from, to) = (to, from);
        s *= 2;
    }

    // SAFETY: the slots were written before the last barrier; `output` is as long as `input`, `sums` has one element
    // per block.
    unsafe {
        if i < input.len() {
            let value = match (exclusive, tid) {
                (0, _) => values.add((from + tid) as usize).read(),
                (_, 0) => O::identity(),
                _ => values.add((from + tid - 1) as usize).read(),
            };
            output.add(i).write(value);
        }
        if tid == 0 {
            sums.add(thread::block_idx_x() as usize).write(values.add((from + block - 1) as usize).read());
        }
    }
}
