//! The places of a ring of stages in shared memory, which threads go through at their own pace.

/// A position in a ring: the stage, and the parity of the number of times that it has been used.
#[derive(Clone, Copy)]
pub struct Position {
    /// Number of the stage.
    pub stage: u32,
    /// Parity of the round.
    pub parity: u32,
}

impl Position {
    /// The first stage in the first round.
    pub const FIRST: Self = Self { stage: 0, parity: 0 };

    /// Goes to the next stage of a ring of `stages`.
    #[inline(always)]
    pub fn advance(&mut self, stages: u32) {
        self.stage += 1;
        if self.stage == stages {
            (self.stage, self.parity) = (0, self.parity ^ 1);
        }
    }

    /// The stage before.
    #[inline(always)]
    pub fn previous(self, stages: u32) -> u32 {
        if self.stage == 0 { stages - 1 } else { self.stage - 1 }
    }
}
