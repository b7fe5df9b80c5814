//! What the devices of a group do together.

use super::streams::RawStream;

/// What all ranks do together, each with elements of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Collective {
    /// Every rank gets the elements of all ranks, in the order of the ranks.
    AllGather,
    /// Every rank gets the combination of all ranks' elements.
    AllReduce(Reduction),
    /// Each rank gets its part of the combination of all ranks' elements.
    ReduceScatter(Reduction),
    /// Every rank gets the elements of this one.
    Broadcast(usize),
}

/// How elements are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reduction {
    /// Their sum; that of integers wraps.
    Sum,
    /// The largest.
    Max,
    /// The smallest.
    Min,
}

/// The memory of one rank of this process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    /// The stream in which the rank takes part.
    pub stream: RawStream,
    /// Address of what the rank gives.
    pub from: u64,
    /// Address of what the rank gets.
    pub to: u64,
}

/// One end of a transfer between two ranks, which is a rank of this process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Message {
    /// The rank's place among those of this process.
    pub member: usize,
    /// The stream in which it takes part.
    pub stream: RawStream,
    /// The other rank.
    pub peer: usize,
    /// Whether the rank of this process sends.
    pub sends: bool,
    /// Address of the bytes.
    pub address: u64,
    /// Number of bytes.
    pub bytes: u64,
}
