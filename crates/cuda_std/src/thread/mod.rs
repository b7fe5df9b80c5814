//! The calling thread: its indices in block and grid, barriers of its block, and fences.
//!
//! Indices and dimensions are `u32`, the width of the hardware's registers. A launch may have more than 2^32 threads;
//! [`global_index`] is the index that does not wrap. [`unique_index`] gives it as a proof that no other thread has the
//! same, with which safe code writes to a [view](crate::view).
//!
//! # Barriers
//! Every thread of the block must reach the same call of [`sync_threads`], [`sync_threads_count`], [`sync_threads_and`]
//! or [`sync_threads_or`]: a branch around the call, and a return before it, is taken by all of them or by none. (The
//! hardware does not wait for threads that have returned; what they were to write is missing then.) The functions are
//! safe, as upstream's are: a barrier accesses no memory, and threads exchange data across it through raw pointers, so
//! the obligation lies with the `unsafe` accesses that rely on the barrier and with the `unsafe fn` of the kernel. A
//! call that only some threads reach hangs the launch or lets threads pass too early; the simulator stops there with
//! `barrier-divergence` or `deadlock`. The reasons are in
//! `docs/decisions/safe-barriers.md`.

#[cfg(not(feature = "glam"))]
mod index;
mod unique;

pub use unique::{
    UniqueIndex, UniqueIndex2d, UniqueIndex3d, UniqueIndices, UniquePlane, UniqueRow, UniqueRow3d, unique_index,
    unique_index_2d, unique_index_3d, unique_indices, unique_planes, unique_rows,
};

use cuda_std_macros::gpu_only;

use crate::atomic::{Block, Device, Ordering, System, fence};
#[cfg(target_arch = "nvptx64")]
use crate::intrinsics as nvvm;

#[cfg(feature = "glam")]
pub use glam::{UVec2, UVec3};
#[cfg(not(feature = "glam"))]
pub use index::{UVec2, UVec3};

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

/// The thread's rank in a launch of any shape: blocks are counted in x, y, z order, and in each block its threads in x,
/// y, z order.
///
/// Wraps when a launch has more than 2^32 threads.
#[must_use]
#[inline(always)]
pub fn index() -> u32 {
    let block = (block_idx_z() * grid_dim_y() + block_idx_y()) * grid_dim_x() + block_idx_x();
    let threads = block_dim_x() * block_dim_y() * block_dim_z();
    block * threads + rank_in_block()
}

/// The thread's rank in its block; x varies fastest. A warp is 32 consecutive ranks.
#[must_use]
#[inline(always)]
pub fn rank_in_block() -> u32 {
    (thread_idx_z() * block_dim_y() + thread_idx_y()) * block_dim_x() + thread_idx_x()
}

/// The thread's global index along x. Wraps in launches of more than 2^32 threads, where [`global_index`] does not.
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

/// The thread's global index along x, in 64 bits, so that it wraps in no launch.
#[must_use]
#[inline(always)]
pub fn global_index() -> usize {
    block_idx_x() as usize * block_dim_x() as usize + thread_idx_x() as usize
}

/// Number of threads of the launch along x: the step of a grid-stride loop.
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

/// Waits until every thread of the block has reached this barrier. Writes to shared and global memory before the
/// barrier are visible to the whole block after it.
///
/// Every thread of the block must reach the same call ([Barriers](self#barriers)). The proof of an `unsafe` access that
/// relies on the barrier includes that they do.
#[gpu_only]
pub fn sync_threads() {
    // SAFETY: barrier 0 exists in every block, and a barrier accesses no memory. A call that only some threads reach
    // hangs or lets them pass early, on which no safe access depends: see "Barriers" in the module's documentation.
    unsafe { nvvm::barrier(0) }
}

/// Waits until `threads` threads of the block, whole warps, have reached `barrier`: a named barrier for the warps that
/// work together. Their writes before it are visible to each other after it.
///
/// # Safety
/// `barrier` is from 1 to 15, `threads` a multiple of 32. The same warps reach it each time, all lanes together.
#[gpu_only]
pub unsafe fn sync_some(barrier: u32, threads: u32) {
    // SAFETY: by contract the barrier exists, and as many threads as it waits for reach it.
    unsafe { nvvm::barrier_of(barrier, threads) }
}

/// Waits as [`sync_threads`] does, and returns to every thread the number of threads whose `predicate` was not 0.
#[gpu_only]
pub fn sync_threads_count(predicate: u32) -> u32 {
    // SAFETY: as in `sync_threads`.
    unsafe { nvvm::barrier_popc(predicate) }
}

/// Waits as [`sync_threads`] does, and returns 1 to every thread if `predicate` was not 0 in all of them, else 0.
#[gpu_only]
pub fn sync_threads_and(predicate: u32) -> u32 {
    // SAFETY: as in `sync_threads`.
    unsafe { nvvm::barrier_and(predicate) }
}

/// Waits as [`sync_threads`] does, and returns 1 to every thread if `predicate` was not 0 in any of them, else 0.
#[gpu_only]
pub fn sync_threads_or(predicate: u32) -> u32 {
    // SAFETY: as in `sync_threads`.
    unsafe { nvvm::barrier_or(predicate) }
}

/// Suspends the thread for a time between 0 and twice `nanoseconds`, at most one millisecond.
#[gpu_only]
pub fn nanosleep(nanoseconds: u32) {
    nvvm::nanosleep(nanoseconds);
}

/// Orders this thread's memory accesses for the threads of its block: they observe an access before the fence before
/// one after it.
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
