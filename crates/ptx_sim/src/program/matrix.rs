//! Instructions on matrices that the lanes of a warp hold together.

use super::Address;
use crate::isa::matrix::{Fragment, Multiply};
use crate::isa::memory::Space;
use crate::registers::Slot;

/// `mma`, `ldmatrix`, `stmatrix`, `movmatrix`, `wmma`: executed by all 32 lanes at once.
#[derive(Clone, Debug)]
pub struct Matrix {
    /// What is done.
    pub kind: MatrixKind,
    /// Rows of the result, or of what is loaded.
    pub d: Vec<Slot>,
    /// Rows of the first factor, or of what is stored or moved.
    pub a: Vec<Slot>,
    /// Rows of the second factor.
    pub b: Vec<Slot>,
    /// Rows of the summand.
    pub c: Vec<Slot>,
    /// Address of a load or store.
    pub address: Option<Address>,
    /// Space of the address.
    pub space: Space,
    /// `wmma` loads and stores: row of `w32`, elements from one row (or column) to the next.
    pub stride: Option<Slot>,
}

/// What is done with the matrices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatrixKind {
    /// `ldmatrix` of 8x8 matrices with elements of 16 bits, one for each row of `d`.
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
