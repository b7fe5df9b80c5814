//! Work that a replay may leave out.

/// What a replay leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Without {
    /// Wavefronts of shared memory beyond those that the bytes need.
    Conflicts,
    /// Sectors of loads and stores beyond those that the bytes need.
    Scattered,
    /// Three of four issue slots of loads and stores that access at most four bytes of global memory for each lane.
    NarrowAccesses,
    /// Waits of atomics for each other.
    Contention,
    /// Starts of blocks after the first ones.
    Starts,
    /// Waits at block barriers.
    Barriers,
    /// Idle places for warps: twice as many blocks are resident.
    EmptyPlaces,
}
