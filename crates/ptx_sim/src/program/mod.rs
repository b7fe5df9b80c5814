//! A PTX module, decoded: what `syntax` and `isa` produce and `machine` runs. Plain data, no behaviour.

mod asynchronous;
mod cooperation;
pub(crate) mod entry;
pub(crate) mod flow;
mod function;
mod layout;
mod matrix;
mod memory;
mod op;
mod site;
pub(crate) mod source;
mod texture;
mod variable;

pub use crate::registers::Rows;
pub use asynchronous::{Async, Group, Mbarrier, Reduce};
pub use cooperation::{BarrierKind, BarrierReduce, Collective, Shuffle};
pub use function::{Function, Kind, Param, Preset, Special};
pub(crate) use layout::Layout;
pub use matrix::{Element, Fragment, Matrix, MatrixKind, Multiply, Order2, Sum};
pub use memory::{Access, Address, Atomic, Order, Scope};
pub use op::{Callee, FrameCopy, Guard, Inst, Op, Timer};
pub use site::Site;
pub use source::Source;
pub use texture::{Outside, Query, Texture, TextureKind};
pub use variable::{Relocation, Symbol, Variable};

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
    pub source: Source,
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
    /// The thread's parameters of a device function, incoming or being passed: part of the thread's frame, not counted
    /// as local traffic.
    Frame,
}
