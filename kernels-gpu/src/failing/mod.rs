//! Failing examples: kernels that are wrong in the ways that kernels usually are. Each file holds one mistake and names
//! the rung that does the same right.
//!
//! `host list --failing` shows them, and `host check failing --variant NAME` what is wrong; they belong to no family
//! that is run, tested or timed, and the host refuses to launch them on a GPU, where some of them hang and others only
//! seem to work.
//!
//! There are two kinds. Some break a rule of the machine, and a checker reports the line (marked `FINDING`):
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
//! | [`tile_not_awaited`] | a tile is used while others still load it | race |
//! | [`kogge_stone_in_place`] | a scan's step reads and writes the same array without a barrier between | race |
//! | [`lock_step`] | the last warp needs no barrier because its lanes run in lock-step: they no longer do | race within a warp |
//! | [`counter_without_atomics`] | all threads increment one counter: load, add, store | race |
//! | [`plus_for_times`] | `threadIdx + blockIdx + blockDim`: blocks overlap | race |
//! | [`no_bounds_test`] | `if i < n` is missing, and the last block has more threads than elements | `out-of-bounds` |
//! | [`stride_too_far`] | the tree's first stride is the whole block instead of half of it | `out-of-bounds` |
//! | [`halo_not_filled`] | a tile's halo is loaded where there is input, and left alone elsewhere | uninitialised value |
//! | [`counters_not_zeroed`] | a block's private counters are incremented before anyone set them to 0 | uninitialised value |
//!
//! Others are correct programs that compute something else. There is nothing to check but the result, and only an
//! oracle that knows the right one can tell (`wrong-result`; the line to change is marked `WRONG`):
//!
//! | example | mistake | result |
//! |---|---|---|
//! | [`maximum_from_zero`] | a maximum starts from 0 instead of the lowest number | 0 for negative numbers |
//! | [`last_step_missing`] | the growing stride stops in front of `blockDim` with two elements per thread | the sum of one half |
//! | [`stride_one_missing`] | the shrinking stride stops at 2 | the sum of every other element |
//! | [`partial_tile_lost`] | `Width / TILE` phases: a partial tile at the end is none | sums that lack their last terms |
//! | [`letter_after_z`] | 27 letters pass the test `<= 26` | `{` counts as a letter |
//! | [`bytes_overflow`] | a sum of bytes becomes a byte | dark where it should be bright |
//! | [`grid_rounded_down`] | `n / 256` blocks | the last elements stay as they were |
//! | [`start_by_grid`] | a block starts at `blockIdx * gridDim` | elements counted twice, and never |
//!
//! The mistakes are those that courses make or warn of. Slides: the "optimization attempt", `if (threadIdx.x % 2 == 0)`
//! with a barrier in each branch, the pairwise loop from `blockDim.x` to 2, `Width/TILE_WIDTH`, `ceil(n/256.0)`,
//! `blockIdx.x * NumBlocks`. A review: its scan, histogram, convolutions, tree and matrix product. `VecMax`:
//! `RAND_MIN`.

use core::mem::MaybeUninit;
use cuda_std::address_space;

pub mod barrier_in_both_branches;
pub mod barrier_in_if;
pub mod barrier_in_loop;
pub mod barrier_in_one_branch;
pub mod barrier_skipped_by_warps;
pub mod bytes_overflow;
pub mod counter_without_atomics;
pub mod counters_not_zeroed;
pub mod grid_rounded_down;
pub mod halo_not_filled;
pub mod kogge_stone_in_place;
pub mod last_step_missing;
pub mod letter_after_z;
pub mod lock_step;
pub mod maximum_from_zero;
pub mod missing_barrier;
pub mod no_bounds_test;
pub mod partial_tile_lost;
pub mod plus_for_times;
pub mod start_by_grid;
pub mod stride_one_missing;
pub mod stride_too_far;
pub mod tile_not_awaited;
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

/// Two values per thread of the block.
#[address_space(shared)]
static mut PAIRS: [MaybeUninit<u32>; 2 * BLOCK as usize] = [MaybeUninit::uninit(); 2 * BLOCK as usize];

/// The block's shared memory, for two values per thread.
#[inline(always)]
fn pairs() -> *mut u32 {
    (&raw mut PAIRS).cast()
}
