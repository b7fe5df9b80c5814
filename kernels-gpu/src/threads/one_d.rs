//! Ids in one dimension: the number of threads in the blocks before, plus the index in the own block.
//!
//! In a launch that also extends along y or z, threads that differ only there get the same id: one element would be
//! processed twice and another not at all.

use super::write_down;
use cuda_std::{
    kernel,
    thread::{block_dim_x, block_idx_x, thread_idx_x},
};

/// The idea in one line.
pub const IDEA: &str = "blockIdx.x * blockDim.x + threadIdx.x: correct for launches along x only";

/// Writes a column of the table for every thread of a launch along x.
///
/// # Safety
/// The launch has `threads` threads, and extends along x only; `output` has `FIELDS * threads` elements.
#[kernel]
pub unsafe fn threads_one_d(threads: u32, output: *mut u32) {
    let local = thread_idx_x();
    let global = block_idx_x() * block_dim_x() + thread_idx_x();
    // SAFETY: in a launch along x only, each global id below the number of threads belongs to one thread.
    unsafe { write_down(local, global, threads, output) };
}
