//! What the machine tells its observers. A checker or a counter implements [`Observer`] and listens to the events it
//! needs; the machine is compiled once per set of observers, so one that is off costs nothing.

use crate::machine::Peek;
use crate::machine::lanes::Spread;
use crate::program::{Order, Scope, Space};
use crate::registers::LANES;

/// An instruction: index of its function, and of itself in the function's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Site {
    /// Index into `Program::functions`.
    pub function: u32,
    /// Index into `Function::code`.
    pub pc: u32,
}

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
#[allow(dead_code, reason = "made where clusters and mbarriers are")]
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
#[allow(dead_code, reason = "for checkers")]
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

/// Listens to one worker's events. Every method has an empty default.
#[allow(unused_variables, reason = "the defaults do nothing; the names are the documentation")]
pub trait Observer: Send + Sized {
    /// What it keeps per resident block.
    type Block: Send;
    /// Undefined values are tracked. Whoever adds an instruction that does more than compute on registers through
    /// `Op::Pure` tells what it reads and writes by the functions of `check/uninit/hooks.rs`: `defines` or
    /// `computes_together` for destination registers, `needs_defined` for registers that hold an address, a size or a
    /// mask, `writes_memory` (or `BlockStates::writes_shared`) for memory that is not accessed through `load`, `store`
    /// and `atomic`; or it has its arm in `check/uninit/plan.rs`, which says which registers an instruction reads and
    /// writes.
    const INIT: bool = false;

    /// A block starts.
    fn begin(&mut self, shape: &BlockShape) -> Self::Block;

    /// A block has ended.
    fn end(&mut self, block: Self::Block) {}

    /// A warp has executed the instructions from `from` up to, but not including, `end`, one after the other, with
    /// `active` lanes.
    fn ran(&mut self, block: &mut Self::Block, warp: u32, from: Site, end: u32, active: u32) {}

    /// The guard of an instruction is false for the active lanes of `off`, of which there is at least one.
    fn guarded(&mut self, site: Site, off: u32) {}

    /// A conditional branch; `divergent` when its lanes go different ways.
    fn branch(&mut self, site: Site, divergent: bool) {}

    /// A memory access.
    fn touch(&mut self, block: &mut Self::Block, touch: &Touch<'_>) {}

    /// The load that the last [`Observer::touch`] showed goes past L1.
    fn bypass(&mut self, block: &mut Self::Block, past: &Bypass<'_>) {}

    /// A fence.
    fn fence(&mut self, block: &mut Self::Block, warp: u32, mask: u32, order: Order, scope: Scope) {}

    /// The lanes of `mask` have met at a `*.sync` instruction; `live` lanes have not exited.
    fn meet(&mut self, block: &mut Self::Block, warp: u32, mask: u32, live: u32) {}

    /// A warp comes to block barrier `id` and does not wait there (`bar.arrive`).
    fn arrive(&mut self, block: &mut Self::Block, warp: u32, id: u32) {}

    /// Block barrier `id` completes. Bit per warp: those that came, and those of them that waited for the rest.
    fn barrier(&mut self, block: &mut Self::Block, id: u32, arrived: u32, waited: u32) {}

    /// A fence between the generic and the asynchronous proxy.
    fn proxy_fence(&mut self, block: &mut Self::Block, warp: u32, mask: u32) {}

    /// A thread of the block asks for a bulk copy from shared memory; the access itself comes later, as a
    /// [`Observer::range`].
    fn issue(&mut self, block: &mut Self::Block, range: &Range) {}

    /// An asynchronous access, in the block of the thread that asked for it. When it signals an mbarrier, a [release]
    /// by the same thread follows.
    ///
    /// [release]: Observer::release
    fn range(&mut self, block: &mut Self::Block, range: &Range) {}

    /// The lanes make what they did so far visible to those who [`Observer::acquire`] the same variable later: an
    /// arrival at a cluster barrier or an mbarrier. `scope` is the one that the instruction names, or has by default.
    /// Arrivals with `.relaxed` don't call it.
    fn release(&mut self, block: &mut Self::Block, warp: u32, mask: u32, variable: Variable, scope: Scope) {}

    /// The lanes see what was released to the variable: a wait that succeeded.
    fn acquire(&mut self, block: &mut Self::Block, warp: u32, mask: u32, variable: Variable, scope: Scope) {}

    /// Takes over what another worker's observer saw.
    fn absorb(&mut self, other: Self);
}

/// Sees nothing.
impl Observer for () {
    type Block = ();
    #[inline(always)]
    fn begin(&mut self, _: &BlockShape) {}
    fn absorb(&mut self, (): ()) {}
}

/// Two observers are one.
impl<A: Observer, B: Observer> Observer for (A, B) {
    type Block = (A::Block, B::Block);
    const INIT: bool = A::INIT || B::INIT;

    fn begin(&mut self, shape: &BlockShape) -> Self::Block {
        (self.0.begin(shape), self.1.begin(shape))
    }
    fn end(&mut self, block: Self::Block) {
        self.0.end(block.0);
        self.1.end(block.1);
    }
    #[inline(always)]
    fn ran(&mut self, block: &mut Self::Block, warp: u32, from: Site, end: u32, active: u32) {
        self.0.ran(&mut block.0, warp, from, end, active);
        self.1.ran(&mut block.1, warp, from, end, active);
    }
    #[inline(always)]
    fn guarded(&mut self, site: Site, off: u32) {
        self.0.guarded(site, off);
        self.1.guarded(site, off);
    }
    #[inline(always)]
    fn branch(&mut self, site: Site, divergent: bool) {
        self.0.branch(site, divergent);
        self.1.branch(site, divergent);
    }
    #[inline(always)]
    fn touch(&mut self, block: &mut Self::Block, touch: &Touch<'_>) {
        self.0.touch(&mut block.0, touch);
        self.1.touch(&mut block.1, touch);
    }
    #[inline(always)]
    fn fence(&mut self, block: &mut Self::Block, warp: u32, mask: u32, order: Order, scope: Scope) {
        self.0.fence(&mut block.0, warp, mask, order, scope);
        self.1.fence(&mut block.1, warp, mask, order, scope);
    }
    #[inline(always)]
    fn meet(&mut self, block: &mut Self::Block, warp: u32, mask: u32, live: u32) {
        self.0.meet(&mut block.0, warp, mask, live);
        self.1.meet(&mut block.1, warp, mask, live);
    }
    fn bypass(&mut self, block: &mut Self::Block, past: &Bypass<'_>) {
        self.0.bypass(&mut block.0, past);
        self.1.bypass(&mut block.1, past);
    }

    fn proxy_fence(&mut self, block: &mut Self::Block, warp: u32, mask: u32) {
        self.0.proxy_fence(&mut block.0, warp, mask);
        self.1.proxy_fence(&mut block.1, warp, mask);
    }
    fn issue(&mut self, block: &mut Self::Block, range: &Range) {
        self.0.issue(&mut block.0, range);
        self.1.issue(&mut block.1, range);
    }
    fn range(&mut self, block: &mut Self::Block, range: &Range) {
        self.0.range(&mut block.0, range);
        self.1.range(&mut block.1, range);
    }
    #[inline(always)]
    fn arrive(&mut self, block: &mut Self::Block, warp: u32, id: u32) {
        self.0.arrive(&mut block.0, warp, id);
        self.1.arrive(&mut block.1, warp, id);
    }
    #[inline(always)]
    fn barrier(&mut self, block: &mut Self::Block, id: u32, arrived: u32, waited: u32) {
        self.0.barrier(&mut block.0, id, arrived, waited);
        self.1.barrier(&mut block.1, id, arrived, waited);
    }
    fn release(&mut self, block: &mut Self::Block, warp: u32, mask: u32, variable: Variable, scope: Scope) {
        self.0.release(&mut block.0, warp, mask, variable, scope);
        self.1.release(&mut block.1, warp, mask, variable, scope);
    }
    fn acquire(&mut self, block: &mut Self::Block, warp: u32, mask: u32, variable: Variable, scope: Scope) {
        self.0.acquire(&mut block.0, warp, mask, variable, scope);
        self.1.acquire(&mut block.1, warp, mask, variable, scope);
    }
    fn absorb(&mut self, other: Self) {
        self.0.absorb(other.0);
        self.1.absorb(other.1);
    }
}
