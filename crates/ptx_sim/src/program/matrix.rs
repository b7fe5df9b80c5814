//! Instructions on matrices that the lanes of a warp hold together.

use super::{Address, Space};
use crate::registers::Slot;

/// `mma`, `ldmatrix`, `stmatrix`, `movmatrix`, `wmma`: executed by all 32 lanes at once.
#[derive(Clone, Debug)]
pub struct Matrix {
    /// Which.
    pub kind: MatrixKind,
    /// Rows of the result, or of what is loaded.
    pub d: Vec<Slot>,
    /// Rows of the first factor, or of what is stored or moved.
    pub a: Vec<Slot>,
    /// Rows of the second factor.
    pub b: Vec<Slot>,
    /// Rows of the summand.
    pub c: Vec<Slot>,
    /// Of a load or store.
    pub address: Option<Address>,
    /// Its space.
    pub space: Space,
    /// `wmma` loads and stores: row of `w32`, elements from one row (or column) to the next.
    pub stride: Option<Slot>,
}

/// What is done with the matrices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatrixKind {
    /// `ldmatrix` of 8x8 matrices with elements of 16 bits: how many are `d`'s.
    Load {
        /// `.trans`.
        transposed: bool,
    },
    /// `stmatrix`.
    Store {
        /// `.trans`.
        transposed: bool,
    },
    /// `movmatrix.trans`.
    Transpose,
    /// `d = a * b + c`.
    Multiply(Multiply),
    /// `wmma.load`.
    LoadFragment(Fragment),
    /// `wmma.store`.
    StoreFragment(Fragment),
}

/// Shapes and types of a product: `a` is m by k, `b` is k by n.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are PTX's own")]
pub struct Multiply {
    pub m: usize,
    pub n: usize,
    pub k: usize,
    pub a: Element,
    pub b: Element,
    pub c: Sum,
    pub d: Sum,
    /// `.satfinite` of integers.
    pub saturate: bool,
    /// One-bit elements: bits are combined by and, else by exclusive or.
    pub and: bool,
    /// `wmma`: fragments in a layout of our own, with these orders of `a` and `b`.
    pub wmma: Option<[Order2; 2]>,
}

/// Types of factors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are PTX's own")]
pub enum Element {
    F16,
    Bf16,
    Tf32,
    E4m3,
    E5m2,
    F64,
    S8,
    U8,
    S4,
    U4,
    B1,
}

impl Element {
    /// Width in a register.
    pub fn bits(self) -> usize {
        match self {
            Element::F64 => 64,
            Element::Tf32 => 32,
            Element::F16 | Element::Bf16 => 16,
            Element::E4m3 | Element::E5m2 | Element::S8 | Element::U8 => 8,
            Element::S4 | Element::U4 => 4,
            Element::B1 => 1,
        }
    }
}

/// Types of sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are PTX's own")]
pub enum Sum {
    F16,
    F32,
    F64,
    S32,
}

/// How a matrix lies in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order2 {
    /// Rows are contiguous.
    Row,
    /// Columns are contiguous.
    Column,
}

/// A matrix of `wmma` in memory and in registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// Rows of the matrix.
    pub rows: usize,
    /// Columns of the matrix.
    pub columns: usize,
    /// Bits of an element.
    pub bits: usize,
    /// In memory.
    pub order: Order2,
    /// A sum: one layout in registers for both orders in memory.
    pub sum: bool,
}

impl Fragment {
    /// Row and column of element `j` of register `register` of a lane. The PTX ISA leaves this layout open. Here
    /// consecutive elements of a register, then consecutive lanes, hold what is consecutive in memory (sums: in a row),
    /// and a fragment with room to spare holds the matrix again.
    pub fn place(&self, register: usize, lane: usize, j: usize) -> (usize, usize) {
        let per_register = (32 / self.bits).max(1);
        let index = ((register * 32 + lane) * per_register + j) % (self.rows * self.columns).max(1);
        match self.order {
            Order2::Column if !self.sum => (index % self.rows, index / self.rows),
            _ => (index / self.columns, index % self.columns),
        }
    }

    /// Elements from the matrix's start in memory.
    pub fn offset(&self, (row, column): (usize, usize), stride: u64) -> u64 {
        match self.order {
            Order2::Row => (row as u64).wrapping_mul(stride).wrapping_add(column as u64),
            Order2::Column => (column as u64).wrapping_mul(stride).wrapping_add(row as u64),
        }
    }
}
