//! Events of the machine. A checker or a counter implements [`Observer`] and handles the events it needs. The machine
//! is compiled once per set of observers, so a disabled observer costs nothing.

mod combine;
mod findings;
mod matrices;
mod peek;
mod setting;
mod shadow;

pub use findings::{Blamed, Findings};
pub use matrices::{Boxed, Factor};
pub use peek::Peek;
pub use setting::{Setting, thread_id};
pub use shadow::{BlockStates, Copies, Lanes, Meeting, Scene, Shadow};

use crate::lanes::Spread;
pub use crate::program::Site;
use crate::program::{Order, Scope, Space};
use crate::registers::LANES;

/// Effect of an access on memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AccessKind {
    /// `ld`.
    Load,
    /// `st`.
    Store,
    /// `atom` and `red`.
    Atomic,
    /// `discard`: a write of indeterminate values, which moves no data.
    Discard,
}

/// One memory instruction of one warp in one state space, after its bounds were checked and before it takes effect.
pub struct Touch<'a> {
    /// The instruction.
    pub site: Site,
    /// Index of the warp in the block.
    pub warp: u32,
    /// Lanes that access memory.
    pub mask: u32,
    /// Kind of access.
    pub kind: AccessKind,
    /// State space, after generic addresses are resolved.
    pub space: Space,
    /// Memory order.
    pub order: Order,
    /// Scope of the memory order; meaningless for `Weak`.
    pub scope: Scope,
    /// Ticket of the block that owns the shared memory; differs from the accessing block only for distributed shared
    /// memory.
    pub owner: u64,
    /// Bytes per lane, for all elements of a vector together.
    pub bytes: u32,
    /// Whether each lane has a row of an 8x8 matrix (`ldmatrix`, `stmatrix`): then each group of eight lanes is served
    /// separately.
    pub matrix_rows: bool,
    /// Addresses in `space`, by lane; meaningless for lanes outside `mask`.
    pub addresses: &'a [u64; LANES],
    /// Lowest and highest address and the pattern of the addresses.
    pub spread: &'a Spread,
    /// Access to the contents of memory and to the values of a store.
    pub peek: Peek<'a>,
}

/// A load to shared memory that bypasses L1 (`cp.async.cg`).
pub struct Bypass<'a> {
    /// The instruction.
    pub site: Site,
    /// Index of the warp in the block.
    pub warp: u32,
    /// Lanes that copy.
    pub mask: u32,
    /// Bytes per lane.
    pub bytes: u32,
    /// Addresses in global memory, by lane.
    pub from: &'a [u64; LANES],
    /// Addresses in shared memory, by lane.
    pub to: &'a [u64; LANES],
}

/// An object for synchronisation other than memory accesses, fences, `*.sync` and block barriers: see
/// [`Observer::release`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Variable {
    /// A phase of the barrier of all threads of a cluster.
    ClusterBarrier {
        /// Index of the cluster in the grid.
        cluster: u64,
        /// Number of completed phases before this one.
        phase: u64,
    },
    /// An `mbarrier` object in shared memory.
    Mbarrier {
        /// Ticket of the block that owns the memory.
        owner: u64,
        /// Offset in the block's shared memory.
        address: u64,
        /// Number of completed phases before this one.
        phase: u64,
    },
    /// A product of a warpgroup: its warps release when they execute it, and acquire when they have waited for it.
    Warpgroup {
        /// Ticket of the block.
        owner: u64,
        /// Index of the warpgroup in the block.
        group: u32,
        /// Number of earlier products of the group.
        number: u64,
    },
}

/// Bytes that a bulk copy reads or writes, or that a store which signals an mbarrier writes, at the time of the access.
/// Copies by `cp.async` appear as [`Touch`]es of the threads that issued them: a load when issued, a store when waited
/// for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The instruction that issued it.
    pub site: Site,
    /// Index of the warp of the thread that executed the instruction.
    pub warp: u32,
    /// Lane of that thread.
    pub lane: u32,
    /// Kind of access.
    pub kind: AccessKind,
    /// `Shared` or `Global`.
    pub space: Space,
    /// Ticket of the block that owns the shared memory.
    pub owner: u64,
    /// First address in `space`.
    pub start: u64,
    /// Number of bytes.
    pub bytes: u64,
    /// Whether it combines its bytes with those in memory, atomically for each element.
    pub reduces: bool,
    /// What threads wait for before they may use the memory.
    pub completes: Completes,
}

/// What the completion of an asynchronous access signals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completes {
    /// An `mbarrier` object in shared memory.
    Mbarrier {
        /// Ticket of the block that owns the memory.
        owner: u64,
        /// Offset in the block's shared memory.
        address: u64,
    },
    /// A bulk group of the thread that issued the copy.
    Group,
    /// A product of a warpgroup.
    Warpgroup {
        /// Index of the warpgroup in the block.
        group: u32,
        /// Number of earlier products of the group.
        number: u64,
    },
}

/// A block that starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockShape {
    /// Position in launch order: the linear block index.
    pub ticket: u64,
    /// Index of its cluster in the grid; without clusters, each block is a cluster of its own.
    pub cluster: u64,
    /// `%nctaid`.
    pub grid: [u32; 3],
    /// `%ctaid`.
    pub block: [u32; 3],
    /// `%ntid`.
    pub threads: [u32; 3],
    /// Number of warps in the block.
    pub warps: u32,
    /// Bytes of shared memory of the block.
    pub shared_bytes: u64,
}

/// Returns the shadow of an observer that does not track undefined values.
pub fn no_shadow() -> &'static mut () {
    // A box of a zero-sized value does not allocate.
    Box::leak(Box::new(()))
}

/// Receiver of one worker's events. No event has a default body, so every observer states its handling of each event.
pub trait Observer: Send + Sized {
    /// State per resident block.
    type Block: Send;
    /// Tracker of undefined values; `()` for observers that do not track them.
    type Shadow: Shadow;

    /// Returns the tracker of undefined values.
    fn shadow(&mut self) -> &mut Self::Shadow;

    /// Called when a block starts; returns its state.
    fn begin(&mut self, shape: &BlockShape) -> Self::Block;

    /// Called when a block has ended.
    fn end(&mut self, block: Self::Block);

    /// Called when a warp has executed the instructions from `from` up to, but not including, `end` in sequence, with
    /// `active` lanes.
    fn ran(&mut self, block: &mut Self::Block, warp: u32, from: Site, end: u32, active: u32);

    /// Called when the guard of an instruction is false for the active lanes in `off`, at least one.
    fn guarded(&mut self, site: Site, off: u32);

    /// Called for a conditional branch; `divergent` if its lanes take both directions.
    fn branch(&mut self, site: Site, divergent: bool);

    /// Called for a memory access.
    fn touch(&mut self, block: &mut Self::Block, touch: &Touch<'_>);

    /// Called when the load of the last [`Observer::touch`] bypasses L1.
    fn bypass(&mut self, block: &mut Self::Block, past: &Bypass<'_>);

    /// Called for a fence.
    fn fence(&mut self, block: &mut Self::Block, warp: u32, mask: u32, order: Order, scope: Scope);

    /// Called when the lanes of `mask` have synchronised at a `bar.warp.sync`; `live` are the lanes that have not
    /// exited.
    fn meet(&mut self, block: &mut Self::Block, warp: u32, mask: u32, live: u32);

    /// Called when a warp arrives at block barrier `id` without waiting (`bar.arrive`).
    fn arrive(&mut self, block: &mut Self::Block, warp: u32, id: u32);

    /// Called when block barrier `id` completes, with the masks of the warps that arrived and of those among them that
    /// waited.
    fn barrier(&mut self, block: &mut Self::Block, id: u32, arrived: u32, waited: u32);

    /// Called before [`Observer::barrier`] for a warp at `site` some of whose lanes, `exited`, have ended instead of
    /// arriving.
    fn left_out(&mut self, block: &mut Self::Block, warp: u32, site: Site, exited: u32);

    /// Called for a fence between the generic and the asynchronous proxy.
    fn proxy_fence(&mut self, block: &mut Self::Block, warp: u32, mask: u32);

    /// Called when lanes of a warp issue `cp.async`, with what they will write to shared memory; the writes themselves
    /// follow later as an [`Observer::touch`].
    fn announce(&mut self, block: &mut Self::Block, writes: &Touch<'_>);

    /// Called when a thread of the block issues a bulk copy or a warp executes a `wgmma`, for each range of shared
    /// memory that it will read or write; the access itself follows later as an [`Observer::range`].
    fn issue(&mut self, block: &mut Self::Block, range: &Range, peek: Peek<'_>);

    /// Called for an asynchronous access, in the block of the thread that issued it. If it signals an mbarrier, a
    /// [release] by the same thread follows.
    ///
    /// [release]: Observer::release
    fn range(&mut self, block: &mut Self::Block, range: &Range, peek: Peek<'_>);

    /// Called after [`Observer::range`] for a box of a tensor that a bulk copy has written to shared memory, in the
    /// block of the thread that issued the copy.
    fn boxed(&mut self, block: &mut Self::Block, written: &Boxed<'_>);

    /// Called for each factor in shared memory of a `wgmma` when the last warp of its group executes it.
    fn factor(&mut self, block: &mut Self::Block, factor: &Factor);

    /// Called for a release through a cluster barrier or an mbarrier: the lanes' effects so far happen before a later
    /// [`Observer::acquire`] of the same variable. `scope` is the instruction's scope or its default. Arrivals with
    /// `.relaxed` do not release.
    fn release(&mut self, block: &mut Self::Block, warp: u32, mask: u32, variable: Variable, scope: Scope);

    /// Called for an acquire, that is, a wait that succeeded: releases to the variable happen before what the lanes do
    /// next.
    fn acquire(&mut self, block: &mut Self::Block, warp: u32, mask: u32, variable: Variable, scope: Scope);

    /// Merges the results of another worker's observer.
    fn absorb(&mut self, other: Self);
}
