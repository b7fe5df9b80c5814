//! Maths on `f32` and `f64` that `core` lacks, in hardware's own operations.
//!
//! [`Float`]'s methods are correctly rounded, except where they say otherwise; [`fast`] has the approximations. `core`
//! already has `abs`, `copysign`, `min`, `max`, `clamp`, `to_bits`, `is_nan` and more.

use cuda_std_macros::gpu_only;

pub mod fast;

/// `f32` and `f64`.
pub trait Float: Copy {
    /// The square root, correctly rounded. NaN below zero.
    #[must_use]
    fn sqrt(self) -> Self;
    /// `self * a + b`, rounded once.
    #[must_use]
    fn mul_add(self, a: Self, b: Self) -> Self;
    /// The largest whole number that is not above.
    #[must_use]
    fn floor(self) -> Self;
    /// The smallest whole number that is not below.
    #[must_use]
    fn ceil(self) -> Self;
    /// The whole number towards zero.
    #[must_use]
    fn trunc(self) -> Self;
    /// The nearest whole number; of two, the even one.
    #[must_use]
    fn round_ties_even(self) -> Self;
    /// The larger one. NaN if either is NaN, and +0 is larger than -0 (IEEE 754-2019 `maximum`).
    #[must_use]
    fn maximum(self, other: Self) -> Self;
    /// The smaller one. NaN if either is NaN, and -0 is smaller than +0 (IEEE 754-2019 `minimum`).
    #[must_use]
    fn minimum(self, other: Self) -> Self;
    /// The larger one; the other one if one is NaN (IEEE 754-2008 `maxNum`, `f32::max` of `core`). Of two zeros,
    /// either.
    #[must_use]
    fn max_num(self, other: Self) -> Self;
    /// The smaller one; the other one if one is NaN (IEEE 754-2008 `minNum`, `f32::min` of `core`). Of two zeros,
    /// either.
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
