//! Instructions, as the machine executes them.

use super::{Access, Address, Async, Atomic, BarrierKind, Matrix, Texture, Warpgroup};
use crate::isa::collective::Collective;
use crate::isa::memory::{Order, Scope, Space};
use crate::isa::special::Timer;
use crate::registers::{Args, Pure, Slot};

/// A decoded instruction.
#[derive(Clone, Debug)]
pub struct Inst {
    /// Operation.
    pub op: Op,
    /// Guard predicate, `@p` or `@!p`.
    pub guard: Option<Guard>,
    /// Index into `Program::opcodes`.
    pub opcode: u32,
    /// Index into `Program::locations`.
    pub location: Option<u32>,
    /// Line in the PTX text, from 1.
    pub line: u32,
}

/// A guard: lanes whose predicate is false skip the instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard {
    /// Row of `Registers::pred`.
    pub pred: Slot,
    /// Whether the predicate is negated, `@!p`.
    pub negated: bool,
}

/// Operation of an instruction.
#[derive(Clone, Debug)]
pub enum Op {
    /// Computes on registers of the active lanes.
    Pure(Pure, Args),
    /// Reads a timer into a row of `w64` (`wide`) or `w32`.
    ReadTimer {
        /// The timer.
        timer: Timer,
        /// The row.
        destination: Slot,
        /// Whether the row is in `w64`.
        wide: bool,
    },
    /// `ld`.
    Load(Access),
    /// `st`.
    Store(Access),
    /// `atom` and `red`.
    Atomic(Atomic),
    /// `atom` and `red` of vectors: one atomic for each element, in order.
    AtomicVector(Box<[Atomic]>),
    /// `atom` of 16 bytes: the lower and the upper half, whose operands are neighbouring rows.
    AtomicWide(Box<[Atomic; 2]>),
    /// `discard`: makes bytes of global memory indeterminate.
    Discard {
        /// Address in global memory; a generic address is the same number.
        address: Address,
        /// Number of bytes, which is also the alignment of the address.
        bytes: u32,
    },
    /// `fence`, `membar`.
    Fence(Order, Scope),
    /// `cvta`, `cvta.to`.
    ConvertAddress {
        /// The specific state space.
        space: Space,
        /// Whether the conversion is from generic to specific.
        from_generic: bool,
        /// Rows of `w64`.
        destination: Slot,
        /// Rows of `w64`.
        source: Slot,
    },
    /// `isspacep`: tests whether a generic address lies in a state space.
    IsSpace {
        /// The space to test for.
        space: Space,
        /// Row of `pred` for the result.
        destination: Slot,
        /// Whether the row is in `w64`.
        source: Slot,
    },
    /// `bra`; conditional if guarded.
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
        /// Parameters to copy.
        params: Vec<FrameCopy>,
        /// Return values to copy.
        returns: Vec<FrameCopy>,
    },
    /// `ret`; in an entry, the thread exits.
    Return,
    /// `exit`.
    Exit,
    /// `trap`, `brkpt`.
    Trap,
    /// `bar`, `barrier`.
    Barrier {
        /// Whether all threads of the warp must execute it together.
        aligned: bool,
        /// Row of `w32`: 0 to 15.
        id: Slot,
        /// Row of `w32`: number of participating threads; all when `None`.
        count: Option<Slot>,
        /// Variant of the barrier.
        kind: BarrierKind,
    },
    /// A `*.sync` instruction of the warp. `mask` is a row of `w32`. The meaning runs once all named lanes have
    /// arrived, with these lanes.
    Collective {
        /// The kind of instruction.
        kind: Collective,
        /// Row of `w32`.
        mask: Slot,
        /// Its meaning; for `Sync`, a function without effect.
        run: Pure,
        /// Operands except the mask.
        args: Args,
    },
    /// An instruction on textures or surfaces.
    Texture(Box<Texture>),
    /// An instruction of all 32 lanes on matrices distributed over them.
    Matrix(Box<Matrix>),
    /// An instruction of four warps on matrices.
    Warpgroup(Warpgroup),
    /// Asynchronous copies, mbarriers and clusters.
    Async(Box<Async>),
    /// `nanosleep`: a hint that the warp waits for another thread.
    Nanosleep,
    /// `alloca`: allocates stack memory of the thread.
    Alloca {
        /// Row of `w64` for the local address.
        destination: Slot,
        /// Row of `w64` (`w32` unless `wide`): size in bytes.
        size: Slot,
        /// Whether the size is a row of `w64`.
        wide: bool,
        /// Alignment in bytes.
        align: u64,
    },
    /// `stacksave`: row of `w64` for the stack pointer.
    StackSave(Slot),
    /// `stackrestore`: row of `w64` with the stack pointer.
    StackRestore(Slot),
    /// `prefetch`, `griddepcontrol` and others that do not change what a program computes.
    Nothing,
    /// An unsupported instruction, which stops the run if it is executed; the text gives the reason.
    Unsupported(String),
}

impl From<Texture> for Op {
    fn from(texture: Texture) -> Self {
        Self::Texture(Box::new(texture))
    }
}

impl From<Matrix> for Op {
    fn from(matrix: Matrix) -> Self {
        Self::Matrix(Box::new(matrix))
    }
}

impl From<Async> for Op {
    fn from(operation: Async) -> Self {
        Self::Async(Box::new(operation))
    }
}

/// The function that is called.
#[derive(Clone, Debug)]
pub enum Callee {
    /// Index into `Program::functions`.
    Direct(u32),
    /// Row of `w64` with the address of a function.
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
