//! The sums of a warp: blocks of 16 rows and 8 columns.

use super::Factor;
use crate::tensor::mixed::Precision;
use crate::unroll::unroll;
use core::mem;
use cuda_std::mma::{Left, Right, Sums};

/// The sums of `M` blocks of 16 rows and `N` of 16 columns.
pub struct Tile<P: Precision, const M: usize, const N: usize>(pub [[[Sums<P::Sum>; 2]; N]; M]);

impl<P: Factor, const M: usize, const N: usize> Tile<P, M, N> {
    /// Sums that are all 0.
    #[inline(always)]
    pub fn zero() -> Self {
        // SAFETY: 0 is a valid f32 and i32. A loop over the elements would keep the array in local memory.
        Self(unsafe { mem::zeroed() })
    }

    /// Adds the products of 32 bytes of the depth: lines of A by lines of B, 16 in each element.
    ///
    /// # Safety
    /// All lanes of the warp call it together.
    #[inline(always)]
    pub unsafe fn add(&mut self, a: &[Left<P::Type>; M], b: &[[Right<P::Type>; 2]; N]) {
        unroll!(i < M => {
            // SAFETY: the caller upholds this function's contract.
            unsafe { row::<P, N>(&mut self.0[i], a[i], b) };
        });
    }
}

/// Adds the products of 16 rows.
///
/// # Safety
/// All lanes of the warp call it together.
#[inline(always)]
unsafe fn row<P: Factor, const N: usize>(
    sums: &mut [[Sums<P::Sum>; 2]; N],
    a: Left<P::Type>,
    b: &[[Right<P::Type>; 2]; N],
) {
    unroll!(j < N => {
        // SAFETY: the caller upholds this function's contract.
        unsafe {
            sums[j][0].add(a, b[j][0]);
            sums[j][1].add(a, b[j][1]);
        }
    });
}
