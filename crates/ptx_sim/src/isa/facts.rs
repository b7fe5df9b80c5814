//! The columns of a row besides its meaning: what the checkers, the counters and the estimates of time need to know
//! of an instruction. They are looked up when the instruction is decoded, never from the text of its opcode.

use super::lift::File;

/// The facts of one instruction. There is no default: a row states all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Which bits of the results are undefined when bits of the sources are.
    pub undefined: Undefined,
    /// The arithmetic that one lane does.
    pub work: Work,
    /// The cost class of an estimate of time.
    pub latency: Latency,
    /// How close the results are to those of a GPU.
    pub fidelity: Fidelity,
    /// The signed operation whose exact result may not fit.
    pub overflow: Option<Arithmetic>,
}

/// The facts of an instruction that has no signed overflow.
pub const fn facts(undefined: Undefined, work: Work, latency: Latency, fidelity: Fidelity) -> Facts {
    Facts { undefined, work, latency, fidelity, overflow: None }
}

impl Facts {
    /// The facts of the same instruction on a signed type of `bits` bits, where it may overflow.
    pub const fn overflows(self, operation: Operation, bits: u32) -> Self {
        Self { overflow: Some(Arithmetic { operation, bits }), ..self }
    }

    /// The facts of the same instruction on two numbers of `bits` bits in a register.
    pub const fn packed(self, bits: u8) -> Self {
        Self { undefined: Undefined::Parts(bits), work: self.work.times(2), ..self }
    }
}

/// Which bits of the results of an instruction are undefined when bits of its sources are.
///
/// The rules are those of Valgrind's memcheck and LLVM's MemorySanitizer (Stepanov and Serebryany, CGO 2015), extended
/// to PTX's instructions that move bits: the shadow of a move is the same move of the shadow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undefined {
    /// Any undefined bit of any source makes all results undefined.
    Any,
    /// The instruction moves bits: operands in the mask are data, the others say where the data goes.
    Move(u8),
    /// A defined 0 decides the result's bit.
    And,
    /// A defined 1 decides the result's bit.
    Or,
    /// Each result bit depends on the source bits at its own place.
    Xor,
    /// Each result bit depends on the source bits at its own place, by the table in the last source.
    Lop3,
    /// Carries propagate from an undefined bit to all bits above.
    Carry,
    /// Parts of this many bits are independent of each other.
    Parts(u8),
    /// Two sources become fields of this many bits; the first is the upper one.
    Pack(u8),
    /// Selection, `selp`.
    Select,
    /// `setp` on integers.
    Compare(Comparison),
}

/// An integer comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// Which orders of the operands the comparison tells apart.
    pub relation: Relation,
    /// The operands are signed numbers.
    pub signed: bool,
}

/// The order that a comparison asks for, or whose opposite it asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// `eq`, `ne`.
    Equal,
    /// `lt`, `ge`.
    Less,
    /// `le`, `gt`.
    LessOrEqual,
}

/// The arithmetic that one lane does. One addition, multiplication, division, square root or elementary function is one
/// operation, a fused multiply-add two, and packed forms count for every element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// The instruction only moves, compares, converts or controls.
    None,
    /// Operations on `f16`, `bf16`, and what is narrower.
    F16(u8),
    /// Operations on `f32`.
    F32(u8),
    /// Operations on `f64`.
    F64(u8),
    /// Integer arithmetic, logic, shifts.
    Integer(u8),
    /// A product of matrices: the operations follow from its shape, which the 32 lanes share.
    Product,
}

impl Work {
    /// The work of an instruction that does the same on `count` elements.
    const fn times(self, count: u8) -> Self {
        match self {
            Self::None => Self::None,
            Self::F16(operations) => Self::F16(count * operations),
            Self::F32(operations) => Self::F32(count * operations),
            Self::F64(operations) => Self::F64(count * operations),
            Self::Integer(operations) => Self::Integer(count * operations),
            Self::Product => Self::Product,
        }
    }
}

/// The cost class of an instruction in an estimate of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Latency {
    /// The ordinary arithmetic units, and what costs as little.
    Alu,
    /// The special function unit, and divisions and roots, which are sequences of instructions.
    Special,
    /// Exchanges between the lanes of a warp.
    Warp,
    /// Memory, by the space that the access goes to.
    Memory,
    /// A read-modify-write of memory.
    Atomic,
}

/// How close the result of an instruction is to that of a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fidelity {
    /// The same bits.
    Exact,
    /// Within a bound: PTX's own, or one known from hardware where PTX gives none.
    Approximate(&'static str),
    /// Clocks and identifiers, whose values differ in every run on a GPU.
    Unspecified(&'static str),
    /// The instruction stops the run.
    Unsupported,
}

/// A signed operation whose exact result may not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arithmetic {
    /// What is computed.
    pub operation: Operation,
    /// Width of the result: 16, 32 or 64.
    pub bits: u32,
}

/// What a signed operation computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// `a + b`.
    Add,
    /// `a - b`.
    Subtract,
    /// `a * b`.
    Multiply,
    /// `a * b + c`.
    MultiplyAdd,
    /// `-a`.
    Negate,
}

impl Arithmetic {
    /// The register file of the operands.
    pub fn file(self) -> File {
        match self.bits {
            16 => File::Half,
            32 => File::Word,
            _ => File::Long,
        }
    }
}
