//! What ends the runs of a scan: nothing in a scan of everything, keys in a scan by key.

use cuda_std::memory::{Mbarrier, SharedAddress};

/// Where the runs of a scan begin. The *heads* of a thread's chunks are bits: bit `row * W + k` says that a run begins
/// at element `k` of the chunk of `W` elements in that row.
pub trait Runs: Copy {
    /// Whether there are several runs. If not, there are no heads.
    const KEYED: bool;
    /// Bytes that say where runs begin, for each element.
    const BYTES: u32;

    /// Whether all of them can be loaded in whole chunks of `W` elements.
    fn in_chunks<const W: usize>(self) -> bool;

    /// The heads of the thread's chunks, for a warp's part that begins with element `first`. `whole` says that all its
    /// chunks lie inside, and can be loaded as such.
    ///
    /// # Safety
    /// All lanes of the warp call it together.
    unsafe fn heads<const W: usize, const R: usize>(self, first: usize, whole: bool) -> u64;

    /// Starts the copy of what [`Runs::heads_in_stage`] reads of a tile to a stage of a ring: [`Runs::copied`] bytes,
    /// which the barrier counts.
    ///
    /// # Safety
    /// The tile lies inside, and it and what is copied begin on 16 bytes, as do the next ones; the stage is free, has
    /// room for the tile's bytes and 16 more, and begins on 16 bytes.
    unsafe fn copy(self, to: SharedAddress, first: usize, elements: u32, barrier: Mbarrier);

    /// Bytes that [`Runs::copy`] moves.
    fn copied(self, first: usize, elements: u32) -> u32;

    /// The heads of the thread's chunks, for a warp's part that begins with element `first`, element `place` of the
    /// tile that is in the stage.
    ///
    /// # Safety
    /// All lanes of the warp call it together; the copy has arrived.
    unsafe fn heads_in_stage<const W: usize, const R: usize>(self, stage: *const u8, first: usize, place: usize)
    -> u64;
}

/// All elements are one run.
#[derive(Clone, Copy)]
pub struct OneRun;

impl Runs for OneRun {
    const KEYED: bool = false;
    const BYTES: u32 = 0;

    #[inline(always)]
    fn in_chunks<const W: usize>(self) -> bool {
        true
    }
    #[inline(always)]
    unsafe fn heads<const W: usize, const R: usize>(self, _: usize, _: bool) -> u64 {
        0
    }
    #[inline(always)]
    unsafe fn copy(self, _: SharedAddress, _: usize, _: u32, _: Mbarrier) {}
    #[inline(always)]
    fn copied(self, _: usize, _: u32) -> u32 {
        0
    }
    #[inline(always)]
    unsafe fn heads_in_stage<const W: usize, const R: usize>(self, _: *const u8, _: usize, _: usize) -> u64 {
        0
    }
}

/// The heads of the chunk of `W` elements in a row.
#[inline(always)]
pub const fn of_row<const W: usize>(heads: u64, row: usize) -> u32 {
    heads.wrapping_shr((row * W) as u32) as u32 & ((1 << W) - 1)
}
