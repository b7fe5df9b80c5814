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

/// Operation on matrices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatrixKind {
    /// `ldmatrix` of 8x8 matrices with elements of 16 bits, one for each row of `d`.
    Load {
        /// Whether the matrices are transposed, `.trans`.
        transposed: bool,
    },
    /// `stmatrix`.
    Store {
        /// Whether the matrices are transposed, `.trans`.
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
