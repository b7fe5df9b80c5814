//! Barriers of a block.

use crate::registers::Slot;

/// Variant of a block barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BarrierKind {
    /// Threads wait.
    Sync,
    /// Threads are counted and do not wait.
    Arrive,
    /// Threads wait, and a predicate is reduced over the block.
    Reduce {
        /// The reduction.
        op: BarrierReduce,
        /// Row of `pred`.
        source: Slot,
        /// Whether the predicate is negated, `!p`.
        negated: bool,
        /// Row of `w32` for `Popc`, otherwise of `pred`.
        destination: Slot,
    },
}

/// Reduction of `bar.red.{popc,and,or}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are PTX's own")]
pub enum BarrierReduce {
    Popc,
    And,
    Or,
}
