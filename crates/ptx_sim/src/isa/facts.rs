//! The columns of a row besides its meaning: the facts of an instruction that the checkers, the counters and the time
//! estimate use. They are looked up when the instruction is decoded, never from the text of its opcode.

use super::lift::File;

/// The facts of one instruction. There is no default: a row states all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Rule for the undefined bits of the results.
    pub undefined: Undefined,
    /// Arithmetic operations of one lane.
    pub work: Work,
    /// Cost class in the time estimate.
    pub latency: Latency,
    /// Accuracy of the results, compared with a GPU.
    pub fidelity: Fidelity,
    /// The signed operation, if its exact result may not fit.
    pub overflow: Option<Arithmetic>,
}

/// Returns the facts of an instruction other than a sum or product of integers, for which there is [`wrapping`].
///
/// # Panics
/// When a constant is evaluated, for [`Undefined::Carry`], the rule of these sums and products.
pub const fn facts(undefined: Undefined, work: Work, latency: Latency, fidelity: Fidelity) -> Facts {
    assert!(!matches!(undefined, Undefined::Carry), "sums and products of integers are made by `wrapping`");
    Facts { undefined, work, latency, fidelity, overflow: None }
}

/// The facts of a sum, difference or product of integers except one: a row states by a method whether the result may
/// overflow, because the same bits are right for signed and for unsigned numbers.
#[derive(Clone, Copy, Debug)]
pub struct Wrapping(Facts);

/// Returns the facts of the low bits of integer sums and products, which take this many operations.
pub const fn wrapping(operations: u8) -> Wrapping {
    let (work, latency, fidelity) = (Work::Integer(operations), Latency::Alu, Fidelity::Exact);
    Wrapping(Facts { undefined: Undefined::Carry, work, latency, fidelity, overflow: None })
}

impl Wrapping {
    /// Returns the facts on an unsigned type, on one whose results always fit, and with a carry flag.
    pub const fn unchecked(self) -> Facts {
        self.0
    }

    /// Returns the facts on a signed type of `bits` bits, whose exact results may not fit.
    pub const fn signed(self, operation: Operation, bits: u32) -> Facts {
        Facts { overflow: Some(Arithmetic { operation, bits }), ..self.0 }
    }
}

impl Facts {
    /// Returns the facts of the same instruction on packed numbers of `bits` bits in a register.
    pub const fn packed(self, bits: u8) -> Self {
        Self { undefined: Undefined::Parts(bits), work: self.work.times(2), ..self }
    }
}

/// Rule by which undefined bits of an instruction's sources make bits of its results undefined.
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
    /// Each result bit depends on the source bits at the same position.
    Xor,
    /// Each result bit depends on the source bits at the same position, by the table in the last source.
    Lop3,
    /// Carries propagate from an undefined bit to all bits above.
    Carry,
    /// Parts of this many bits are independent of each other.
    Parts(u8),
    /// Two sources become fields of this many bits; the first is the upper one.
    Pack(u8),
    /// Sources become fields of this many bits, the first the uppermost; the last decides how all are rounded.
    Rounded(u8),
    /// Selection, `selp`.
    Select,
    /// `setp` on integers.
    Compare(Comparison),
}

/// An integer comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// Order of the operands that the comparison tests, or whose negation it tests.
    pub relation: Relation,
    /// Whether the operands are signed numbers.
    pub signed: bool,
}

/// Order of two operands that a comparison tests, or whose negation it tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// `eq`, `ne`.
    Equal,
    /// `lt`, `ge`.
    Less,
    /// `le`, `gt`.
    LessOrEqual,
}

/// Arithmetic operations of one lane. One addition, multiplication, division, square root or elementary function is one
/// operation, a fused multiply-add two, and packed forms count for every element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// The instruction only moves, compares, converts or controls.
    None,
    /// Operations on `f16`, `bf16` and narrower formats.
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
    /// Returns the work of an instruction that performs this work on `count` elements.
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
    /// The ordinary arithmetic units, and instructions of similar cost.
    Alu,
    /// The special function unit, and divisions and roots, which are sequences of instructions.
    Special,
    /// Exchanges between the lanes of a warp.
    Warp,
    /// Memory; the latency depends on the state space.
    Memory,
    /// A read-modify-write of memory.
    Atomic,
}

/// Accuracy of an instruction's result, compared with a GPU.
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
    /// Returns the register file of the operands.
    pub fn file(self) -> File {
        match self.bits {
            16 => File::Half,
            32 => File::Word,
            _ => File::Long,
        }
    }
}
