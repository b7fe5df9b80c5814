//! A decoded PTX module: plain data that `decode` produces and `machine` executes.

mod apart;
mod asynchronous;
mod cooperation;
pub(crate) mod entry;
pub(crate) mod flow;
mod function;
pub(crate) mod independence;
mod layout;
pub(crate) mod linkage;
mod matrix;
mod memory;
mod op;
mod operands;
mod place;
mod queries;
mod site;
pub(crate) mod source;
mod texture;
mod touched;
mod uses;
mod variable;
mod warpgroup;

use crate::files::Recorded;

pub use crate::registers::Rows;
pub(crate) use apart::{Apart, Part};
pub use asynchronous::{Async, Group, Mbarrier, Reduce};
pub use cooperation::{BarrierKind, BarrierReduce};
pub(crate) use function::Described;
pub use function::{Function, Kind, Param, Preset};
pub(crate) use layout::{Layout, RESERVED, RESERVED_IN_USE};
pub use matrix::{Matrix, MatrixKind, RowFormat, Transposed};
pub use memory::{Access, Address, Atomic};
pub use op::{Callee, FrameCopy, Guard, Inst, Op};
pub(crate) use operands::operands;
pub use site::Site;
pub use source::Source;
pub use texture::{Outside, Query, Texture, TextureKind};
pub(crate) use uses::{Uses, is_read};
pub use variable::{Relocation, Symbol, Variable};
pub use warpgroup::{Factor, Product, Warpgroup};

pub use crate::isa::collective::{Collective, Shuffle};
pub use crate::isa::matrix::{Element, Form, Fragment, Multiply, Order2, Sparse, Sum};
pub use crate::isa::memory::{AtomicOperation, Order, Scope, Space};
pub use crate::isa::special::{Reserved, Special, Timer};

/// A parsed and decoded PTX module, which [`Program::parse`] makes.
///
/// A program cannot be changed: a machine recognises a program that it has loaded by its text, and reuses the analysis
/// of its control flow and its global variables.
///
/// ```compile_fail,E0616
/// let mut program = ptx_sim::Program::parse(".version 7.8\n.target sm_90\n.address_size 64\n").expect("PTX");
/// program.functions.clear();
/// ```
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// `.version`, e.g. (7, 8).
    pub(crate) version: (u32, u32),
    /// `.target`, e.g. `sm_90`.
    pub(crate) target: String,
    /// Functions in order of appearance: entries, device functions, and externs such as `vprintf`.
    pub(crate) functions: Vec<Function>,
    /// Whether variables of a function's frame lie apart.
    pub(crate) apart: bool,
    /// Module-scope variables, and shared variables declared inside functions.
    pub(crate) variables: Vec<Variable>,
    /// Source locations, referred to by index.
    pub(crate) locations: Vec<Location>,
    /// Source files of `.file`; `Location::file` is an index into this list.
    pub(crate) files: Vec<File>,
    /// Opcodes as written (`add.s32`), interned; `Inst::opcode` is an index into this list.
    pub(crate) opcodes: Vec<String>,
    /// The lines of the PTX text, for reports.
    pub(crate) source: Source,
}

/// A source file, from `.file`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct File {
    /// Name as the compiler wrote it, without escapes.
    pub name: String,
    /// What the compiler recorded about it.
    pub recorded: Recorded,
}

/// A location in the source language, from `.loc`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Location {
    /// Index into `Program::files`.
    pub file: u32,
    /// Line number, from 1; 0 if the compiler gave none.
    pub line: u32,
    /// Column, from 1; 0 if the compiler gave none.
    pub column: u32,
    /// Mangled name of the function that this line was inlined from.
    pub function: Option<String>,
    /// Call site that this line was inlined into: index into `Program::locations`.
    pub inlined_at: Option<u32>,
}
