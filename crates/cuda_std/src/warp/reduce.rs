//! Reductions over the lanes of a warp.

use super::{ALL, WarpShuffleValue, shuffle_xor};
#[cfg(all(target_arch = "nvptx64", target_feature = "sm_80"))]
use crate::intrinsics as nvvm;

/// Combines the values of all 32 lanes, and returns the result to every lane.
///
/// `combine` must be commutative, or the lanes get different results. It is applied in the same order in every launch:
/// first to lanes 16 apart, then 8, 4, 2 and 1.
///
/// # Safety
/// All 32 lanes must reach this call.
#[inline(always)]
pub unsafe fn reduce<T: WarpShuffleValue>(value: T, combine: impl Fn(T, T) -> T) -> T {
    let mut value = value;
    let mut distance = 16;
    while distance > 0 {
        // SAFETY: the caller upholds this function's contract.
        value = combine(value, unsafe { shuffle_xor(ALL, value, distance) });
        distance /= 2;
    }
    value
}

/// The operations of [`warp_reduce`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WarpReductionOp {
    /// The sum, which wraps.
    Add,
    /// The smallest value.
    Min,
    /// The largest value.
    Max,
    /// The bits set in all values.
    And,
    /// The bits set in any value.
    Or,
    /// The bits set in an odd number of values.
    Xor,
}

/// Types that [`warp_reduce`] accepts: `u32` and `i32`.
pub trait WarpReduceValue: WarpShuffleValue {
    #[doc(hidden)]
    unsafe fn redux(mask: u32, value: Self, op: WarpReductionOp) -> Self;
    #[doc(hidden)]
    fn combine(self, other: Self, op: WarpReductionOp) -> Self;
}

/// Reduces `value` over the lanes of `mask`, and returns the result to each of them.
///
/// This is one instruction (`redux.sync`) since compute capability 8.0; before, it is five shuffles for a whole warp
/// and up to 32 for a part of one.
///
/// # Safety
/// Every lane of `mask`, this one included, must reach this call with the same mask and must not have exited.
#[inline(always)]
pub unsafe fn warp_reduce<T: WarpReduceValue>(mask: u32, value: T, op: WarpReductionOp) -> T {
    // SAFETY: the caller upholds this function's contract.
    unsafe { T::redux(mask, value, op) }
}

macro_rules! values {
    ($($t:ident: $min:ident $max:ident),*) => { $(
        impl WarpReduceValue for $t {
            #[cfg(all(target_arch = "nvptx64", target_feature = "sm_80"))]
            #[inline(always)]
            unsafe fn redux(mask: u32, value: Self, op: WarpReductionOp) -> Self {
                let bits = value as u32;
                // SAFETY: the caller upholds this function's contract.
                let result = unsafe {
                    match op {
                        WarpReductionOp::Add => nvvm::redux_add(bits, mask),
                        WarpReductionOp::Min => nvvm::$min(bits, mask),
                        WarpReductionOp::Max => nvvm::$max(bits, mask),
                        WarpReductionOp::And => nvvm::redux_and(bits, mask),
                        WarpReductionOp::Or => nvvm::redux_or(bits, mask),
                        WarpReductionOp::Xor => nvvm::redux_xor(bits, mask),
                    }
                };
                result as Self
            }

            #[cfg(not(all(target_arch = "nvptx64", target_feature = "sm_80")))]
            #[inline(always)]
            unsafe fn redux(mask: u32, value: Self, op: WarpReductionOp) -> Self {
                // SAFETY: the caller upholds this function's contract.
                unsafe { by_shuffles(mask, value, op) }
            }

            #[inline(always)]
            fn combine(self, other: Self, op: WarpReductionOp) -> Self {
                match op {
                    WarpReductionOp::Add => self.wrapping_add(other),
                    WarpReductionOp::Min => self.min(other),
                    WarpReductionOp::Max => self.max(other),
                    WarpReductionOp::And => self & other,
                    WarpReductionOp::Or => self | other,
                    WarpReductionOp::Xor => self ^ other,
                }
            }
        }
    )* };
}
values!(u32: redux_umin redux_umax, i32: redux_min redux_max);

#[cfg(not(all(target_arch = "nvptx64", target_feature = "sm_80")))]
#[inline(always)]
unsafe fn by_shuffles<T: WarpReduceValue>(mask: u32, value: T, op: WarpReductionOp) -> T {
    use super::shuffle_idx;
    if mask == ALL {
        // SAFETY: by contract all lanes of the mask reach this call, and the mask holds all lanes.
        return unsafe { reduce(value, |a, b| a.combine(b, op)) };
    }
    // SAFETY: by contract all lanes of the mask reach this call; each of them visits the same lanes in the same order.
    let mut result = unsafe { shuffle_idx(mask, value, mask.trailing_zeros()) };
    let mut rest = mask & mask.wrapping_sub(1);
    while rest != 0 {
        // SAFETY: as above.
        result = result.combine(unsafe { shuffle_idx(mask, value, rest.trailing_zeros()) }, op);
        rest &= rest - 1;
    }
    result
}
