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

    /// Adds the products of 32 bytes of the depth: lines of A by lines of B, 16 in each element, which has the registers
    /// of a [`Left`] and of two [`Right`].
    ///
    /// # Safety
    /// All lanes of the warp call it together.
    #[inline(always)]
    pub unsafe fn add(&mut self, a: &[[u32; 4]; M], b: &[[u32; 4]; N]) {
        unroll!(i < M => {
            // SAFETY: the caller upholds this function's contract.
            unsafe { row::<P, N>(&mut self.0[i], Left::from_registers(a[i]), b) };
        });
    }
}

/// Adds the products of 16 rows.
///
/// # Safety
/// All lanes of the warp call it together.
#[inline(always)]
unsafe fn row<P: Factor, const N: usize>(sums: &mut [[Sums<P::Sum>; 2]; N], a: Left<P::Type>, b: &[[u32; 4]; N]) {
    unroll!(j < N => {
        let [first, second, third, fourth] = b[j];
        // SAFETY: the caller upholds this function's contract.
        unsafe {
            sums[j][0].add(a, Right::from_registers([first, second]));
            sums[j][1].add(a, Right::from_registers([third, fourth]));
        }
    });
}
