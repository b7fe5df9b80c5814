//! The state of a block barrier.

/// One of a block's barriers, between two completions.
#[derive(Clone, Copy, Debug, Default, Hash)]
pub struct Barrier {
    /// Bit per warp that has come.
    pub arrived: u32,
    /// Bit per warp that came and waits.
    pub waiting: u32,
    /// Warps that came, times 32; a warp may come twice with `arrive`.
    pub threads: u32,
    /// Threads that the barrier waits for; 0 for all warps that have not ended.
    pub wanted: u32,
    /// Lanes with a true predicate, and lanes at all.
    pub reduced: (u32, u32),
}
