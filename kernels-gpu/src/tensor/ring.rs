//! The ring of stages in shared memory between the warp that copies and the warpgroups that multiply.
//!
//! A stage has a barrier for each direction: `full` counts the bytes of its copies, `empty` the warpgroups of the whole
//! cluster that have read it, since the copies of one block also write to the others.

use super::ROW;
use super::barriers::Barriers;
use cuda_std::memory::SharedAddress;
use cuda_std::warpgroup::{F16, Tile};

/// Rows of a block's tile.
pub const ROWS: u32 = 64 * WARPGROUPS;

/// Columns of a block's tile.
pub const COLUMNS: u32 = 192;

/// Blocks of a cluster, which lie along the rows.
pub const CLUSTER: u32 = 2;

/// Warpgroups that multiply.
pub const WARPGROUPS: u32 = 2;

/// Registers of a thread's sums.
pub const SUMS: usize = 96;

/// Bytes of a tile of A's slices.
pub const A_STAGE: u32 = ROWS * ROW;

/// Bytes of a tile of B's slices.
pub const B_STAGE: u32 = COLUMNS * ROW;

/// Stages of the ring.
pub const STAGES: u32 = 5;

/// Bytes of a stage: a tile of A, then one of B.
pub const STAGE: u32 = A_STAGE + B_STAGE;

/// Bytes of the scales of a piece: those of A's rows, then those of B's columns.
pub const SCALES: u32 = (ROWS + COLUMNS) * 4;

/// Pieces whose scales have room. They are read after the stages of their piece are free, and a stage of the piece
/// after next is filled only when those of the next one have been read, which is after the scales: three would do.
const SLOTS: u32 = 4;

/// Bytes of shared memory, with those that align the first stage.
pub const SHARED: u32 = 1024 + STAGES * STAGE + SLOTS * SCALES + Barriers::bytes(STAGES);

/// The ring's places.
#[derive(Clone, Copy)]
pub struct Ring {
    first: SharedAddress,
}

impl Ring {
    /// The ring in shared memory from `start` on.
    ///
    /// # Safety
    /// There are [`SHARED`] bytes.
    #[inline(always)]
    pub unsafe fn at(start: SharedAddress) -> Self {
        Self { first: start.align_up(1024) }
    }

    /// The stages' barriers; the warpgroups of all blocks of the cluster give a stage back.
    #[inline(always)]
    pub fn barriers(self) -> Barriers {
        // SAFETY: the barriers follow the scales, at a multiple of 8.
        unsafe { Barriers::at(self.scales(SLOTS), STAGES) }
    }

    /// The tile of A in a stage.
    #[inline(always)]
    pub fn a(self, stage: u32) -> SharedAddress {
        self.first.add(stage * STAGE)
    }

    /// The tile of B in a stage.
    #[inline(always)]
    pub fn b(self, stage: u32) -> SharedAddress {
        self.a(stage).add(A_STAGE)
    }

    /// The scales of piece `piece % SLOTS`.
    #[inline(always)]
    pub fn scales(self, slot: u32) -> SharedAddress {
        self.a(STAGES).add(slot * SCALES)
    }

    /// The slot after this one.
    #[inline(always)]
    pub const fn next_slot(slot: u32) -> u32 {
        (slot + 1) % SLOTS
    }

    /// The rows of A that a warpgroup multiplies, as a factor.
    #[inline(always)]
    pub fn tile_of_a(self, stage: u32, warpgroup: u32) -> Tile<F16> {
        Tile::at(self.a(stage).add(warpgroup * 64 * ROW))
    }

    /// The tile of B, as a factor.
    #[inline(always)]
    pub fn tile_of_b(self, stage: u32) -> Tile<F16> {
        Tile::at(self.b(stage))
    }
}
