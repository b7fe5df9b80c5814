//! Instructions of a warpgroup: four consecutive warps that multiply matrices together.

use crate::isa::matrix::{Form, Multiply};
use crate::registers::Slot;

/// `wgmma.*`, executed by all 32 lanes of each warp of the group.
#[derive(Clone, Debug)]
pub enum Warpgroup {
    /// `wgmma.fence`: orders accesses to registers before the products that follow.
    Fence,
    /// `wgmma.commit_group`: the products since the last one form a group.
    Commit,
    /// `wgmma.wait_group`: waits until all groups but the newest `pending` are complete.
    Wait {
        /// Newest groups that need not be complete.
        pending: u32,
    },
    /// `wgmma.mma_async`.
    Multiply(Box<Product>),
}

/// `wgmma.mma_async`: `d = a * b + d`, or `d = a * b`.
#[derive(Clone, Debug)]
pub struct Product {
    /// Shape and types of one warp's part of 16 rows.
    pub shape: Multiply,
    /// Rows of the sums in `w32`.
    pub d: Vec<Slot>,
    /// The first factor.
    pub a: Factor,
    /// Row of `w64` with the descriptor of the second factor.
    pub b: Slot,
    /// Row of `pred`, and whether it is negated: whether the old sums are added.
    pub adds: (Slot, bool),
    /// Whether the factors are negated.
    pub negated: [bool; 2],
    /// Order of the factors in shared memory.
    pub forms: [Form; 2],
}

/// The first factor of a product.
#[derive(Clone, Debug)]
pub enum Factor {
    /// Rows of `w32` with fragments.
    Registers(Vec<Slot>),
    /// Row of `w64` with a descriptor of a matrix in shared memory.
    Shared(Slot),
}

impl Product {
    /// Returns the registers with fragments of the first factor.
    pub fn fragments(&self) -> &[Slot] {
        match &self.a {
            Factor::Registers(slots) => slots,
            Factor::Shared(_) => &[],
        }
    }

    /// Returns the descriptors of the factors in shared memory.
    pub fn descriptors(&self) -> [Option<Slot>; 2] {
        match self.a {
            Factor::Registers(_) => [None, Some(self.b)],
            Factor::Shared(a) => [Some(a), Some(self.b)],
        }
    }
}
