//! The element types of matrices: `f32` and `f64`, of which four and two fill 16 bytes.

use crate::epilogue::Real;
use cuda_std::{launch::Scalar, memory::Vector, warp};

/// An element of a factor or of the product.
pub trait Factor: Real + Scalar {
    /// Number of elements that fill 16 bytes.
    const WIDTH: usize;

    /// Whether the target's tensor cores multiply such elements, with the same rounding as fused multiply-adds.
    const TENSOR: bool;

    /// [`warp::multiply_add_f64`] for this type.
    ///
    /// # Safety
    /// All lanes of the warp reach this call together, and `TENSOR` holds.
    unsafe fn multiply_add_tensor(sums: [Self; 4], left: [Self; 2], right: Self) -> [Self; 4];

    /// The same value, computed from `nothing`, which is 0 but not a constant: the result has a register of its own.
    fn moved(self, nothing: u32) -> Self;

    /// Reads `WIDTH` elements in one instruction, into `to[at..]`.
    ///
    /// # Safety
    /// `from` is on a 16-byte boundary, and points to this number of initialised elements that are not written
    /// meanwhile.
    unsafe fn load_wide<const N: usize>(from: *const Self, to: &mut [Self; N], at: usize);

    /// Writes `from[at..at + WIDTH]` in one instruction.
    ///
    /// # Safety
    /// `to` is on a 16-byte boundary, with room for this number of elements, which only this call accesses meanwhile.
    unsafe fn store_wide<const N: usize>(to: *mut Self, from: &[Self; N], at: usize);
}

macro_rules! factor {
    (
        $t:ident $bits:ident $width:literal: $($k:literal)*;
        $tensor:expr, $sums:ident $left:ident $right:ident => $multiply:expr
    ) => {
        impl Factor for $t {
            const WIDTH: usize = $width;
            const TENSOR: bool = $tensor;

            #[inline(always)]
            unsafe fn multiply_add_tensor($sums: [Self; 4], $left: [Self; 2], $right: Self) -> [Self; 4] {
                $multiply
            }

            #[inline(always)]
            fn moved(self, nothing: u32) -> Self {
                Self::from_bits(self.to_bits() | Into::<$bits>::into(nothing))
            }

            #[inline(always)]
            unsafe fn load_wide<const N: usize>(from: *const Self, to: &mut [Self; N], at: usize) {
                // SAFETY: the caller upholds this function's contract.
                let vector = unsafe { Vector::<$t, $width>::load(from.cast()) };
                $( to[at + $k] = vector.0[$k]; )*
            }

            #[inline(always)]
            unsafe fn store_wide<const N: usize>(to: *mut Self, from: &[Self; N], at: usize) {
                // SAFETY: the caller upholds this function's contract.
                unsafe { Vector::<$t, $width>([$( from[at + $k] ),*]).store(to.cast()) };
            }
        }
    };
}
// Tensor cores round f32 to fewer bits.
factor!(f32 u32 4: 0 1 2 3; false, sums _left _right => sums);
factor!(f64 u64 2: 0 1; cfg!(target_feature = "sm_80"), sums left right => {
    // SAFETY: the caller upholds this function's contract.
    unsafe { warp::multiply_add_f64(sums, left, right) }
});
