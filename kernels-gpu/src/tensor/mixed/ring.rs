//! The ring of stages in shared memory between the thread that copies and the warpgroups that multiply, and the room
//! from which the product is stored.

use super::accumulator::Accumulator;
use crate::tensor::barriers::Barriers;
use core::marker::PhantomData;
use cuda_std::memory::SharedAddress;
use cuda_std::warpgroup;

/// Rows of a block's tile.
pub const ROWS: u32 = 64 * WARPGROUPS;

/// Bytes of the depth in a stage.
pub const ROW: u32 = warpgroup::ROW;

/// Warpgroups that multiply.
pub const WARPGROUPS: u32 = 2;

/// Bytes of a tile of A.
const A_STAGE: u32 = ROWS * ROW;

/// Rows of 128 bytes that a warp stores at a time.
pub const COPY_ROWS: u32 = 16;

/// Stores of a warp that may still read shared memory while it writes the next.
pub const COPIES: u32 = 2;

/// Bytes of such a store.
const COPY: u32 = COPY_ROWS * ROW;

/// Bytes of shared memory, with those that align the first stage.
pub const fn shared<S: Accumulator>() -> u32 {
    1024 + S::STAGES * stage::<S>() + WARPGROUPS * 4 * COPIES * COPY + Barriers::bytes(S::STAGES)
}

/// Number of lines in a box of a factor that lies along the depth: those of a `tile`, or `all` lines of the factor if
/// it has fewer. The rest of the tile is then never written; its products belong to no element.
pub const fn lines(tile: u32, all: u32) -> u32 {
    if all < tile { all } else { tile }
}

/// Bytes of a stage: a tile of A, then one of B.
pub const fn stage<S: Accumulator>() -> u32 {
    A_STAGE + S::COLUMNS * ROW
}

/// The ring's places.
pub struct Ring<S> {
    first: SharedAddress,
    sums: PhantomData<S>,
}

impl<S> Clone for Ring<S> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<S> Copy for Ring<S> {}

impl<S: Accumulator> Ring<S> {
    /// The ring in shared memory from `start` on.
    ///
    /// # Safety
    /// There are [`shared`] bytes.
    #[inline(always)]
    pub unsafe fn at(start: SharedAddress) -> Self {
        Self { first: start.align_up(1024), sums: PhantomData }
    }

    /// The stages' barriers; the warpgroups give a stage back.
    #[inline(always)]
    pub fn barriers(self) -> Barriers {
        // SAFETY: the barriers follow the room for stores, at a multiple of 8.
        unsafe { Barriers::at(self.store(WARPGROUPS * 4 * COPIES), S::STAGES) }
    }

    /// The tile of A in a stage.
    #[inline(always)]
    pub fn a(self, stage: u32) -> SharedAddress {
        self.first.add(stage * self::stage::<S>())
    }

    /// The tile of B in a stage.
    #[inline(always)]
    pub fn b(self, stage: u32) -> SharedAddress {
        self.a(stage).add(A_STAGE)
    }

    /// The rows of A in a stage that a warpgroup multiplies. They are 64 rows of 128 bytes in either order.
    #[inline(always)]
    pub fn rows_of_a(self, stage: u32, warpgroup: u32) -> SharedAddress {
        self.a(stage).add(warpgroup * 64 * ROW)
    }

    /// The room of a warp's stores: numbers `COPIES * warp` and the next.
    #[inline(always)]
    pub fn store(self, number: u32) -> SharedAddress {
        self.a(S::STAGES).add(number * COPY)
    }
}
