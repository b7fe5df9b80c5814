//! Ids in two dimensions: rows of blocks one after the other, and in each block its rows of threads.

use super::write_down;
use cuda_std::{
    kernel,
    thread::{block_dim_x, block_dim_y, block_idx_x, block_idx_y, grid_dim_x, thread_idx_x, thread_idx_y},
};

/// The idea in one line.
pub const IDEA: &str = "rows of blocks, and in each block rows of threads: correct for launches in a plane";

/// Writes a column of the table for every thread of a launch along x and y.
///
/// # Safety
/// The launch has `threads` threads, and extends along x and y only; `output` has `FIELDS * threads` elements.
#[kernel]
pub unsafe fn threads_two_d(threads: u32, output: *mut u32) {
    let local = thread_idx_y() * block_dim_x() + thread_idx_x();
    let global = (block_idx_y() * grid_dim_x() + block_idx_x()) * (block_dim_x() * block_dim_y())
        + thread_idx_y() * block_dim_x()
        + thread_idx_x();
    // SAFETY: in a launch along x and y only, each global id below the number of threads belongs to one thread.
    unsafe { write_down(local, global, threads, output) };
}
