//! Kogge and Stone's prefix sum as a reduction: after log2(block) steps each slot has the total of everything up to it,
//! and the last one the total of all.
//!
//! In step `s` = 1, 2, 4, … every thread except the first `s` adds the slot `s` to its left. No thread is idle and no
//! warp diverges until the end, but the work is larger: a tree needs `block - 1` additions, this takes almost
//! `block * log2(block)`, and the totals in the other slots are not used. Slots are read from one half of the array and
//! written to the other: in place, a thread would overwrite a value that its neighbour has not read yet.

use super::{Max, Min, Op, Sum, collective::element_or_identity};
use crate::number::Number;
use cuda_std::{kernel, shared::dynamic_shared_mem, thread};

/// The idea in one line.
pub const IDEA: &str = "a prefix sum whose last value is the total: no thread idles, but most of the work is discarded";

/// Default number of threads per block; a power of two, at most 1024.
pub const BLOCK: u32 = 256;

/// Reduces each block's `block` elements to `output[block index]`.
///
/// # Safety
/// The block is a power of two; dynamic shared memory holds two `T` per thread; `output` one per block.
#[kernel(for O in [Sum, Max, Min], for T in [f32, f64, i32, u32, i64, u64])]
pub unsafe fn reduce_kogge_stone<O: Op<T>, T: Number>(input: &[T], output: *mut T) {
    let values = dynamic_shared_mem::<T>();
    let (tid, block) = (thread::thread_idx_x(), thread::block_dim_x());
    let i = thread::block_idx_x() as usize * block as usize + tid as usize;
    // SAFETY: two halves of a slot per thread.
    let slot = |half: u32, thread: u32| unsafe { values.add((half * block + thread) as usize) };

    let mut value = element_or_identity::<O, T>(input, i);
    // SAFETY: each thread writes its own slot.
    unsafe { slot(0, tid).write(value) };
    thread::sync_threads(); // all elements of the block are in the first half

    let (mut s, mut from) = (1, 0);
    while s < block {
        if tid >= s {
            // SAFETY: the half was written before the last barrier, and is not written in this step.
            value = O::combine(unsafe { slot(from, tid - s).read() }, value);
        }
        from = 1 - from;
        // SAFETY: each thread writes its own slot, of the half that was last read before the last barrier.
        unsafe { slot(from, tid).write(value) };
        thread::sync_threads(); // this step's totals are written before the next step reads them
        s *= 2;
    }
    if tid == block - 1 {
        // SAFETY: one output per block.
        unsafe { output.add(thread::block_idx_x() as usize).write(value) };
    }
}
