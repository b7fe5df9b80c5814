//! Instructions, as the machine executes them.

use super::{Access, Async, Atomic, BarrierKind, Matrix, Texture};
use crate::isa::collective::Collective;
use crate::isa::memory::{Order, Scope, Space};
use crate::isa::special::Timer;
use crate::registers::{Args, Pure, Slot};

/// One instruction.
#[derive(Clone, Debug)]
pub struct Inst {
    /// What it does.
    pub op: Op,
    /// `@p` or `@!p`.
    pub guard: Option<Guard>,
    /// Index into `Program::opcodes`.
    pub opcode: u32,
    /// Index into `Program::locations`.
    pub location: Option<u32>,
    /// 1-based line in the PTX text.
    pub line: u32,
}

/// Lanes whose predicate is false skip the instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard {
    /// Row of `Registers::pred`.
    pub pred: Slot,
    /// `@!p`.
    pub negated: bool,
}

/// What an instruction does.
#[derive(Clone, Debug)]
pub enum Op {
    /// Moves bits between registers of active lanes.
    Pure(Pure, Args),
    /// Reads a timer into a row of `w64` (`wide`) or `w32`.
    ReadTimer {
        /// The timer.
        timer: Timer,
        /// The row.
        destination: Slot,
        /// The row is in `w64`.
        wide: bool,
    },
    /// `ld`.
    Load(Access),
    /// `st`.
    Store(Access),
    /// `atom`, `red`.
    Atomic(Atomic),
    /// `atom` and `red` of vectors: one atomic for each element, in order.
    AtomicVector(Box<[Atomic]>),
    /// `fence`, `membar`.
    Fence(Order, Scope),
    /// `cvta`, `cvta.to`.
    ConvertAddress {
        /// The specific space.
        space: Space,
        /// From generic to specific, not the other way.
        from_generic: bool,
        /// Rows of `w64`.
        destination: Slot,
        /// Rows of `w64`.
        source: Slot,
    },
    /// `isspacep`: a row of `pred` from a row of `w64`.
    IsSpace {
        /// The space that is asked for.
        space: Space,
        /// Row of `pred`.
        destination: Slot,
        /// Row of `w64`.
        source: Slot,
    },
    /// `bra`; conditional when guarded.
    Branch {
        /// Index into `Function::code`.
        target: u32,
    },
    /// `brx.idx`.
    BranchIndexed {
        /// Row of `w32`.
        index: Slot,
        /// Indices into `Function::code`.
        targets: Vec<u32>,
    },
    /// `call`.
    Call {
        /// The function.
        callee: Callee,
        /// Parameters.
        params: Vec<FrameCopy>,
        /// Return values.
        returns: Vec<FrameCopy>,
    },
    /// `ret`. In an entry: exit.
    Return,
    /// `exit`.
    Exit,
    /// `trap`, `brkpt`.
    Trap,
    /// `bar`, `barrier`.
    Barrier {
        /// All threads of the warp must execute it together.
        aligned: bool,
        /// Row of `w32`: 0 to 15.
        id: Slot,
        /// Row of `w32`: participating threads; all when `None`.
        count: Option<Slot>,
        /// What the barrier does.
        kind: BarrierKind,
    },
    /// A `*.sync` instruction of the warp. `mask` is a row of `w32`. The meaning runs once all named lanes have arrived,
    /// with these lanes.
    Collective {
        /// The kind of instruction.
        kind: Collective,
        /// Row of `w32`.
        mask: Slot,
        /// The meaning; `Sync` has one that does nothing.
        run: Pure,
        /// Operands without the mask.
        args: Args,
    },
    /// Textures and surfaces.
    Texture(Box<Texture>),
    /// Instructions of all 32 lanes on matrices that they hold together.
    Matrix(Box<Matrix>),
    /// Asynchronous copies, mbarriers, clusters.
    Async(Box<Async>),
    /// `nanosleep`: a hint that the warp waits for another thread.
    Nanosleep,
    /// `alloca`: stack memory of the thread.
    Alloca {
        /// Row of `w64`: a local address.
        destination: Slot,
        /// Row of `w64` (or `w32` when not `wide`): bytes.
        size: Slot,
        /// The size is a row of `w64`.
        wide: bool,
        /// Alignment in bytes.
        align: u64,
    },
    /// `stacksave`: row of `w64`.
    StackSave(Slot),
    /// `stackrestore`: row of `w64`.
    StackRestore(Slot),
    /// `prefetch`, `discard`, `griddepcontrol` and others that do not change what a program computes.
    Nothing,
    /// An instruction that is kept but can't be executed here; the text says why.
    Unsupported(String),
}

/// The function that is called.
#[derive(Clone, Debug)]
pub enum Callee {
    /// Index into `Program::functions`.
    Direct(u32),
    /// Row of `w64` that holds a function's address.
    Indirect(Slot),
}

/// Bytes to copy between the caller's frame and the callee's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameCopy {
    /// Offset in the caller's frame.
    pub caller: u64,
    /// Position in the callee's list of parameters (or return values).
    pub index: u32,
    /// Size in bytes.
    pub size: u64,
}
