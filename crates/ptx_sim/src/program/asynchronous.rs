//! Instructions whose effect comes later, the mbarriers that signal it, and what blocks of a cluster do together.

use super::Address;
use crate::isa::memory::{Scope, Space};
use crate::registers::Slot;

/// An asynchronous instruction, or one about mbarriers or clusters. Immediate operands are preset rows.
#[derive(Clone, Debug)]
pub enum Async {
    /// `cp.async`: from global to shared memory, for each lane.
    Copy {
        /// Destination.
        to: Address,
        /// Source.
        from: Address,
        /// Bytes of one lane: 4, 8 or 16.
        bytes: u32,
        /// The copy goes through L1 (`.ca`), not past it (`.cg`).
        cached: bool,
        /// Row of `w32`: bytes that are read; the rest is zero.
        source_bytes: Option<Slot>,
        /// Row of `pred`, and whether it is written with `!`: lanes where it holds read nothing and write zeros.
        ignore: Option<(Slot, bool)>,
    },
    /// `cp.async.bulk` and `cp.reduce.async.bulk`.
    Bulk {
        /// Destination.
        to: (Space, Address),
        /// Source.
        from: (Space, Address),
        /// Row of `w32`: bytes, a multiple of 16.
        bytes: Slot,
        /// The mbarrier whose pending bytes go down; without one the copy belongs to a bulk group.
        mbarrier: Option<Address>,
        /// Row of `w32`: bit per block of the cluster that gets a copy.
        multicast: Option<Slot>,
        /// How the destination is combined with what arrives; replaced when `None`.
        reduce: Option<Reduce>,
    },
    /// `st.async` and `red.async`: to shared memory of the cluster.
    Remote {
        /// Destination.
        to: Address,
        /// Rows of the values, in address order, in `w64` when `wide`.
        values: Vec<Slot>,
        /// The rows are in `w64`.
        wide: bool,
        /// The mbarrier whose pending bytes go down, in the same block.
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
    /// `cp.async.mbarrier.arrive`: an arrival once the thread's earlier `cp.async` are complete.
    ArriveAfterCopies {
        /// Address of the mbarrier, and its space.
        mbarrier: (Space, Address),
        /// The arrival is one more than this phase expected (no `.noinc`).
        increments: bool,
    },
    /// `mbarrier.*` on an object in memory.
    Mbarrier {
        /// What is done.
        kind: Mbarrier,
        /// Address of the mbarrier, and its space.
        address: (Space, Address),
        /// Scope in which an arrival releases and a test acquires; `None` with `.relaxed`.
        scope: Option<Scope>,
    },
    /// `mbarrier.pending_count`: row of `w32` from a state in a row of `w64`.
    PendingCount(Slot, Slot),
    /// `mapa`: the address of the same place in another block of the cluster.
    Mapa {
        /// Row of `w64` (`wide`) or `w32`; also the source's.
        destination: Slot,
        /// The address in any block.
        source: Slot,
        /// Row of `w32`: the block's rank.
        rank: Slot,
        /// 64-bit addresses.
        wide: bool,
        /// Generic addresses, else addresses of `shared::cluster`.
        generic: bool,
    },
    /// `getctarank`: the rank of the block that an address belongs to.
    Rank {
        /// Row of `w32`.
        destination: Slot,
        /// The address: row of `w64` (`wide`) or `w32`.
        source: Slot,
        /// 64-bit addresses.
        wide: bool,
        /// Generic addresses, else addresses of `shared::cluster`.
        generic: bool,
    },
    /// `fence.proxy.async` for shared memory.
    ProxyFence,
    /// `barrier.cluster.arrive`.
    ClusterArrive {
        /// All threads of the warp must execute it together.
        aligned: bool,
        /// The arrival releases (no `.relaxed`).
        ordered: bool,
    },
    /// `barrier.cluster.wait`.
    ClusterWait {
        /// All threads of the warp must execute it together.
        aligned: bool,
    },
}

/// The kind of copies that a group consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// `cp.async`.
    Copy,
    /// `cp.async.bulk`.
    Bulk,
}

/// What is done to an mbarrier. Destinations may be `NO_SLOT`.
#[derive(Clone, Copy, Debug)]
pub enum Mbarrier {
    /// Row of `w32`: expected arrivals.
    Init(Slot),
    /// The memory may be reused.
    Invalidate,
    /// Row of `w32`: bytes of copies that this phase waits for as well.
    ExpectBytes(Slot),
    /// Row of `w32`: bytes that have arrived.
    CompleteBytes(Slot),
    /// An arrival.
    Arrive {
        /// Row of `w64`: the state before.
        state: Slot,
        /// Row of `w32`: arrivals; one when `None`.
        count: Option<Slot>,
        /// Row of `w32`: bytes to expect first.
        bytes: Option<Slot>,
        /// Later phases expect fewer arrivals, by this count.
        drop: bool,
        /// The arrival must not complete the phase.
        no_complete: bool,
    },
    /// Tests whether a phase is complete.
    Test {
        /// Row of `pred`: the answer.
        destination: Slot,
        /// The phase: row of `w64`, a state, or of `w32`, a parity.
        phase: Slot,
        /// The phase is a parity.
        parity: bool,
    },
}

/// How a reducing copy combines.
#[derive(Clone, Copy, Debug)]
pub struct Reduce {
    /// Bytes of an element.
    pub bytes: u8,
    /// The new value from (old, new, new).
    pub combine: fn(u64, u64, u64) -> u64,
}
