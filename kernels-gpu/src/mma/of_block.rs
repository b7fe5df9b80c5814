//! What a block of [`best`](super::best) computes.

use crate::tensor::mixed::problem::Product;

/// What a block computes: the number of a tile, and its product.
pub struct OfBlock {
    pub tile: u32,
    pub factors: [*const u8; 2],
    /// Length of the sums.
    pub k: u32,
    /// Elements from one row of each factor to the next.
    pub pitches: [u32; 2],
    pub product: Product,
}

/// Quotient and remainder. A division is a dozen instructions that wait for each other, which small products do
/// without: three of them take 0.1 of 4.6 us of an H200.
#[inline(always)]
pub fn divide(number: u32, divisor: u32) -> [u32; 2] {
    // Without `max` the compiler would keep a panic for a division by 0.
    if number < divisor { [0, number] } else { [number / divisor.max(1), number % divisor.max(1)] }
}
