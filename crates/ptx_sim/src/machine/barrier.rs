//! State of a block barrier.

/// State of one of a block's barriers, between two completions.
#[derive(Clone, Copy, Debug, Default, Hash)]
pub struct Barrier {
    /// Mask of the warps that have arrived.
    pub arrived: u32,
    /// Mask of the warps that have arrived and wait.
    pub waiting: u32,
    /// Number of arrived warps, times 32; with `arrive`, a warp may be counted twice.
    pub threads: u32,
    /// Number of threads that the barrier waits for; 0 for all warps that have not ended.
    pub wanted: u32,
    /// Number of lanes with a true predicate, and number of lanes.
    pub reduced: (u32, u32),
}
