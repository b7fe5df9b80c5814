//! The sizes of a product, and how its factors are stored.

use crate::error::{Error, Result};

/// Sizes and storage of the factors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    /// Rows of A and of the product.
    pub m: usize,
    /// Columns of B and of the product.
    pub n: usize,
    /// Columns of A and rows of B.
    pub k: usize,
    /// Whether A is stored transposed, as `k` x `m`, and whether B is, as `n` x `k`.
    pub transposed: [bool; 2],
}

/// The number of elements of a matrix.
///
/// # Errors
/// [`Error::Argument`] if there are more than memory has.
pub(crate) fn elements(rows: usize, columns: usize) -> Result<usize> {
    let too_large = || Error::Argument(format!("a matrix of {rows}x{columns} elements is too large"));
    rows.checked_mul(columns).ok_or_else(too_large)
}
