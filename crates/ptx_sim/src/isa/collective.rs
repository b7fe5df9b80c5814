//! The kinds of instructions that lanes of a warp execute together.

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
    /// `bar.warp.sync`: no operand except the mask.
    Sync,
    /// `mma`, `ldmatrix` and others on matrices: the whole warp.
    Matrix,
}

impl Collective {
    /// Whether it orders what its lanes did in memory before it and what they do after it. The others only wait for the
    /// lanes: PTX ISA, `bar.warp.sync`.
    pub fn orders_memory(self) -> bool {
        self == Self::Sync
    }
}

/// Mode of `shfl.sync`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are PTX's own")]
pub enum Shuffle {
    Up,
    Down,
    Bfly,
    Idx,
}
