//! The barriers of a ring of stages in shared memory, two for each stage.

use cuda_std::memory::{Mbarrier, SharedAddress, fence_init};

/// The barriers: those that are passed when a stage is full, then those that are passed when it can be filled again.
#[derive(Clone, Copy)]
pub struct Barriers {
    first: Mbarrier,
    stages: u32,
}

impl Barriers {
    /// Bytes of the barriers of a ring of `stages`.
    pub const fn bytes(stages: u32) -> u32 {
        2 * stages * Mbarrier::SIZE
    }

    /// The barriers of a ring of `stages`.
    ///
    /// # Safety
    /// [`Barriers::bytes`] bytes follow `first`, a multiple of 8, which nothing but the barriers accesses.
    #[inline(always)]
    pub unsafe fn at(first: SharedAddress, stages: u32) -> Self {
        // SAFETY: the caller upholds this function's contract.
        Self { first: unsafe { Mbarrier::at(first) }, stages }
    }

    /// Initialises all: a stage is full after one arrival and the bytes that it announces, and can be filled again
    /// after `readers` arrivals.
    ///
    /// # Safety
    /// One thread of the block calls it, and a barrier of the block, or of the cluster if there is one, follows.
    #[inline(always)]
    pub unsafe fn init(self, readers: u32) {
        let mut stage = 0;
        while stage < self.stages {
            // SAFETY: the caller upholds this function's contract.
            unsafe {
                self.full(stage).init(1);
                self.empty(stage).init(readers);
            }
            stage += 1;
        }
        fence_init();
    }

    /// The barrier that is passed when a stage is full.
    #[inline(always)]
    pub fn full(self, stage: u32) -> Mbarrier {
        // SAFETY: by contract of `at` the barrier is there.
        unsafe { self.first.add(stage) }
    }

    /// The barrier that is passed when a stage can be filled again.
    #[inline(always)]
    pub fn empty(self, stage: u32) -> Mbarrier {
        self.full(self.stages + stage)
    }
}
