//! Instructions on matrices that are distributed over the lanes of a warp.

use super::Address;
use crate::isa::matrix::{Fragment, Multiply};
use crate::isa::memory::Space;
use crate::registers::Slot;

/// `mma`, `ldmatrix`, `stmatrix`, `movmatrix` and `wmma`: executed by all 32 lanes at once.
#[derive(Clone, Debug)]
pub struct Matrix {
    /// Operation.
    pub kind: MatrixKind,
    /// Rows of the result or of the loaded matrices.
    pub d: Vec<Slot>,
    /// Rows of the first factor, or of the stored or transposed matrices.
    pub a: Vec<Slot>,
    /// Rows of the second factor.
    pub b: Vec<Slot>,
    /// Rows of the summand.
    pub c: Vec<Slot>,
    /// Row of `w32` with the metadata of a sparse first factor.
    pub metadata: Option<Slot>,
    /// Address of a load or store.
    pub address: Option<Address>,
    /// Space of the address.
    pub space: Space,
    /// For `wmma` loads and stores, row of `w32`: stride between rows (or columns) in elements.
    pub stride: Option<Slot>,
}

/// Whether `ldmatrix` and `stmatrix` transpose, `.trans`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transposed {
    /// The lanes `4 r` to `4 r + 3` hold row `r`.
    No,
    /// 8x8 matrices of 16-bit elements.
    Halves,
    /// Matrices of bytes: 16x16 for loads, with two rows of `d` each, and 16x8 for stores.
    Bytes,
}

/// Elements of a row of 16 bytes that `ldmatrix` reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowFormat {
    /// The bytes as they are.
    Bytes,
    /// `.b6x16_p32`: 16 elements of 6 bits, which become bytes, and 4 bytes of padding.
    Six,
    /// `.b4x16_p64`: 16 elements of 4 bits, which become bytes, and 8 bytes of padding.
    Four,
}

/// Operation on matrices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatrixKind {
    /// `ldmatrix`, whose lanes hold the addresses of rows of 16 bytes: one for each row of `d` and of eight rows of the
    /// matrix.
    Load {
        /// How the rows are distributed to lanes.
        transposed: Transposed,
        /// Elements of a row in memory.
        format: RowFormat,
    },
    /// `stmatrix`, with addresses as for loads.
    Store {
        /// How the rows are collected from lanes.
        transposed: Transposed,
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
