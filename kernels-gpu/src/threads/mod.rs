//! Threads: every thread writes its local and its global id, and the registers that they are computed from.
//!
//! A launch is a grid of blocks of threads, each in up to three dimensions; memory has one. The formulas below number
//! the threads of any launch, block by block, with x varying fastest: the id of a thread in its block (local), and in
//! the grid (global).
//!
//! The rungs are named for the launches whose ids they compute correctly: [`one_d`], [`two_d`] and [`three_d`].
//!
//! The hardware divides a block into warps in the order of the local ids: 32 neighbours each, the last warp filled up
//! with inactive lanes (a block of 48 is two warps). So `%laneid` must be the local id modulo 32, which is written and
//! checked too.
//!
//! Other uses of the same coordinates: a picture's `row = blockIdx.y * blockDim.y + threadIdx.y` and its column,
//! likewise, need no global id (family `picture`); a grid-stride loop starts at the global id and advances by the
//! number of threads (`vecadd`).
//!
//! Limits: a block has at most 1024 threads, and at most 64 along z: (512, 1, 1), (8, 16, 4) and (32, 16, 2) are
//! allowed, (32, 32, 2) is not. A grid has at most 2^31 - 1 blocks along x and 65535 along y and z. (The PMPP slides
//! give 65536 for all three.)
//!
//! Source: the PMPP slides (`docs/sources.md`), "CUDA Thread Organization". Their example in three dimensions, thread
//! (3, 1, 1) of block (2, 1, 1) with blocks of 4x2x2 in a grid of 3x2x2, ends with 127; their own formula gives (1*2*3
//! + 1*3 + 2) * 16 + 8 + 4 + 3 = 191.

use cuda_std::{thread, warp};

pub mod one_d;
pub mod three_d;
pub mod two_d;

/// Number of words that a thread writes: `threadIdx`, `blockIdx`, `blockDim` and `gridDim`, x, y and z of each; its
/// local id, its global id, and its lane, in this order.
pub const FIELDS: usize = 15;

/// Writes the calling thread's column of a table of [`FIELDS`] rows and `threads` columns: neighbouring threads write
/// neighbouring words, row by row.
///
/// # Safety
/// `output` has `FIELDS * threads` elements, `global` is below `threads`, and no other thread has it.
#[inline(always)]
unsafe fn write_down(local: u32, global: u32, threads: u32, output: *mut u32) {
    let (thread, block) = (thread::thread_idx(), thread::block_idx());
    let (block_dim, grid_dim) = (thread::block_dim(), thread::grid_dim());
    let fields: [u32; FIELDS] = [
        thread.x,
        thread.y,
        thread.z,
        block.x,
        block.y,
        block.z,
        block_dim.x,
        block_dim.y,
        block_dim.z,
        grid_dim.x,
        grid_dim.y,
        grid_dim.z,
        local,
        global,
        warp::lane_id(),
    ];
    let mut field = 0;
    while field < FIELDS {
        // SAFETY: the element is inside the table, in this thread's own column.
        unsafe { output.add(field * threads as usize + global as usize).write(fields[field]) };
        field += 1;
    }
}
