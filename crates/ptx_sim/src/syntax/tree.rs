//! Syntax tree of a PTX module. Names and opcodes are slices of the text.

use crate::files::Recorded;
use crate::hash::Map;
use std::ops::Range;

/// A parsed PTX text.
#[derive(Debug, Default)]
pub struct Module<'t> {
    /// Major and minor number of `.version`.
    pub version: (u32, u32),
    /// Architecture of `.target`, without its options.
    pub target: &'t str,
    /// Numbers, names and records of the `.file` directives.
    pub files: Vec<(u32, String, Recorded)>,
    /// Functions in textual order; a declaration and its definition are separate entries.
    pub functions: Vec<Function<'t>>,
    /// Variables of module scope.
    pub variables: Vec<Variable<'t>>,
    /// Contents of `.section .debug_str`, which `.loc` refers to for the names of inlined functions.
    pub strings: DebugStrings<'t>,
    /// Names and texts of the other debug sections.
    pub sections: Vec<(&'t str, &'t str)>,
}

/// The contents of `.debug_str`.
#[derive(Debug, Default)]
pub struct DebugStrings<'t> {
    /// Zero-terminated strings, one after the other.
    pub bytes: Vec<u8>,
    /// Byte offset of each label.
    pub labels: Map<&'t str, usize>,
}

impl DebugStrings<'_> {
    /// Returns the string at `offset` bytes after a label.
    pub fn get(&self, label: &str, offset: u64) -> Option<String> {
        let base = if label == ".debug_str" { 0 } else { *self.labels.get(label)? };
        let start = base.checked_add(usize::try_from(offset).ok()?)?;
        let rest = self.bytes.get(start..)?;
        // Limits the length of the copy: in a section without zeros, each reference would copy the whole rest.
        let rest = &rest[..rest.len().min(1 << 12)];
        let end = rest.iter().position(|&b| b == 0).unwrap_or(rest.len());
        Some(String::from_utf8_lossy(&rest[..end]).into_owned())
    }
}

/// A function: `.entry` or `.func`, definition or declaration.
#[derive(Debug)]
pub struct Function<'t> {
    /// Name in the PTX.
    pub name: &'t str,
    /// Whether it is an `.entry`.
    pub entry: bool,
    /// Whether it is `.weak`: another body of the name may replace its own.
    pub weak: bool,
    /// Return values.
    pub returns: Vec<Variable<'t>>,
    /// Parameters.
    pub params: Vec<Variable<'t>>,
    /// Block shape required by `.reqntid`.
    pub required_block: Option<[u32; 3]>,
    /// Cluster shape required by `.reqnctapercluster`.
    pub required_cluster: Option<[u32; 3]>,
    /// Product of the extents in `.maxntid`.
    pub max_threads: Option<u32>,
    /// Maximum number of registers of a thread, from `.maxnreg`.
    pub max_registers: Option<u32>,
    /// Body; `None` for a declaration.
    pub body: Option<Body<'t>>,
    /// Line number, from 1.
    pub line: u32,
}

/// Statements of a function, and the operand list that they share.
#[derive(Debug, Default)]
pub struct Body<'t> {
    /// Statements in textual order.
    pub statements: Vec<Statement<'t>>,
    /// Operands of all statements; a `Span` is a range of this list.
    pub operands: Vec<Operand<'t>>,
    /// The variable in local memory whose parts lie apart, if there is one.
    pub apart: Option<Apart<'t>>,
}

/// A variable in local memory whose parts lie apart.
#[derive(Debug)]
pub struct Apart<'t> {
    /// Name of the variable.
    pub name: &'t str,
    /// The parts, in order.
    pub parts: Vec<Part>,
    /// Number of bytes that the distances between the parts add.
    pub added: u64,
}

/// A part of a variable in local memory: one variable of the source, several that overlap, or what lies between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Name in the source; `None` for what the compiler added.
    pub name: Option<String>,
    /// Offset in bytes.
    pub start: u64,
    /// Size in bytes.
    pub size: u64,
}

/// Range of indices into `Body::operands`.
pub type Span = Range<u32>;

impl<'t> Body<'t> {
    /// Returns the operands of a span.
    pub fn get(&self, span: &Span) -> &[Operand<'t>] {
        self.operands.get(span.start as usize..span.end as usize).unwrap_or(&[])
    }
}

/// One statement of a function body.
#[derive(Debug)]
pub enum Statement<'t> {
    /// `{`, which opens a scope.
    Open,
    /// `}`, which closes a scope.
    Close,
    /// A `.reg` declaration.
    Registers(Registers<'t>),
    /// A variable declared in a body: `.local`, `.shared`, `.param`, `.global` or `.const`.
    Variable(Variable<'t>),
    /// A label `name:` and its line.
    Label(&'t str, u32),
    /// A branch-target list `name: .branchtargets a, b;`; the span holds the names.
    BranchTargets(&'t str, Span),
    /// A `.loc` directive.
    Location(Loc<'t>),
    /// A `.pragma` directive and its string.
    Pragma(&'t str),
    /// An instruction.
    Instruction(Instruction<'t>),
}

/// Source position given by a `.loc` directive.
#[derive(Clone, Copy, Debug)]
pub struct Loc<'t> {
    /// Number of the `.file`.
    pub file: u32,
    /// Line number, from 1; 0 if the code belongs to no line.
    pub line: u32,
    /// Column, from 1; 0 if unknown.
    pub column: u32,
    /// Name of the inlined function, `function_name label+offset`: a label in `.debug_str` and an offset.
    pub function: Option<(&'t str, u64)>,
    /// Call site of the inlined function, `inlined_at file line column`.
    pub inlined_at: Option<(u32, u32, u32)>,
}

/// One name declared by `.reg`: `.reg .b32 %r<5>;` or a part of `.reg .b32 a, b;`.
#[derive(Debug)]
pub struct Registers<'t> {
    /// Type without the dot, such as `b32`.
    pub kind: &'t str,
    /// Name of the register, or the prefix of a counted range.
    pub name: &'t str,
    /// Number of elements of a vector register; otherwise 1.
    pub lanes: u8,
    /// Number of registers in a range such as `%r<5>`.
    pub count: Option<u32>,
    /// Line number, from 1.
    pub line: u32,
}

/// A variable or parameter in memory.
#[derive(Debug)]
pub struct Variable<'t> {
    /// State space: `global`, `shared`, `const`, `local` or `param`, and `reg` for a parameter in a register.
    pub space: &'t str,
    /// Name; `_` in prototypes.
    pub name: &'t str,
    /// Element type without the dot, such as `b32`.
    pub kind: &'t str,
    /// Number of elements of a vector; otherwise 1.
    pub lanes: u8,
    /// Size of one element of an array in bytes, which may be a vector.
    pub element: u64,
    /// Total size in bytes.
    pub size: u64,
    /// Alignment in bytes.
    pub align: u64,
    /// Whether the declaration is an array of unspecified length, `[]`.
    pub unsized_array: bool,
    /// Whether the parameter has the attribute `.ptr`.
    pub pointer: bool,
    /// Whether the variable has the attribute `.managed`: the host accesses it, too.
    pub managed: bool,
    /// Initial values in memory order; may be fewer than the elements, or empty.
    pub init: Vec<Initial<'t>>,
    /// Line number, from 1.
    pub line: u32,
}

impl<'t> Variable<'t> {
    /// Creates a variable of one element without an initial value.
    pub fn scalar(space: &'t str, name: &'t str, kind: &'t str, bytes: u64, line: u32) -> Self {
        let (unsized_array, pointer, managed, init) = (false, false, false, Vec::new());
        Self {
            space,
            name,
            kind,
            lanes: 1,
            element: bytes,
            size: bytes,
            align: bytes,
            unsized_array,
            pointer,
            managed,
            init,
            line,
        }
    }
}

/// Initial value of one element.
#[derive(Debug, Clone)]
pub enum Initial<'t> {
    /// A number.
    Value(Operand<'t>),
    /// An address: `symbol+offset` or `generic(symbol)+offset`.
    Address {
        /// Variable or function whose address is taken.
        symbol: &'t str,
        /// Byte offset added to the address.
        offset: i64,
        /// Whether the address is converted to a generic address by `generic(…)`.
        generic: bool,
    },
}

/// An instruction: `@p opcode a, b;`.
#[derive(Debug)]
pub struct Instruction<'t> {
    /// Guard predicate; `true` if it is negated, `@!p`.
    pub guard: Option<(&'t str, bool)>,
    /// Opcode with its modifiers.
    pub opcode: &'t str,
    /// Operands in textual order.
    pub operands: Span,
    /// Line number, from 1.
    pub line: u32,
    /// Byte offset of the opcode in the text.
    pub start: usize,
    /// Byte offset of the end of the operands.
    pub end: usize,
}

/// An operand of an instruction.
#[derive(Clone, Debug)]
pub enum Operand<'t> {
    /// A register, special register, symbol or label, possibly negated (`!p`) or with an offset (`symbol+8`).
    Name(Name<'t>),
    /// A register with a changed sign, `-%r1`, which `vmad` takes.
    Minus(Name<'t>),
    /// An integer in two's complement.
    Integer(u64),
    /// Bits of a single-precision constant, `0f3F800000`.
    Float32(u32),
    /// Bits of a double-precision constant, `0d3FF0000000000000`.
    Float64(u64),
    /// A decimal floating-point number such as `1.5`.
    Decimal(f64),
    /// An address `[base+offset]`; absolute if there is no base.
    Address(Option<&'t str>, i64),
    /// A texture or surface with its coordinates, `[handle, {a, b}]`.
    Indexed(&'t str, Span),
    /// A vector of operands, `{a, b}`.
    Vector(Span),
    /// Argument list of a call, `(a, b)`.
    List(Span),
    /// An element of a vector register, by its number.
    Element(&'t str, u8),
    /// A pair of predicate destinations, `p|q`.
    Pair(&'t str, &'t str),
    /// Brackets with other contents, which decoding reports as unsupported.
    Other,
}

/// A name used as an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name<'t> {
    /// Text of the name.
    pub text: &'t str,
    /// Whether the predicate is negated, `!p`.
    pub negated: bool,
    /// Byte offset added to the symbol, as in `symbol+8`.
    pub offset: i64,
}
