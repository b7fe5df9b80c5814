//! Asynchronous instructions, the mbarriers that signal their completion, and cooperation between blocks of a cluster.

use super::Address;
use crate::isa::memory::{AtomicOperation, Scope, Space};
use crate::registers::Slot;
use crate::tensor::Field;

/// An asynchronous instruction, or one on mbarriers or clusters. Immediate operands are preset rows.
#[derive(Clone, Debug)]
pub enum Async {
    /// `cp.async`: copies from global to shared memory, for each lane.
    Copy {
        /// Destination.
        to: Address,
        /// Source.
        from: Address,
        /// Bytes of one lane: 4, 8 or 16.
        bytes: u32,
        /// Whether the copy is cached in L1 (`.ca`) instead of bypassing it (`.cg`).
        cached: bool,
        /// Row of `w32`: number of bytes read; the rest of the destination is filled with zeros.
        source_bytes: Option<Slot>,
        /// Row of `pred`, and whether it is negated by `!`: lanes where it holds read nothing and write zeros.
        ignore: Option<(Slot, bool)>,
    },
    /// `cp.async.bulk` and `cp.reduce.async.bulk`.
    Bulk {
        /// Destination.
        to: (Space, Address),
        /// Source.
        from: (Space, Address),
        /// Row of `w32`: number of bytes, a multiple of 16.
        bytes: Slot,
        /// The mbarrier whose pending byte count the copy decrements; without one, the copy belongs to a bulk group.
        mbarrier: Option<Address>,
        /// Row of `w32`: mask of the blocks of the cluster that receive a copy.
        multicast: Option<Slot>,
        /// How the destination is combined with what arrives; replaced when `None`.
        reduce: Option<Reduce>,
    },
    /// `cp.async.bulk.tensor` and `cp.reduce.async.bulk.tensor`.
    Tensor {
        /// Address in shared memory.
        shared: Address,
        /// Row of `w64`: generic address of the tensor map.
        map: Slot,
        /// Rows of `w32`: the coordinates of the box, from the contiguous dimension on.
        coordinates: Vec<Slot>,
        /// The mbarrier that a copy to shared memory signals; a copy from shared memory belongs to a bulk group.
        mbarrier: Option<Address>,
        /// Row of `w32`: mask of the blocks of the cluster that receive a copy.
        multicast: Option<Slot>,
        /// How the tensor is combined with what arrives; replaced when `None`.
        reduce: Option<AtomicOperation>,
    },
    /// `st.async` and `red.async`: to shared memory of the cluster.
    Remote {
        /// Destination.
        to: Address,
        /// Rows of the values in address order, in `w64` when `wide`.
        values: Vec<Slot>,
        /// Whether the rows are in `w64`.
        wide: bool,
        /// The mbarrier, in the same block, whose pending byte count the store decrements.
        mbarrier: Address,
        /// How the destination is combined with what arrives; replaced when `None`.
        reduce: Option<Reduce>,
    },
    /// `commit_group`.
    Commit(Group),
    /// `wait_group`: waits until all groups but the newest `pending` are complete.
    Wait {
        /// Kind of the groups.
        group: Group,
        /// Newest groups that need not be complete.
        pending: u32,
        /// `wait_all`: pending copies are committed first.
        all: bool,
    },
    /// `cp.async.mbarrier.arrive`: arrives when the thread's earlier `cp.async` are complete.
    ArriveAfterCopies {
        /// Address of the mbarrier, and its space.
        mbarrier: (Space, Address),
        /// Whether the arrival is in addition to those that the phase expects (no `.noinc`).
        increments: bool,
    },
    /// `mbarrier.*` on an object in memory.
    Mbarrier {
        /// Operation on the mbarrier.
        kind: Mbarrier,
        /// Address of the mbarrier, and its space.
        address: (Space, Address),
        /// Scope in which an arrival releases and a test acquires; `None` with `.relaxed`.
        scope: Option<Scope>,
    },
    /// `mbarrier.pending_count`: row of `w32` for the result, row of `w64` with the state.
    PendingCount(Slot, Slot),
    /// `mapa`: the corresponding address in another block of the cluster.
    Mapa {
        /// Row of the result in `w64` (`wide`) or `w32`; the source has the same width.
        destination: Slot,
        /// Address in any block.
        source: Slot,
        /// Row of `w32`: rank of the block.
        rank: Slot,
        /// Whether addresses have 64 bits.
        wide: bool,
        /// Whether addresses are generic; otherwise they belong to `shared::cluster`.
        generic: bool,
    },
    /// `getctarank`: rank of the block that an address belongs to.
    Rank {
        /// Row of `w32`.
        destination: Slot,
        /// Row of the address in `w64` (`wide`) or `w32`.
        source: Slot,
        /// Whether addresses have 64 bits.
        wide: bool,
        /// Whether addresses are generic; otherwise they belong to `shared::cluster`.
        generic: bool,
    },
    /// `tensormap.replace`: replaces a field of the tensor map at an address.
    ReplaceField {
        /// Address of the map, and its space.
        map: (Space, Address),
        /// The field.
        field: Field,
        /// Dimension, for the fields that each dimension has.
        ordinal: u8,
        /// Row of the new value in `w64` (`wide`) or `w32`.
        value: Slot,
        /// Whether the value has 64 bits.
        wide: bool,
    },
    /// `tensormap.cp_fenceproxy`: copies a tensor map from shared to global memory.
    CopyMap {
        /// Destination.
        to: Address,
        /// Source.
        from: Address,
    },
    /// `fence.proxy.tensormap::generic.acquire` for the map at an address.
    AcquireMap(Address),
    /// `fence.proxy.async` for shared memory.
    ProxyFence,
    /// `barrier.cluster.arrive`.
    ClusterArrive {
        /// Whether all threads of the warp must execute it together.
        aligned: bool,
        /// Whether the arrival releases (no `.relaxed`).
        ordered: bool,
    },
    /// `barrier.cluster.wait`.
    ClusterWait {
        /// Whether all threads of the warp must execute it together.
        aligned: bool,
    },
}

/// The kind of copies that a group consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Copies by `cp.async`.
    Copy,
    /// Copies by `cp.async.bulk`.
    Bulk,
}

/// An operation on an mbarrier. Destinations may be `NO_SLOT`.
#[derive(Clone, Copy, Debug)]
pub enum Mbarrier {
    /// Initialises the mbarrier; row of `w32`: number of expected arrivals.
    Init(Slot),
    /// Invalidates the mbarrier, whose memory may be reused.
    Invalidate,
    /// Adds to the bytes of copies that the phase waits for; row of `w32`.
    ExpectBytes(Slot),
    /// Subtracts from these bytes, as a completed copy does; row of `w32`.
    CompleteBytes(Slot),
    /// Arrives at the mbarrier.
    Arrive {
        /// Row of `w64`: the state before the arrival.
        state: Slot,
        /// Row of `w32`: number of arrivals; one when `None`.
        count: Option<Slot>,
        /// Row of `w32`: number of bytes to expect first.
        bytes: Option<Slot>,
        /// Whether later phases expect fewer arrivals, by this count.
        drop: bool,
        /// Whether the arrival must not complete the phase.
        no_complete: bool,
    },
    /// Tests whether a phase is complete.
    Test {
        /// Row of `pred`: the answer.
        destination: Slot,
        /// Row of `w64` with a state, or row of `w32` with a parity.
        phase: Slot,
        /// Whether the phase is given by its parity.
        parity: bool,
    },
}

/// Reduction of a copy with the old contents.
#[derive(Clone, Copy, Debug)]
pub struct Reduce {
    /// Size of an element in bytes.
    pub bytes: u8,
    /// Returns the new value from (old, copied, copied).
    pub combine: fn(u64, u64, u64) -> u64,
}
