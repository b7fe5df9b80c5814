//! The element types of kernels, with the same meaning of `+`, `max` and `min` for all of them.

mod entry;
mod redux;

pub use entry::{Bf16, Entry, F16};
pub use redux::Redux;

use bytemuck::Pod;
use cuda_std::{
    atomic,
    launch::{Instance, Scalar},
    math,
    warp::WarpShuffleValue,
};

/// An element type: `f32 f64 i32 u32 i64 u64`.
pub trait Number: Pod + PartialEq + Scalar + Instance + WarpShuffleValue + Redux + atomic::Value {
    /// The number 0.
    const ZERO: Self;
    /// A number that is not below any other: positive infinity for floats.
    const HIGHEST: Self;
    /// A number that is not above any other: negative infinity for floats.
    const LOWEST: Self;

    /// The sum; integers wrap.
    fn add(self, other: Self) -> Self;
    /// IEEE 754-2019 `maximum`: NaN if either is NaN, and +0 above -0.
    fn maximum(self, other: Self) -> Self;
    /// IEEE 754-2019 `minimum`: NaN if either is NaN, and -0 below +0.
    fn minimum(self, other: Self) -> Self;
    /// Whether both are the same number: NaN is the same as NaN, and -0 is not +0.
    fn same(self, other: Self) -> bool;
    /// The nearest `f64`.
    fn to_f64(self) -> f64;
}

macro_rules! integer {
    ($($t:ty)*) => { $(
        impl Number for $t {
            const ZERO: Self = 0;
            const HIGHEST: Self = <$t>::MAX;
            const LOWEST: Self = <$t>::MIN;

            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn maximum(self, other: Self) -> Self {
                Ord::max(self, other)
            }
            #[inline(always)]
            fn minimum(self, other: Self) -> Self {
                Ord::min(self, other)
            }
            #[inline(always)]
            fn same(self, other: Self) -> bool {
                self == other
            }
            #[inline(always)]
            fn to_f64(self) -> f64 {
                self as f64
            }
        }
    )* };
}
integer!(i32 u32 i64 u64);

macro_rules! float {
    ($($t:ty)*) => { $(
        impl Number for $t {
            const ZERO: Self = 0.0;
            const HIGHEST: Self = <$t>::INFINITY;
            const LOWEST: Self = <$t>::NEG_INFINITY;

            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self + other
            }
            #[inline(always)]
            fn maximum(self, other: Self) -> Self {
                math::Float::maximum(self, other)
            }
            #[inline(always)]
            fn minimum(self, other: Self) -> Self {
                math::Float::minimum(self, other)
            }
            #[inline(always)]
            fn same(self, other: Self) -> bool {
                self.to_bits() == other.to_bits() || self.is_nan() && other.is_nan()
            }
            #[inline(always)]
            fn to_f64(self) -> f64 {
                self as f64
            }
        }
    )* };
}
float!(f32 f64);
