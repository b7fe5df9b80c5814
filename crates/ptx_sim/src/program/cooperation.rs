//! Barriers of a block.

use crate::registers::Slot;

/// What a block barrier does besides counting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BarrierKind {
    /// Wait.
    Sync,
    /// Count, don't wait.
    Arrive,
    /// Wait, and reduce a predicate over the block.
    Reduce {
        /// How.
        op: BarrierReduce,
        /// Row of `pred`.
        source: Slot,
        /// `!p`.
        negated: bool,
        /// Row of `w32` for `Popc`, else of `pred`.
        destination: Slot,
    },
}

/// `bar.red.{popc,and,or}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are PTX's own")]
pub enum BarrierReduce {
    Popc,
    And,
    Or,
}
