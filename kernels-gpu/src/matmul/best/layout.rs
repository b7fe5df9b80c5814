//! The tiles of a block in shared memory, and the order in which blocks take them.

use cuda_std::warp;

/// Whether the PTX is for GPUs since sm_90. What guides ptxas was measured on an H200; PTX for older ones has none of
/// it.
pub const SINCE_SM_90: bool = cfg!(target_feature = "sm_90");

/// Elements from one row of a tile in shared memory to the next: four more than it has columns, so that rows start in
/// different banks, and on 16-byte boundaries.
pub const fn pitch(columns: usize) -> usize {
    columns + 4
}

/// Elements of a block's shared memory: those of its stages, which are `depth` deep, and of f64 at least those of its
/// tile's sums, so that their registers are free when they are finished (see `store`). With two parts, of which the
/// second waits in registers, ptxas would spill in the main loop. Those of 128x128 then take more than GPUs with 99 KiB
/// per block have, which multiply f64 at a 32nd or less of the rate of f32.
pub const fn room<T>([rows, columns]: [usize; 2], depth: usize, stages: usize) -> usize {
    let (ring, sums) = (stages * depth * (pitch(rows) + pitch(columns)), rows * pitch(columns));
    if size_of::<T>() == 8 && sums > ring { sums } else { ring }
}

/// 16 bytes of `T`, or one element: what a copy moves.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Run<T, const W: usize>([T; W]);

/// Rows of tiles that are computed together.
const GROUP: usize = 8;

/// Row and column of tile number `index`. Blocks that run at the same time compute a region that is about as high as
/// wide, so that they need the fewest rows and columns of the factors, and find them in the L2 cache.
#[inline(always)]
pub fn raster(index: usize, down: usize, across: usize) -> [usize; 2] {
    // There is no block if there is no tile; without `max` the compiler would keep a panic for a division by 0.
    let group = GROUP * across.max(1);
    let first = index / group * GROUP;
    // This is not `clamp`, after which LLVM cannot prove that the height is not 0.
    let left = (down - first).min(GROUP);
    let height = left.max(1);
    let within = index % group;
    [first + within % height, within / height]
}

/// Neighbours in `k` that a row of eight lanes copies.
pub const DEPTH: usize = 8;

/// The least rows and columns of a product that a pipeline takes, of factors that are not turned and of those that are:
/// one, if copies that would be beyond the factor can be made of its last row or column instead, which they can if all
/// copies of a thread have the same one; else those of its tile.
pub const fn least([rows, columns]: [u32; 2], threads: usize) -> [[u32; 2]; 2] {
    let one = turned_rows(threads) as u32;
    [[1; 2], [if rows == one { 1 } else { rows }, if columns == one { 1 } else { columns }]]
}

/// Rows of a turned factor that a block copies at once.
pub const fn turned_rows(threads: usize) -> usize {
    threads / DEPTH
}

/// The same value, which ptxas keeps in a register. Where registers are scarce it would otherwise compute addresses
/// anew in every round, from the number of the thread. Before sm_90 this does nothing.
///
/// # Safety
/// All lanes of the warp call it.
#[inline(always)]
pub unsafe fn kept(value: u32) -> u32 {
    if !SINCE_SM_90 {
        return value;
    }
    // SAFETY: the caller upholds this function's contract.
    unsafe { warp::shuffle_idx(u32::MAX, value, warp::lane_id()) }
}
