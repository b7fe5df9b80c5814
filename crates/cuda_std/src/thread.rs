//! The calling thread: where it is in its block and grid, and how it waits for its block.
//!
//! Indices and dimensions are `u32`, as the hardware has them. A launch may have more than 2^32 threads: for a global
//! index that can not wrap use [`global_index`].

use cuda_std_macros::gpu_only;

use crate::atomic::{Block, Device, Ordering, System, fence};
#[cfg(target_arch = "nvptx64")]
use crate::intrinsics as nvvm;

/// Two `u32`: an index or a size in a plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub struct UVec2 {
    pub x: u32,
    pub y: u32,
}

/// Three `u32`: an index or a size in space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub struct UVec3 {
    pub x: u32,
    pub y: u32,
    pub z: u32,
}

macro_rules! registers {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => { $(
        $(#[$doc])*
        #[must_use]
        #[gpu_only]
        pub fn $name() -> u32 {
            nvvm::$name()
        }
    )* };
}

registers! {
    /// The thread's index in its block, along x: `0..block_dim_x()`.
    thread_idx_x,
    /// The thread's index in its block, along y.
    thread_idx_y,
    /// The thread's index in its block, along z.
    thread_idx_z,
    /// The block's index in the grid, along x: `0..grid_dim_x()`.
    block_idx_x,
    /// The block's index in the grid, along y.
    block_idx_y,
    /// The block's index in the grid, along z.
    block_idx_z,
    /// Threads per block along x. At most 1024 in all three directions together.
    block_dim_x,
    /// Threads per block along y.
    block_dim_y,
    /// Threads per block along z.
    block_dim_z,
    /// Blocks along x. At most 2^31 - 1.
    grid_dim_x,
    /// Blocks along y. At most 65535.
    grid_dim_y,
    /// Blocks along z. At most 65535.
    grid_dim_z,
}

/// The thread's index in its block.
#[must_use]
#[inline(always)]
pub fn thread_idx() -> UVec3 {
    UVec3 { x: thread_idx_x(), y: thread_idx_y(), z: thread_idx_z() }
}

/// The block's index in the grid.
#[must_use]
#[inline(always)]
pub fn block_idx() -> UVec3 {
    UVec3 { x: block_idx_x(), y: block_idx_y(), z: block_idx_z() }
}

/// Threads per block.
#[must_use]
#[inline(always)]
pub fn block_dim() -> UVec3 {
    UVec3 { x: block_dim_x(), y: block_dim_y(), z: block_dim_z() }
}

/// Blocks in the grid.
#[must_use]
#[inline(always)]
pub fn grid_dim() -> UVec3 {
    UVec3 { x: grid_dim_x(), y: grid_dim_y(), z: grid_dim_z() }
}

/// The thread's rank in the whole launch, whatever its shape: blocks in x, y, z order, in each the threads in x, y, z
/// order.
///
/// Wraps when a launch has more than 2^32 threads.
#[must_use]
#[inline(always)]
pub fn index() -> u32 {
    let block = (block_idx_z() * grid_dim_y() + block_idx_y()) * grid_dim_x() + block_idx_x();
    let threads = block_dim_x() * block_dim_y() * block_dim_z();
    block * threads + rank_in_block()
}

/// The thread's rank in its block: x varies fastest. Warps are 32 consecutive ranks.
#[must_use]
#[inline(always)]
pub fn rank_in_block() -> u32 {
    (thread_idx_z() * block_dim_y() + thread_idx_y()) * block_dim_x() + thread_idx_x()
}

/// The thread's global index along x. Wraps beyond 2^32: see [`global_index`].
#[must_use]
#[inline(always)]
pub fn index_1d() -> u32 {
    block_idx_x() * block_dim_x() + thread_idx_x()
}

/// The thread's global index along x and y.
#[must_use]
#[inline(always)]
pub fn index_2d() -> UVec2 {
    UVec2 { x: index_1d(), y: block_idx_y() * block_dim_y() + thread_idx_y() }
}

/// The thread's global index along x, y and z.
#[must_use]
#[inline(always)]
pub fn index_3d() -> UVec3 {
    let UVec2 { x, y } = index_2d();
    UVec3 { x, y, z: block_idx_z() * block_dim_z() + thread_idx_z() }
}

/// The thread's global index along x, in 64 bits: right for every launch and every array length.
#[must_use]
#[inline(always)]
pub fn global_index() -> usize {
    block_idx_x() as usize * block_dim_x() as usize + thread_idx_x() as usize
}

/// Threads of the launch along x: the step of a grid-stride loop.
#[must_use]
#[inline(always)]
pub fn grid_stride() -> usize {
    grid_dim_x() as usize * block_dim_x() as usize
}

/// Whether this is the first thread of the launch.
#[must_use]
#[inline(always)]
pub fn first() -> bool {
    let (block, thread) = (block_idx(), thread_idx());
    block.x | block.y | block.z | thread.x | thread.y | thread.z == 0
}

/// Threads per warp: 32 on every NVIDIA GPU so far.
#[must_use]
#[inline(always)]
pub const fn warp_size() -> u32 {
    32
}

/// Waits until every thread of the block is here. What they wrote to shared and global memory before is then visible to
/// all of them.
///
/// Every thread of the block that has not returned must come to the same barrier: in a branch that only some threads
/// take, the launch hangs or worse. The simulator reports that.
#[gpu_only]
pub fn sync_threads() {
    // SAFETY: barrier 0 exists in every block; that all threads come here is this function's contract.
    unsafe { nvvm::barrier(0) }
}

/// [`sync_threads`], and returns to every thread for how many of them `predicate` was not 0.
#[gpu_only]
pub fn sync_threads_count(predicate: u32) -> u32 {
    // SAFETY: as in `sync_threads`.
    unsafe { nvvm::barrier_popc(predicate) }
}

/// [`sync_threads`], and returns to every thread whether `predicate` was not 0 for all of them (1 or 0).
#[gpu_only]
pub fn sync_threads_and(predicate: u32) -> u32 {
    // SAFETY: as in `sync_threads`.
    unsafe { nvvm::barrier_and(predicate) }
}

/// [`sync_threads`], and returns to every thread whether `predicate` was not 0 for any of them (1 or 0).
#[gpu_only]
pub fn sync_threads_or(predicate: u32) -> u32 {
    // SAFETY: as in `sync_threads`.
    unsafe { nvvm::barrier_or(predicate) }
}

/// Suspends the thread for about `nanoseconds`: between none and twice as long, at most a millisecond.
#[gpu_only]
pub fn nanosleep(nanoseconds: u32) {
    nvvm::nanosleep(nanoseconds);
}

/// Orders this thread's memory accesses for the threads of its block: what it did before is seen before what it does
/// after.
#[inline(always)]
pub fn block_fence() {
    fence::<Block>(Ordering::AcqRel);
}

/// Orders this thread's memory accesses for all threads of the launch.
#[inline(always)]
pub fn grid_fence() {
    fence::<Device>(Ordering::AcqRel);
}

/// Orders this thread's memory accesses for all threads of the device.
#[inline(always)]
pub fn device_fence() {
    fence::<Device>(Ordering::AcqRel);
}

/// Orders this thread's memory accesses for all threads of all devices, and the host.
#[inline(always)]
pub fn system_fence() {
    fence::<System>(Ordering::AcqRel);
}
