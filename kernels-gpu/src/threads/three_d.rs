//! Ids in three dimensions: planes of blocks, and in each block planes of threads. An unused dimension has size 1 and
//! index 0 and drops out, so this is right for every launch.

use super::write_down;
use cuda_std::{
    kernel,
    thread::{
        block_dim_x, block_dim_y, block_dim_z, block_idx_x, block_idx_y, block_idx_z, grid_dim_x, grid_dim_y,
        thread_idx_x, thread_idx_y, thread_idx_z,
    },
};

/// The idea in one line.
pub const IDEA: &str = "planes of rows: correct for every launch, because an unused dimension has size 1";

/// Writes a column of the table for every thread of any launch.
///
/// # Safety
/// The launch has `threads` threads; `output` has `FIELDS * threads` elements.
#[kernel]
pub unsafe fn threads_three_d(threads: u32, output: *mut u32) {
    let local = thread_idx_z() * block_dim_y() * block_dim_x() + thread_idx_y() * block_dim_x() + thread_idx_x();
    let global = (block_idx_z() * grid_dim_y() * grid_dim_x() + block_idx_y() * grid_dim_x() + block_idx_x())
        * (block_dim_z() * block_dim_y() * block_dim_x())
        + (thread_idx_z() * block_dim_y() * block_dim_x())
        + (thread_idx_y() * block_dim_x())
        + thread_idx_x();
    // SAFETY: each global id below the number of threads belongs to one thread.
    unsafe { write_down(local, global, threads, output) };
}
