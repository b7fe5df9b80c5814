//! A byte of the shared memory of any resident block.

use crate::observe::{Completes, Variable};

/// A byte of a block's shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// Ticket of the block.
    pub block: u64,
    pub offset: u64,
}

impl Key {
    /// Returns the identity of an mbarrier for the observers.
    pub fn completes(self) -> Completes {
        Completes::Mbarrier { owner: self.block, address: self.offset }
    }

    /// Returns the identity of an mbarrier for the observers.
    pub fn variable(self, phase: u64) -> Variable {
        Variable::Mbarrier { owner: self.block, address: self.offset, phase }
    }
}
