//! Why warps wait.

/// What a warp waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::explain) enum Cause {
    /// The queue of device memory.
    Memory,
    /// Results, as long as they take without queues.
    Latency,
    /// The queues of the caches.
    Cache,
    /// A turn to issue.
    Issue,
    /// The queue of shared memory.
    Shared,
    /// Other warps at a block barrier.
    Barriers,
    /// An arithmetic unit.
    Arithmetic,
    /// The start of a block.
    Blocks,
    /// Atomics on the same lines.
    Atomics,
}

/// Number of causes.
pub(in crate::explain) const CAUSES: usize = 9;
