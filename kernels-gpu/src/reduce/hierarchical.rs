//! Hierarchical: each level of the machine reduces by its fastest means, registers in a thread, shuffles in a warp,
//! shared memory in a block, and launches for the grid.
//!
//! A thread has eight loads in flight and combines them as a tree in registers, where it costs no synchronisation at
//! all; 32 values become one by five shuffles, and the warps of a block synchronise once. So a block of 256 threads
//! turns 2048 elements into one, and three launches are enough for 2^33.

use super::{
    Max, Min, Op, Sum,
    collective::{block_reduce, element_or_identity},
};
use crate::number::Number;
use cuda_std::{kernel, thread};

/// The idea in one line.
pub const IDEA: &str = "registers in a thread, shuffles in a warp, shared memory in a block, launches for the grid";

/// Default number of threads per block; a multiple of 32, at most 1024.
pub const BLOCK: u32 = 256;

/// Elements that one thread loads.
pub const PER_THREAD: usize = 8;

/// Reduces each block's `8 * block` elements to `output[block index]`.
///
/// # Safety
/// The block is a multiple of 32; `output` has one element per block.
#[kernel(for O in [Sum, Max, Min], for T in [f32, f64, i32, u32, i64, u64])]
pub unsafe fn reduce_hierarchical<O: Op<T>, T: Number>(input: &[T], output: *mut T) {
    let block = thread::block_dim_x() as usize;
    let first = thread::block_idx_x() as usize * (PER_THREAD * block) + thread::thread_idx_x() as usize;

    // The thread's level: neighbouring lanes load neighbouring elements in every round.
    let mut values: [T; PER_THREAD] = core::array::from_fn(|k| element_or_identity::<O, T>(input, first + k * block));
    let mut half = PER_THREAD / 2;
    while half > 0 {
        let mut k = 0;
        while k < half {
            values[k] = O::combine(values[k], values[k + half]);
            k += 1;
        }
        half /= 2;
    }
    // The levels of the warp and of the block.
    // SAFETY: every thread of the block reaches this call, and the block consists of whole warps.
    let value = unsafe { block_reduce::<O, T>(values[0]) };
    if thread::thread_idx_x() == 0 {
        // The level of the grid is the next launch.
        // SAFETY: one output per block.
        unsafe { output.add(thread::block_idx_x() as usize).write(value) };
    }
}
