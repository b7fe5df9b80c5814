//! Instructions.

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
        /// Which.
        timer: Timer,
        /// Where to.
        destination: Slot,
        /// Row of `w64`.
        wide: bool,
    },
    /// `ld`.
    Load(Access),
    /// `st`.
    Store(Access),
    /// `atom`, `red`.
    Atomic(Atomic),
    /// `atom` and `red` of vectors: one after the other.
    AtomicVector(Box<[Atomic]>),
    /// `fence`, `membar`.
    Fence(Order, Scope),
    /// `cvta`, `cvta.to`.
    ConvertAddress {
        /// The specific space.
        space: Space,
        /// Generic to specific.
        from_generic: bool,
        /// Rows of `w64`.
        destination: Slot,
        /// Rows of `w64`.
        source: Slot,
    },
    /// `isspacep`: a row of `pred` from a row of `w64`.
    IsSpace {
        /// Which.
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
        /// Who.
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
        /// Sync, arrive or reduce.
        kind: BarrierKind,
    },
    /// A `*.sync` instruction of the warp. `mask` is a row of `w32`. The meaning runs once all named lanes have come,
    /// with the lanes that came.
    Collective {
        /// Which.
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
    /// `nanosleep`: a hint that the warp waits for somebody.
    Nanosleep,
    /// `alloca`: stack memory of the thread.
    Alloca {
        /// Row of `w64`: a local address.
        destination: Slot,
        /// Row of `w64` (or `w32` when not `wide`): bytes.
        size: Slot,
        /// The size is a row of `w64`.
        wide: bool,
        /// Bytes.
        align: u64,
    },
    /// `stacksave`: row of `w64`.
    StackSave(Slot),
    /// `stackrestore`: row of `w64`.
    StackRestore(Slot),
    /// `prefetch`, `discard`, `griddepcontrol` and others that don't change what a program computes.
    Nothing,
    /// Parsed, kept, and not executable here: the text says what is missing.
    Unsupported(String),
}

/// Who is called.
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
    /// Bytes.
    pub size: u64,
}
