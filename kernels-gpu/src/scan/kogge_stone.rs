//! Kogge and Stone's adder as a scan: the steps of the naive one, inside a block and in shared memory.
//!
//! Thread `i` reads what thread `i - s` writes in the same step. In one buffer each step would need two barriers,
//! between reading and writing and between writing and reading; without the first one it is a race. Two buffers that
//! swap roles need one barrier.

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

/// Scans each block's section of the input and writes its total to `sums[block index]`. `exclusive` is 0 or 1.
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
    thread::sync_threads(); // the section is in shared memory before anyone reads it

    let mut s = 1;
    while s < block {
        // SAFETY: slots of the buffer that this step only reads, which was written before the last barrier; and the own
        // one of the buffer that no thread reads until the next.
        unsafe {
            let mut value = values.add((from + tid) as usize).read();
            if tid >= s {
                value = O::combine(values.add((from + tid - s) as usize).read(), value);
            }
            values.add((to + tid) as usize).write(value);
        }
        // This step's results are there before the next one reads them and overwrites what this one read.
        thread::sync_threads();
        (from, to) = (to, from);
        s *= 2;
    }

    // SAFETY: slots that were written before the last barrier; `output` is as long as `input`, `sums` has one element
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
