//! Failing examples: kernels that are wrong in the ways that kernels usually are. Each file holds one mistake, the line at which the
//! checker reports it (marked `FINDING`), and the rung that does the same right.
//!
//! `host list --failing` shows them, and `host check failing --variant NAME` what the checker says; they belong to no family that is
//! run, tested or timed, and the host refuses to launch them on a GPU, where some of them hang and others only seem to work.
//!
//! | example | mistake | finding |
//! |---|---|---|
//! | [`barrier_in_if`] | the tree's barrier inside `if t < half`: only the threads that add wait | `barrier-divergence` |
//! | [`barrier_in_one_branch`] | a barrier in one branch of `if t % 2 == 0` | `barrier-divergence` |
//! | [`barrier_in_both_branches`] | a barrier in each branch: two barriers, not one | `barrier-divergence` |
//! | [`barrier_in_loop`] | a barrier in a loop that runs longer for some threads than for others | `barrier-divergence` |
//! | [`barrier_skipped_by_warps`] | whole warps go past a barrier, and meet the others' first at their second | race |
//! | [`missing_barrier`] | the steps of the tree are not kept apart | race |
//! | [`tile_overwritten`] | the next tile is loaded while some still read the last one | race |
//! | [`kogge_stone_in_place`] | a scan's step reads and writes the same array without a barrier between | race |
//! | [`lock_step`] | the last warp needs no barrier because its lanes run in lock-step: they no longer do | race within a warp |
//! | [`counter_without_atomics`] | all threads increment one counter: load, add, store | race |
//! | [`plus_for_times`] | `threadIdx + blockIdx + blockDim`: blocks overlap | race |
//! | [`no_bounds_test`] | `if i < n` is missing, and the last block has more threads than elements | `out-of-bounds` |
//! | [`stride_too_far`] | the tree's first stride is the whole block instead of half of it | `out-of-bounds` |
//! | [`halo_not_filled`] | a tile's halo is loaded where there is input, and left alone elsewhere | uninitialised value |
//! | [`counters_not_zeroed`] | a block's private counters are incremented before anyone set them to 0 | uninitialised value |
//!
//! The mistakes are those that the seeds make or warn of: the slides' "optimization attempt", their `if (threadIdx.x % 2 == 0)` with a
//! barrier in each branch and their pairwise loop that starts at `blockDim.x`; the review's scan, histogram and tiled convolution.

use core::mem::MaybeUninit;
use cuda_std::address_space;

pub mod barrier_in_both_branches;
pub mod barrier_in_if;
pub mod barrier_in_loop;
pub mod barrier_in_one_branch;
pub mod barrier_skipped_by_warps;
pub mod counter_without_atomics;
pub mod counters_not_zeroed;
pub mod halo_not_filled;
pub mod kogge_stone_in_place;
pub mod lock_step;
pub mod missing_barrier;
pub mod no_bounds_test;
pub mod plus_for_times;
pub mod stride_too_far;
pub mod tile_overwritten;

/// Threads per block of every example.
pub const BLOCK: u32 = 256;

/// A value per thread of the block.
#[address_space(shared)]
static mut CACHE: [MaybeUninit<u32>; BLOCK as usize] = [MaybeUninit::uninit(); BLOCK as usize];

/// The block's shared memory.
#[inline(always)]
fn cache() -> *mut u32 {
    (&raw mut CACHE).cast()
}
