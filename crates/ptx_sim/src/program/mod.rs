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
mod operands;
mod queries;
mod site;
pub(crate) mod source;
mod texture;
mod variable;

pub use crate::registers::Rows;
pub use asynchronous::{Async, Group, Mbarrier, Reduce};
pub use cooperation::{BarrierKind, BarrierReduce};
pub(crate) use function::Described;
pub use function::{Function, Kind, Param, Preset};
pub(crate) use layout::Layout;
pub use matrix::{Matrix, MatrixKind};
pub use memory::{Access, Address, Atomic};
pub use op::{Callee, FrameCopy, Guard, Inst, Op};
pub(crate) use operands::operands;
pub use site::Site;
pub use source::Source;
pub use texture::{Outside, Query, Texture, TextureKind};
pub use variable::{Relocation, Symbol, Variable};

pub use crate::isa::collective::{Collective, Shuffle};
pub use crate::isa::matrix::{Element, Fragment, Multiply, Order2, Sum};
pub use crate::isa::memory::{AtomicOperation, Order, Scope, Space};
pub use crate::isa::special::{Special, Timer};

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
