//! A ring of stages in shared memory, with their barriers.

use super::panels::Stage;
use crate::tensor::barriers::Barriers;
use cuda_std::memory::SharedAddress;

/// The ring: its stages, from the first multiple of 1024 on, then the barriers.
#[derive(Clone, Copy)]
pub struct Ring<const COLUMNS: u32, const STAGES: u32>(SharedAddress);

impl<const COLUMNS: u32, const STAGES: u32> Ring<COLUMNS, STAGES> {
    /// Bytes of dynamic shared memory, with those that align the first stage.
    pub const SHARED: u32 = 1024 + STAGES * Stage::bytes(COLUMNS) + Barriers::bytes(STAGES);

    /// The ring in shared memory from `start` on.
    ///
    /// # Safety
    /// There are [`Self::SHARED`] bytes.
    #[inline(always)]
    pub unsafe fn at(start: SharedAddress) -> Self {
        Self(start.align_up(1024))
    }

    /// The stages' barriers.
    #[inline(always)]
    pub fn barriers(self) -> Barriers {
        // SAFETY: the barriers follow the stages, at a multiple of 8.
        unsafe { Barriers::at(self.stage(STAGES).0, STAGES) }
    }

    /// The stage with this number.
    #[inline(always)]
    pub fn stage(self, stage: u32) -> Stage {
        Stage(self.0.add(stage * Stage::bytes(COLUMNS)))
    }
}
