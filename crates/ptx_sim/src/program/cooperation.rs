//! What threads do together: barriers of a block, `*.sync` instructions of a warp.

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

/// Instructions that all lanes of a mask execute together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Collective {
    /// Sources: value (w32), lane operand (w32), clamp/segment operand (w32). Destinations: value (w32), predicate.
    Shuffle(Shuffle),
    /// `vote.sync`: source predicate; destination predicate, or w32 for ballot.
    Vote,
    /// `match.sync`: source w32 or w64; destinations mask (w32), predicate.
    Match,
    /// `redux.sync`: source and destination w32.
    Redux,
    /// `elect.sync`: destinations lane (w32), predicate.
    Elect,
    /// `bar.warp.sync`: no operands but the mask.
    Sync,
    /// `mma`, `ldmatrix` and others of `Op::Matrix`: the whole warp.
    Matrix,
}

/// `shfl.sync` modes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are PTX's own")]
pub enum Shuffle {
    Up,
    Down,
    Bfly,
    Idx,
}
