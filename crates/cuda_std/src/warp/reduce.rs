//! Reductions over the lanes of a warp.

use super::{ALL, WarpShuffleValue, shuffle_xor};
#[cfg(all(target_arch = "nvptx64", target_feature = "sm_80"))]
use crate::intrinsics as nvvm;

/// Combines the values of all 32 lanes; every lane gets the result.
///
/// `combine` must be commutative, or the lanes get different results. It is applied in the same order at every launch:
/// lanes 16 apart first, then 8, 4, 2, 1.
///
/// # Safety
/// All 32 lanes must come here together.
#[inline(always)]
pub unsafe fn reduce<T: WarpShuffleValue>(value: T, combine: impl Fn(T, T) -> T) -> T {
    let mut value = value;
    let mut distance = 16;
    while distance > 0 {
        // SAFETY: the caller's promise.
        value = combine(value, unsafe { shuffle_xor(ALL, value, distance) });
        distance /= 2;
    }
    value
}

/// The operations of [`warp_reduce`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarpReductionOp {
    /// The sum; wraps.
    Add,
    /// The smallest.
    Min,
    /// The largest.
    Max,
    /// Bits set in all.
    And,
    /// Bits set in any.
    Or,
    /// Bits set in an odd number.
    Xor,
}

/// Types that [`warp_reduce`] takes: `u32` and `i32`.
pub trait WarpReduceValue: WarpShuffleValue {
    #[doc(hidden)]
    unsafe fn redux(mask: u32, value: Self, op: WarpReductionOp) -> Self;
    #[doc(hidden)]
    fn combine(self, other: Self, op: WarpReductionOp) -> Self;
}

/// Reduces `value` over the lanes of `mask`; every lane of it gets the result.
///
/// One instruction (`redux.sync`) from compute capability 8.0 on; before, five shuffles for a whole warp and up to 32
/// for a part.
///
/// # Safety
/// Every lane of `mask`, this one among them, must come here with the same mask and must not have exited.
#[inline(always)]
pub unsafe fn warp_reduce<T: WarpReduceValue>(mask: u32, value: T, op: WarpReductionOp) -> T {
    // SAFETY: the caller's promise.
    unsafe { T::redux(mask, value, op) }
}

macro_rules! values {
    ($($t:ident: $min:ident $max:ident),*) => { $(
        impl WarpReduceValue for $t {
            #[cfg(all(target_arch = "nvptx64", target_feature = "sm_80"))]
            #[inline(always)]
            unsafe fn redux(mask: u32, value: Self, op: WarpReductionOp) -> Self {
                let bits = value as u32;
                // SAFETY: the caller's promise.
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
                // SAFETY: the caller's promise.
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
        // SAFETY: the caller's promise, for all lanes.
        return unsafe { reduce(value, |a, b| a.combine(b, op)) };
    }
    // SAFETY: the caller's promise; every lane of the mask goes through the same lanes in the same order.
    let mut result = unsafe { shuffle_idx(mask, value, mask.trailing_zeros()) };
    let mut rest = mask & mask.wrapping_sub(1);
    while rest != 0 {
        // SAFETY: as above.
        result = result.combine(unsafe { shuffle_idx(mask, value, rest.trailing_zeros()) }, op);
        rest &= rest - 1;
    }
    result
}
