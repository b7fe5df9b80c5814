//! A ring of stages in shared memory, each with a barrier that is passed when it is full and one that is passed when it
//! can be filled again.

use super::panels::Stage;
use cuda_std::memory::{Mbarrier, SharedAddress, fence_init};

/// The ring: its stages, from the first multiple of 1024 on, then the barriers.
#[derive(Clone, Copy)]
pub struct Ring<const COLUMNS: u32, const STAGES: u32>(SharedAddress);

impl<const COLUMNS: u32, const STAGES: u32> Ring<COLUMNS, STAGES> {
    /// Bytes of dynamic shared memory, with those that align the first stage.
    pub const SHARED: u32 = 1024 + STAGES * (Stage::bytes(COLUMNS) + 2 * Mbarrier::SIZE);

    /// The ring in shared memory from `start` on.
    ///
    /// # Safety
    /// There are [`Self::SHARED`] bytes.
    #[inline(always)]
    pub unsafe fn at(start: SharedAddress) -> Self {
        Self(start.align_up(1024))
    }

    /// Initialises the barriers; a stage can be filled again after `readers` arrivals.
    ///
    /// # Safety
    /// One thread of the block calls it, and a barrier of the block or of the cluster follows.
    #[inline(always)]
    pub unsafe fn init(self, readers: u32) {
        let mut stage = 0;
        while stage < STAGES {
            // SAFETY: the caller upholds this function's contract.
            unsafe {
                self.full(stage).init(1);
                self.empty(stage).init(readers);
            }
            stage += 1;
        }
        fence_init();
    }

    /// The stage with this number.
    #[inline(always)]
    pub fn stage(self, stage: u32) -> Stage {
        Stage(self.0.add(stage * Stage::bytes(COLUMNS)))
    }

    /// The barrier that is passed when the stage is full.
    #[inline(always)]
    pub fn full(self, stage: u32) -> Mbarrier {
        // SAFETY: the barriers follow the stages, aligned to 8.
        unsafe { Mbarrier::at(self.stage(STAGES).0).add(stage) }
    }

    /// The barrier that is passed when the stage can be filled again.
    #[inline(always)]
    pub fn empty(self, stage: u32) -> Mbarrier {
        // SAFETY: these barriers follow those above.
        unsafe { self.full(STAGES).add(stage) }
    }
}
