//! The tree of a PTX module. Names and opcodes are slices of the text.

use std::collections::HashMap;
use std::ops::Range;

/// A whole text.
#[derive(Debug, Default)]
pub struct Module<'t> {
    /// `.version`.
    pub version: (u32, u32),
    /// `.target` without its options.
    pub target: &'t str,
    /// `.file` numbers and names.
    pub files: Vec<(u32, String)>,
    /// Functions in order; a declaration and its definition are two.
    pub functions: Vec<Function<'t>>,
    /// Module-scope variables.
    pub variables: Vec<Variable<'t>>,
    /// Labels of `.section .debug_str` and what they point into.
    pub strings: DebugStrings<'t>,
}

/// The contents of `.debug_str`.
#[derive(Debug, Default)]
pub struct DebugStrings<'t> {
    /// Zero-terminated strings, one after the other.
    pub bytes: Vec<u8>,
    /// Where each label points.
    pub labels: HashMap<&'t str, usize>,
}

impl DebugStrings<'_> {
    /// The string at a label plus an offset.
    pub fn get(&self, label: &str, offset: u64) -> Option<String> {
        let base = if label == ".debug_str" { 0 } else { *self.labels.get(label)? };
        let start = base.checked_add(usize::try_from(offset).ok()?)?;
        let rest = self.bytes.get(start..)?;
        // Longer than any name: a section without zeros must not be copied for each line that points into it.
        let rest = &rest[..rest.len().min(1 << 12)];
        let end = rest.iter().position(|&b| b == 0).unwrap_or(rest.len());
        Some(String::from_utf8_lossy(&rest[..end]).into_owned())
    }
}

/// `.entry` or `.func`.
#[derive(Debug)]
pub struct Function<'t> {
    /// Name.
    pub name: &'t str,
    /// `.entry`.
    pub entry: bool,
    /// Return values.
    pub returns: Vec<Variable<'t>>,
    /// Parameters.
    pub params: Vec<Variable<'t>>,
    /// `.reqntid`.
    pub required_block: Option<[u32; 3]>,
    /// `.reqnctapercluster`.
    pub required_cluster: Option<[u32; 3]>,
    /// `.maxntid`, multiplied out.
    pub max_threads: Option<u32>,
    /// `None` for a declaration.
    pub body: Option<Body<'t>>,
    /// 1-based.
    pub line: u32,
}

/// Statements of a function, and the operands that they share.
#[derive(Debug, Default)]
pub struct Body<'t> {
    /// In order.
    pub statements: Vec<Statement<'t>>,
    /// `Span`s point into this.
    pub operands: Vec<Operand<'t>>,
}

/// A run of operands in `Body::operands`.
pub type Span = Range<u32>;

impl<'t> Body<'t> {
    /// The operands of a span.
    pub fn get(&self, span: &Span) -> &[Operand<'t>] {
        self.operands.get(span.start as usize..span.end as usize).unwrap_or(&[])
    }
}

/// One statement of a function body.
#[derive(Debug)]
pub enum Statement<'t> {
    /// `{`.
    Open,
    /// `}`.
    Close,
    /// `.reg`.
    Registers(Registers<'t>),
    /// `.local`, `.shared`, `.param`, `.global`, `.const` inside a body.
    Variable(Variable<'t>),
    /// `name:`.
    Label(&'t str, u32),
    /// `name: .branchtargets a, b;`: the names are operands.
    BranchTargets(&'t str, Span),
    /// `.loc`.
    Location(Loc<'t>),
    /// `.pragma "…"`.
    Pragma(&'t str),
    /// Everything else.
    Instruction(Instruction<'t>),
}

/// `.loc`.
#[derive(Clone, Copy, Debug)]
pub struct Loc<'t> {
    /// `.file` number.
    pub file: u32,
    /// 1-based, 0 for none.
    pub line: u32,
    /// 1-based, 0 for none.
    pub column: u32,
    /// `function_name label+offset`.
    pub function: Option<(&'t str, u64)>,
    /// `inlined_at file line column`.
    pub inlined_at: Option<(u32, u32, u32)>,
}

/// `.reg .b32 %r<5>;` or one name of `.reg .b32 a, b;`.
#[derive(Debug)]
pub struct Registers<'t> {
    /// `.b32`, without the dot.
    pub kind: &'t str,
    /// Name, or prefix when counted.
    pub name: &'t str,
    /// `<5>`.
    pub count: Option<u32>,
    /// 1-based.
    pub line: u32,
}

/// A variable or parameter with an address.
#[derive(Debug)]
pub struct Variable<'t> {
    /// `global`, `shared`, `const`, `local`, `param`.
    pub space: &'t str,
    /// Name; `_` in prototypes.
    pub name: &'t str,
    /// `b32`.
    pub kind: &'t str,
    /// Bytes of one element.
    pub element: u64,
    /// Bytes in all.
    pub size: u64,
    /// Bytes.
    pub align: u64,
    /// `[]`.
    pub unsized_array: bool,
    /// `.ptr`.
    pub pointer: bool,
    /// Elements in order, shorter than the array or empty.
    pub init: Vec<Initial<'t>>,
    /// 1-based.
    pub line: u32,
}

/// One element of an initialiser.
#[derive(Debug, Clone)]
pub enum Initial<'t> {
    /// A number.
    Value(Operand<'t>),
    /// `symbol+offset`, `generic(symbol)+offset`.
    Address {
        /// Whose address.
        symbol: &'t str,
        /// Added.
        offset: i64,
        /// `generic(…)`.
        generic: bool,
    },
}

/// `@p opcode a, b;`
#[derive(Debug)]
pub struct Instruction<'t> {
    /// Name of the predicate, and whether it is `@!p`.
    pub guard: Option<(&'t str, bool)>,
    /// With its modifiers.
    pub opcode: &'t str,
    /// In order.
    pub operands: Span,
    /// 1-based.
    pub line: u32,
    /// Byte offset of the opcode in the text.
    pub start: usize,
    /// Byte offset of the end of the operands.
    pub end: usize,
}

/// One operand.
#[derive(Clone, Debug)]
pub enum Operand<'t> {
    /// A register, special register, symbol or label; `!p`; `symbol+8`.
    Name(Name<'t>),
    /// Two's complement.
    Integer(u64),
    /// `0f`.
    Float32(u32),
    /// `0d`.
    Float64(u64),
    /// `1.5`.
    Decimal(f64),
    /// `[base+offset]`; without a base an absolute address.
    Address(Option<&'t str>, i64),
    /// `[handle, {a, b}]`: a texture or surface at coordinates.
    Indexed(&'t str, Span),
    /// `{a, b}`.
    Vector(Span),
    /// `(a, b)` of a call.
    List(Span),
    /// `p|q`.
    Pair(&'t str, &'t str),
    /// Brackets of another shape, kept for the message only.
    Other,
}

/// A name as operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name<'t> {
    /// The name.
    pub text: &'t str,
    /// `!p`.
    pub negated: bool,
    /// `symbol+8`.
    pub offset: i64,
}
