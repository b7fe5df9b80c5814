//! A PTX module, decoded: what `syntax` and `isa` produce and `machine` runs. Plain data, no behaviour.

use crate::registers::{Args, Pure, Slot};

/// A parsed and decoded PTX module.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// `.version`, e.g. (7, 8).
    pub version: (u32, u32),
    /// `.target`, e.g. `sm_90`.
    pub target: String,
    /// Functions in order of appearance: entries, device functions, and externs such as `vprintf`.
    pub functions: Vec<Function>,
    /// Module-scope variables, and shared variables declared inside functions.
    pub variables: Vec<Variable>,
    /// Source places, referred to by index.
    pub locations: Vec<Location>,
    /// Source files as `.file` names them; `Location::file` indexes this.
    pub files: Vec<String>,
    /// Opcodes as written (`add.s32`), interned; `Inst::opcode` indexes this.
    pub opcodes: Vec<String>,
    /// The PTX text, by line, for reports.
    pub source: Vec<String>,
}

/// A place in the source language, from `.loc`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Location {
    /// Index into `Program::files`.
    pub file: u32,
    /// 1-based; 0 when the compiler gave none.
    pub line: u32,
    /// 1-based; 0 when the compiler gave none.
    pub column: u32,
    /// The function this line was inlined from, as the compiler names it (mangled).
    pub function: Option<String>,
    /// The call site this line was inlined into: index into `Program::locations`.
    pub inlined_at: Option<u32>,
}

/// State spaces of the PTX ISA.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// Resolved per lane by the address itself.
    Generic,
    /// Device memory.
    Global,
    /// The block's memory, 32-bit offsets from its start.
    Shared,
    /// The thread's own memory.
    Local,
    /// Read-only device memory.
    Const,
    /// The kernel's parameters: read only, the same for every thread.
    Param,
    /// The thread's parameters of a device function, incoming or being passed: part of the thread's frame, not counted as
    /// local traffic.
    Frame,
}

/// A variable with an address.
#[derive(Clone, Debug)]
pub struct Variable {
    /// Name in the PTX text.
    pub name: String,
    /// `Global`, `Const` or `Shared`.
    pub space: Space,
    /// Bytes; 0 for an `.extern .shared x[]`, whose size the launch gives.
    pub size: u64,
    /// Bytes, a power of two.
    pub align: u64,
    /// Leading bytes; the rest is zero. Empty: no initialiser (shared memory then starts undefined, global zero).
    pub init: Vec<u8>,
    /// Addresses to write into the initialiser.
    pub relocations: Vec<Relocation>,
    /// `.extern .shared x[]`: starts where the block's static shared memory ends.
    pub dynamic: bool,
}

/// An address inside an initialiser.
#[derive(Clone, Debug)]
pub struct Relocation {
    /// Byte offset in the variable; 8 bytes are written.
    pub offset: u64,
    /// What it points to.
    pub target: Symbol,
    /// Added to the address.
    pub addend: i64,
    /// `generic(x)`: the generic address instead of the one in `x`'s space.
    pub generic: bool,
}

/// Something with an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Symbol {
    /// Index into `Program::variables`.
    Variable(u32),
    /// Index into `Program::functions`; its address is an opaque non-zero handle.
    Function(u32),
    /// Byte offset into the kernel's parameters (`Space::Param`).
    KernelParam(u64),
    /// Byte offset into the function's frame (`Space::Local` and `Space::Frame`).
    Frame(u64),
}

/// Entry, device function, or a name that the machine implements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `.entry`.
    Entry,
    /// `.func` with a body.
    Device,
    /// `.extern .func`: `vprintf`, `malloc`, `free`, `__assertfail`.
    Extern,
}

/// A function.
#[derive(Clone, Debug)]
pub struct Function {
    /// Name in the PTX text.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// Parameters in order. Offsets are into the kernel's parameters (entry) or into the frame (device function).
    pub params: Vec<Param>,
    /// Return values of a device function; offsets into its frame.
    pub returns: Vec<Param>,
    /// Bytes of frame per thread: incoming parameters, return values, `.local` variables, `.param` variables of calls.
    pub frame_bytes: u64,
    /// Rows needed in `Registers::{w32, w64, pred}`.
    pub rows: Rows,
    /// Rows to fill on entry.
    pub preset: Vec<Preset>,
    /// Instructions; branch targets index this.
    pub code: Vec<Inst>,
    /// `.reqntid`: the block must have exactly this shape.
    pub required_block: Option<[u32; 3]>,
    /// `.maxntid`: the block must have at most this many threads.
    pub max_threads: Option<u32>,
    /// Line of the declaration in the PTX text.
    pub line: u32,
}

/// A parameter or return value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Param {
    /// Name in the PTX text.
    pub name: String,
    /// Bytes.
    pub size: u64,
    /// Bytes, a power of two.
    pub align: u64,
    /// See `Function::params`.
    pub offset: u64,
    /// `.ptr`: the value is an address.
    pub pointer: bool,
}

/// Number of rows of each register file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    /// Rows of `Registers::w32`.
    pub w32: u32,
    /// Rows of `Registers::w64`.
    pub w64: u32,
    /// Rows of `Registers::pred`.
    pub pred: u32,
}

/// A row that holds a value before the first instruction runs. All other rows start undefined.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Preset {
    /// The same bits in every lane.
    Const32(Slot, u32),
    /// The same bits in every lane.
    Const64(Slot, u64),
    /// Bit per lane: all ones or all zeros.
    ConstPred(Slot, bool),
    /// A special register that never changes during a launch, into `w32`.
    Special32(Slot, Special),
    /// The same, into `w64`.
    Special64(Slot, Special),
    /// Address of a symbol in its own space plus an addend, into `w64`.
    Address64(Slot, Symbol, i64),
    /// The same, low 32 bits, into `w32`.
    Address32(Slot, Symbol, i64),
}

/// Special registers that are constant for a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are PTX's own: %tid, %ntid, ...; the number is the axis")]
pub enum Special {
    Tid(u8),
    Ntid(u8),
    Ctaid(u8),
    Nctaid(u8),
    Laneid,
    Warpid,
    Nwarpid,
    Smid,
    Nsmid,
    Gridid,
    LanemaskEq,
    LanemaskLe,
    LanemaskLt,
    LanemaskGe,
    LanemaskGt,
    DynamicSmemSize,
    TotalSmemSize,
    Envreg(u8),
}

/// Special registers that change while a thread runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are PTX's own")]
pub enum Timer {
    Clock,
    ClockHi,
    Clock64,
    Globaltimer,
    GlobaltimerLo,
    GlobaltimerHi,
}

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

/// The address operand of a memory instruction: a row plus a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// Row of `w64`, or of `w32` when `narrow`.
    pub base: Slot,
    /// The base is a 32-bit register (allowed for shared, local and const).
    pub narrow: bool,
    /// Added to the base, wrapping.
    pub offset: i64,
}

/// Memory order, as PTX writes it. `Weak` is an ordinary access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are PTX's own")]
pub enum Order {
    Weak,
    Volatile,
    Relaxed,
    Acquire,
    Release,
    AcqRel,
    SeqCst,
    Mmio,
}

/// Who an ordered access is ordered for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the names are PTX's own")]
pub enum Scope {
    Cta,
    Cluster,
    Gpu,
    Sys,
}

/// A load or a store of one, two, four or eight elements.
#[derive(Clone, Debug)]
pub struct Access {
    /// Space named by the instruction.
    pub space: Space,
    /// Memory order.
    pub order: Order,
    /// Scope of the order; meaningless for `Weak`.
    pub scope: Scope,
    /// Bytes of one element: 1, 2, 4, 8 or 16.
    pub bytes: u8,
    /// Registers are rows of `w64` (else `w32`). A 16-byte element takes two rows, starting at the one named.
    pub wide: bool,
    /// Load: sign-extend the element to this many bits (16, 32, 64) and keep that many; 0: zero-extend.
    pub sign_extend: u8,
    /// One row per element, in address order; `NO_SLOT` for `_`.
    pub registers: Vec<Slot>,
    /// Where.
    pub address: Address,
    /// `ld.global.nc`: promises that nobody writes the memory during the launch.
    pub non_coherent: bool,
    /// `.pragma "used_bytes_mask"`: bit i clear means that byte i of the access is not used afterwards.
    pub used_bytes: u64,
}

/// A read-modify-write. `combine(old, b, c)` gives the new value from zero-extended bits.
#[derive(Clone, Debug)]
pub struct Atomic {
    /// Space named by the instruction.
    pub space: Space,
    /// Memory order; PTX's default is `Relaxed`.
    pub order: Order,
    /// PTX's default is `Gpu`.
    pub scope: Scope,
    /// Bytes: 2, 4 or 8.
    pub bytes: u8,
    /// Rows are in `w64` (else `w32`).
    pub wide: bool,
    /// Old value; `None` for `red`, `NO_SLOT` for an `atom` whose result is `_`.
    pub destination: Option<Slot>,
    /// Where.
    pub address: Address,
    /// First operand.
    pub b: Slot,
    /// Second operand of `cas` (the new value); else equal to `b`.
    pub c: Slot,
    /// The new value from (old, b, c).
    pub combine: fn(u64, u64, u64) -> u64,
}

/// What a block barrier does besides counting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BarrierKind {
    /// Wait.
    Sync,
    /// Count, don't wait.
    Arrive,
    /// Wait, and reduce a predicate over the block.
    Reduce {
        /// How.
        op: BarrierReduce,
        /// Row of `pred`.
        source: Slot,
        /// `!p`.
        negated: bool,
        /// Row of `w32` for `Popc`, else of `pred`.
        destination: Slot,
    },
}

/// `bar.red.{popc,and,or}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are PTX's own")]
pub enum BarrierReduce {
    Popc,
    And,
    Or,
}

/// Instructions that all lanes of a mask execute together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are PTX's own")]
pub enum Collective {
    /// Sources: value (w32), lane operand (w32), clamp/segment operand (w32). Destinations: value (w32), predicate.
    Shuffle(Shuffle),
    /// `vote.sync`: source predicate; destination predicate, or w32 for ballot.
    Vote,
    /// `match.sync`: source w32 or w64; destinations mask (w32), predicate.
    Match,
    /// `redux.sync`: source and destination w32.
    Redux,
    /// `elect.sync`: destinations lane (w32), predicate.
    Elect,
    /// `bar.warp.sync`: no operands but the mask.
    Sync,
}

/// `shfl.sync` modes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are PTX's own")]
pub enum Shuffle {
    Up,
    Down,
    Bfly,
    Idx,
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
    /// A `*.sync` instruction of the warp. `mask` is a row of `w32`. The meaning runs once all named lanes have come, with
    /// the lanes that came.
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
