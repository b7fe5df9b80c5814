//! What the machine tells its observers. A checker or a counter implements [`Observer`] and listens to the events it
//! needs; the machine is compiled once per set of observers, so one that is off costs nothing.

mod combine;
mod findings;
mod peek;
mod setting;
mod shadow;

pub use findings::{Blamed, Findings};
pub use peek::Peek;
pub use setting::{Setting, thread_id};
pub use shadow::{BlockStates, Copies, Lanes, Meeting, Scene, Shadow};

use crate::lanes::Spread;
pub use crate::program::Site;
use crate::program::{Order, Scope, Space};
use crate::registers::LANES;

/// What an access does to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AccessKind {
    /// `ld`.
    Load,
    /// `st`.
    Store,
    /// `atom` and `red`.
    Atomic,
}

/// One memory instruction of one warp, in one state space, after its bounds were checked and before it is carried out.
pub struct Touch<'a> {
    /// Who.
    pub site: Site,
    /// Warp of the block.
    pub warp: u32,
    /// Lanes that access memory.
    pub mask: u32,
    /// What they do.
    pub kind: AccessKind,
    /// The space after generic addresses are resolved.
    pub space: Space,
    /// Memory order.
    pub order: Order,
    /// Who the order is for; meaningless for `Weak`.
    pub scope: Scope,
    /// Ticket of the block that shared memory belongs to; the accessing block's own, but for distributed shared memory.
    pub owner: u64,
    /// Bytes per lane, all elements of a vector together.
    pub bytes: u32,
    /// Each lane has a row of an 8x8 matrix (`ldmatrix`, `stmatrix`): eight lanes are served together, and no others.
    pub matrix_rows: bool,
    /// Addresses in `space`, by lane; those of lanes outside `mask` mean nothing.
    pub addresses: &'a [u64; LANES],
    /// How they lie.
    pub spread: &'a Spread,
    /// What is in memory and what a store will put there, for observers that want to know.
    pub peek: Peek<'a>,
}

/// A load that goes past L1 to shared memory (`cp.async.cg`).
pub struct Bypass<'a> {
    /// The instruction.
    pub site: Site,
    /// Warp of the block.
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

/// What threads synchronise through besides memory accesses, fences, `*.sync` and block barriers: see
/// [`Observer::release`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Variable {
    /// A phase of the barrier of all threads of a cluster.
    ClusterBarrier {
        /// The cluster's number in the grid.
        cluster: u64,
        /// Completed phases before this one.
        phase: u64,
    },
    /// An `mbarrier` object in shared memory.
    Mbarrier {
        /// Ticket of the block that the memory belongs to.
        owner: u64,
        /// Offset in its shared memory.
        address: u64,
        /// Completed phases before this one.
        phase: u64,
    },
}

/// Bytes that a bulk copy reads or writes, or that a store signalling an mbarrier writes, when it is carried out.
/// Copies by `cp.async` are shown as [`Touch`]es of the threads that issued them: a load when issued, a store when
/// waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The instruction that asked for it.
    pub site: Site,
    /// Warp of the thread that executed it.
    pub warp: u32,
    /// Its lane.
    pub lane: u32,
    /// What is done.
    pub kind: AccessKind,
    /// `Shared` or `Global`.
    pub space: Space,
    /// Ticket of the block that shared memory belongs to.
    pub owner: u64,
    /// First address in `space`.
    pub start: u64,
    /// Bytes.
    pub bytes: u64,
}

/// A block about to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockShape {
    /// Position in the order in which blocks start: the linear block index.
    pub ticket: u64,
    /// Number of its cluster in the grid; without clusters, every block is its own.
    pub cluster: u64,
    /// `%nctaid`.
    pub grid: [u32; 3],
    /// `%ctaid`.
    pub block: [u32; 3],
    /// `%ntid`.
    pub threads: [u32; 3],
    /// Warps in the block.
    pub warps: u32,
    /// Bytes of shared memory.
    pub shared_bytes: u64,
}

/// The shadow of an observer that follows no undefined values.
pub fn no_shadow() -> &'static mut () {
    // A box of nothing takes no memory.
    Box::leak(Box::new(()))
}

/// Receives one worker's events. No event has a default body: an observer says of each what it does.
pub trait Observer: Send + Sized {
    /// What it keeps per resident block.
    type Block: Send;
    /// Follows undefined values; `()` unless that is what the observer is for.
    type Shadow: Shadow;

    /// The part that follows undefined values.
    fn shadow(&mut self) -> &mut Self::Shadow;

    /// A block starts.
    fn begin(&mut self, shape: &BlockShape) -> Self::Block;

    /// A block has ended.
    fn end(&mut self, block: Self::Block);

    /// A warp has executed the instructions from `from` up to, but not including, `end`, one after the other, with
    /// `active` lanes.
    fn ran(&mut self, block: &mut Self::Block, warp: u32, from: Site, end: u32, active: u32);

    /// The guard of an instruction is false for the active lanes of `off`, of which there is at least one.
    fn guarded(&mut self, site: Site, off: u32);

    /// A conditional branch; `divergent` when its lanes go different ways.
    fn branch(&mut self, site: Site, divergent: bool);

    /// A memory access.
    fn touch(&mut self, block: &mut Self::Block, touch: &Touch<'_>);

    /// The load that the last [`Observer::touch`] showed goes past L1.
    fn bypass(&mut self, block: &mut Self::Block, past: &Bypass<'_>);

    /// A fence.
    fn fence(&mut self, block: &mut Self::Block, warp: u32, mask: u32, order: Order, scope: Scope);

    /// The lanes of `mask` have met at a `*.sync` instruction; `live` lanes have not exited.
    fn meet(&mut self, block: &mut Self::Block, warp: u32, mask: u32, live: u32);

    /// A warp comes to block barrier `id` and does not wait there (`bar.arrive`).
    fn arrive(&mut self, block: &mut Self::Block, warp: u32, id: u32);

    /// Block barrier `id` completes. Bit per warp: those that came, and those of them that waited for the rest.
    fn barrier(&mut self, block: &mut Self::Block, id: u32, arrived: u32, waited: u32);

    /// A fence between the generic and the asynchronous proxy.
    fn proxy_fence(&mut self, block: &mut Self::Block, warp: u32, mask: u32);

    /// A thread of the block asks for a bulk copy from shared memory; the access itself comes later, as a
    /// [`Observer::range`].
    fn issue(&mut self, block: &mut Self::Block, range: &Range);

    /// An asynchronous access, in the block of the thread that asked for it. When it signals an mbarrier, a [release]
    /// by the same thread follows.
    ///
    /// [release]: Observer::release
    fn range(&mut self, block: &mut Self::Block, range: &Range);

    /// The lanes make what they did so far visible to those who [`Observer::acquire`] the same variable later: an
    /// arrival at a cluster barrier or an mbarrier. `scope` is the one that the instruction names, or has by default.
    /// Arrivals with `.relaxed` don't call it.
    fn release(&mut self, block: &mut Self::Block, warp: u32, mask: u32, variable: Variable, scope: Scope);

    /// The lanes see what was released to the variable: a wait that succeeded.
    fn acquire(&mut self, block: &mut Self::Block, warp: u32, mask: u32, variable: Variable, scope: Scope);

    /// Takes over what another worker's observer saw.
    fn absorb(&mut self, other: Self);
}
