//! Failing examples: kernels with typical mistakes. Each file holds one mistake and names the rung that does the same
//! correctly.
//!
//! `host list --failing` shows them, and `host check failing --variant NAME` reports what is wrong; they belong to no
//! family that is run, tested or timed, and the host refuses to launch them on a GPU, where some of them hang and
//! others only seem to work.
//!
//! There are two kinds. Some break a rule of the machine, and a checker reports the line (marked `FINDING`):
//!
//! - `barrier-divergence`: [`barrier_in_if`], [`barrier_in_one_branch`], [`barrier_in_both_branches`],
//!   [`barrier_in_loop`];
//! - a race within a block or between blocks: [`barrier_skipped_by_warps`], [`missing_barrier`], [`tile_overwritten`],
//!   [`tile_not_awaited`], [`kogge_stone_in_place`], [`counter_without_atomics`], [`plus_for_times`];
//! - a race within a warp: [`lock_step`];
//! - `out-of-bounds`: [`no_bounds_test`], [`stride_too_far`];
//! - an uninitialised value: [`halo_not_filled`], [`counters_not_zeroed`].
//!
//! Others break no rule of the machine but compute a wrong result. Only a comparison with an oracle finds the mistake
//! (`wrong-result`; the line to change is marked `WRONG`):
//!
//! [`maximum_from_zero`], [`last_step_missing`], [`stride_one_missing`], [`partial_tile_lost`], [`letter_after_z`],
//! [`bytes_overflow`], [`grid_rounded_down`] and [`start_by_grid`].
//!
//! The mistakes occur in these sources (see `docs/sources.md`), or the sources warn of them. The PMPP slides: the
//! "optimization attempt", `if (threadIdx.x % 2 == 0)` with a barrier in each branch, the pairwise loop from
//! `blockDim.x` to 2, `Width/TILE_WIDTH`, `ceil(n/256.0)`. The dot-product slides: `blockIdx.x * NumBlocks`.
//! Threehearts 2021: its scan, histogram, convolutions, tree and matrix product. The max-reduction notes: `RAND_MIN` in
//! `VecMax`.

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
