//! As many blocks as the device has multiprocessors compute one tile after another, each with the ring of the rung
//! before: while the sums of a tile are stored, the stages of the next are already copied. Tiles that are computed at
//! the same time lie close together, so that their factors are found in the L2 cache.
//!
//! The two blocks of a cluster have neighbouring rows and the same columns. Each copies its own panels of A, and half
//! of those of B to the shared memory of both (multicast), so that the L2 cache is read a third less. A stage can be
//! filled again when the warpgroups of both blocks have read it.

use super::copies::Source;
use super::panels::{LINES, Stage};
use super::plain::plain;
use super::ring;
use super::sums::{self, store};
use super::{Bf16, DEPTH, F16, ROWS};
use crate::position::Position;
use crate::tensor::mixed::Multiply;
use crate::tensor::mixed::problem::place;
use cuda_std::cluster;
use cuda_std::memory::{SharedAddress, TensorMap};
use cuda_std::prelude::*;
use cuda_std::shared::dynamic_shared_mem;
use cuda_std::warpgroup::{self, grow_registers, shrink_registers};

/// The idea in one line.
pub const IDEA: &str =
    "blocks stay for one tile after another, copy the next while they store, and share B in clusters";

/// Warpgroups that multiply.
const WARPGROUPS: u32 = 2;

/// Threads per block.
pub const BLOCK: u32 = (WARPGROUPS + 1) * 128;

/// Columns of a block's tile.
pub const COLUMNS: u32 = 256;

/// Blocks of a cluster.
pub const CLUSTER: u32 = 2;

/// Stages: as many as a multiprocessor has room for.
const STAGES: u32 = 4;

type Ring = ring::Ring<COLUMNS, STAGES>;

/// Bytes of dynamic shared memory.
pub const SHARED: u32 = Ring::SHARED;

/// Tiles of a cluster along the rows and along the columns.
#[derive(Clone, Copy)]
struct Tiles([u32; 2]);

impl Tiles {
    #[inline(always)]
    fn of(m: u32, n: u32) -> Self {
        Self([m.div_ceil(ROWS * CLUSTER), n.div_ceil(COLUMNS)])
    }

    #[inline(always)]
    fn count(self) -> u32 {
        self.0[0] * self.0[1]
    }

    /// First row and column of the part of the cluster's tile `index` that the block with this rank computes.
    #[inline(always)]
    fn place(self, index: u32, rank: u32) -> [u32; 2] {
        let [row, column] = place(index, self.0, [ROWS * CLUSTER, COLUMNS]);
        [row + rank * ROWS, column]
    }
}

/// Multiplies two matrices, as [`wgmma_tma`](super::tma::wgmma_tma) does.
///
/// # Safety
/// That of [`wgmma_tma`](super::tma::wgmma_tma), with the constants of this module, but any number of blocks that
/// [`CLUSTER`] divides.
#[kernel(for P in [F16, Bf16], for A in [false, true], for B in [false, true],
    launch_bounds(BLOCK, 1), cluster(CLUSTER))]
pub unsafe fn wgmma_persistent<P: Multiply<128>, const A: bool, const B: bool>(
    a_map: TensorMap<P>,
    b_map: TensorMap<P>,
    a: *const u16,
    b: *const u16,
    c: *mut u16,
    m: u32,
    n: u32,
    k: u32,
    mapped: u32,
) {
    if !cfg!(target_feature = "sm_90") || mapped == 0 {
        // SAFETY: this kernel has the same contract.
        unsafe { plain::<P, A, B>([a, b], c, [m, n, k]) };
        return;
    }
    // SAFETY: the launch has the shared memory.
    let ring = unsafe { Ring::at(SharedAddress::of(dynamic_shared_mem::<u8>())) };
    if thread::thread_idx_x() == 0 {
        // SAFETY: one thread initialises.
        unsafe { ring.barriers().init(WARPGROUPS * CLUSTER) };
    }
    // SAFETY: the whole warp is here.
    let warpgroup = unsafe { warpgroup::index() };
    // SAFETY: all threads of the cluster reach the barriers, and the whole warpgroup is on either way; by contract
    // there is room for the product.
    unsafe {
        cluster::sync(); // the barriers of both rings are initialised
        if warpgroup == 0 {
            shrink_registers::<40>();
            if thread::thread_idx_x() == 0 {
                copy(ring, (Source::<P, A>(a_map), Source::<P, B>(b_map)), Tiles::of(m, n), k);
            }
            // The barrier below takes whole warps.
            warp::sync_warp(warp::ALL);
        } else {
            grow_registers::<232>();
            multiply::<P, A, B>(ring, warpgroup - 1, c, [m, n, k]);
        }
        cluster::sync(); // no block ends while the other copies to its shared memory or arrives at its barriers
    }
}

/// Fills the ring with all stages of all tiles of the block.
///
/// # Safety
/// One thread of each block of the cluster calls it.
#[inline(always)]
unsafe fn copy<P: Copy, const A: bool, const B: bool>(
    ring: Ring,
    (a, b): (Source<P, A>, Source<P, B>),
    tiles: Tiles,
    k: u32,
) {
    /// Number of panels of B that a block copies, for both.
    const SHARE: u32 = COLUMNS / LINES / CLUSTER;
    let rank = cluster::block_rank();
    let share = rank * SHARE..(rank + 1) * SHARE;
    let mut position = Position::FIRST;
    let mut tile = thread::block_idx_x() / CLUSTER;
    while tile < tiles.count() {
        let [row, column] = tiles.place(tile, rank);
        let mut at = 0;
        while at < k {
            let (stage, full) = (ring.stage(position.stage), ring.barriers().full(position.stage));
            // SAFETY: after the wait, which the first round passes at once, no block of the cluster reads the stage any
            // more. The copies of both blocks bring the announced bytes.
            unsafe {
                ring.barriers().empty(position.stage).wait(position.parity ^ 1);
                full.arrive_expecting(Stage::bytes(COLUMNS));
                a.copy(stage.a(0), 0..ROWS / LINES, [row, at], full);
                b.copy_to_blocks(stage.b(0), share.clone(), [column, at], full, (1 << CLUSTER) - 1);
            }
            position.advance(STAGES);
            at += DEPTH;
        }
        tile += thread::grid_dim_x() / CLUSTER;
    }
}

/// Multiplies and stores the 64 rows of a warpgroup in all tiles of the block.
///
/// # Safety
/// The whole warpgroup calls it; `c` has room for the product.
#[inline(always)]
unsafe fn multiply<P: Multiply<128>, const A: bool, const B: bool>(
    ring: Ring,
    warpgroup: u32,
    c: *mut u16,
    [m, n, k]: [u32; 3],
) {
    let (rank, tiles) = (cluster::block_rank(), Tiles::of(m, n));
    // A thread for each block of the cluster says that the warpgroup has read a stage.
    let release = |stage: u32| {
        let block = thread::thread_idx_x() % 128;
        if block < CLUSTER {
            // SAFETY: this warpgroup's products with the stage have been waited for, and the block has not ended.
            unsafe { ring.barriers().empty(stage).arrive_at(block) };
        }
    };
    let mut position = Position::FIRST;
    let mut tile = thread::block_idx_x() / CLUSTER;
    while tile < tiles.count() {
        let [row, column] = tiles.place(tile, rank);
        // SAFETY: the whole warpgroup is here; by contract there is room for the product.
        unsafe {
            let sums = sums::multiply::<P, 128, A, B, COLUMNS, STAGES>(ring, &mut position, warpgroup, k, release);
            if k > 0 {
                release(position.previous(STAGES));
            }
            store::<P, P::Sums>(&sums, c, [m, n], [row + warpgroup * LINES, column]);
        }
        tile += thread::grid_dim_x() / CLUSTER;
    }
    // The barrier that follows takes whole warps.
    // SAFETY: the whole warp is here.
    unsafe { warp::sync_warp(warp::ALL) };
}
