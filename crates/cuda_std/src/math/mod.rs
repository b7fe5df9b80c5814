//! Mathematical functions of `f32` and `f64` that `core` lacks, as the hardware's own operations.
//!
//! [`Float`]'s methods are correctly rounded, except where they say otherwise; [`fast`] has the approximations. `core`
//! already has `abs`, `copysign`, `min`, `max`, `clamp`, `to_bits`, `is_nan` and more.

use cuda_std_macros::gpu_only;

pub mod fast;

/// Operations of `f32` and `f64`.
pub trait Float: Copy {
    /// The square root, correctly rounded. NaN for numbers below zero.
    #[must_use]
    fn sqrt(self) -> Self;
    /// `self * a + b`, rounded once.
    #[must_use]
    fn mul_add(self, a: Self, b: Self) -> Self;
    /// The largest integer not greater than `self`.
    #[must_use]
    fn floor(self) -> Self;
    /// The smallest integer not less than `self`.
    #[must_use]
    fn ceil(self) -> Self;
    /// The integer part: `self` rounded towards zero.
    #[must_use]
    fn trunc(self) -> Self;
    /// The nearest integer; ties are rounded to the even one.
    #[must_use]
    fn round_ties_even(self) -> Self;
    /// The larger of both values. NaN if either is NaN; +0 is larger than -0 (IEEE 754-2019 `maximum`).
    #[must_use]
    fn maximum(self, other: Self) -> Self;
    /// The smaller of both values. NaN if either is NaN; -0 is smaller than +0 (IEEE 754-2019 `minimum`).
    #[must_use]
    fn minimum(self, other: Self) -> Self;
    /// The larger of both values, or the other value if one is NaN (IEEE 754-2008 `maxNum`, `core`'s `f32::max`). For
    /// two zeros the result is either of them.
    #[must_use]
    fn max_num(self, other: Self) -> Self;
    /// The smaller of both values, or the other value if one is NaN (IEEE 754-2008 `minNum`, `core`'s `f32::min`). For
    /// two zeros the result is either of them.
    #[must_use]
    fn min_num(self, other: Self) -> Self;
}

#[cfg(target_arch = "nvptx64")]
macro_rules! llvm {
    ($t:ident $suffix:literal) => {
        mod $t {
            unsafe extern "C" {
                #[link_name = concat!("llvm.sqrt.", $suffix)]
                pub safe fn sqrt(x: $t) -> $t;
                #[link_name = concat!("llvm.fma.", $suffix)]
                pub safe fn fma(x: $t, a: $t, b: $t) -> $t;
                #[link_name = concat!("llvm.floor.", $suffix)]
                pub safe fn floor(x: $t) -> $t;
                #[link_name = concat!("llvm.ceil.", $suffix)]
                pub safe fn ceil(x: $t) -> $t;
                #[link_name = concat!("llvm.trunc.", $suffix)]
                pub safe fn trunc(x: $t) -> $t;
                #[link_name = concat!("llvm.roundeven.", $suffix)]
                pub safe fn roundeven(x: $t) -> $t;
                #[link_name = concat!("llvm.maximum.", $suffix)]
                pub safe fn maximum(x: $t, y: $t) -> $t;
                #[link_name = concat!("llvm.minimum.", $suffix)]
                pub safe fn minimum(x: $t, y: $t) -> $t;
            }
        }
    };
}
#[cfg(target_arch = "nvptx64")]
llvm!(f32 "f32");
#[cfg(target_arch = "nvptx64")]
llvm!(f64 "f64");

macro_rules! float {
    ($($t:ident),*) => { $(
        impl Float for $t {
            #[gpu_only]
            fn sqrt(self) -> Self {
                $t::sqrt(self)
            }
            #[gpu_only]
            fn mul_add(self, a: Self, b: Self) -> Self {
                $t::fma(self, a, b)
            }
            #[gpu_only]
            fn floor(self) -> Self {
                $t::floor(self)
            }
            #[gpu_only]
            fn ceil(self) -> Self {
                $t::ceil(self)
            }
            #[gpu_only]
            fn trunc(self) -> Self {
                $t::trunc(self)
            }
            #[gpu_only]
            fn round_ties_even(self) -> Self {
                $t::roundeven(self)
            }
            #[gpu_only]
            fn maximum(self, other: Self) -> Self {
                $t::maximum(self, other)
            }
            #[gpu_only]
            fn minimum(self, other: Self) -> Self {
                $t::minimum(self, other)
            }
            #[inline(always)]
            fn max_num(self, other: Self) -> Self {
                self.max(other)
            }
            #[inline(always)]
            fn min_num(self, other: Self) -> Self {
                self.min(other)
            }
        }
    )* };
}
float!(f32, f64);
