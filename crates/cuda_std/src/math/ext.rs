//! [`FloatExt`]: special functions, by the crate `libm` and by [`super::special`].

use super::{Float, special};

/// Special functions of `f32` and `f64`, with the names of the Rust-CUDA project.
///
/// Those of `libm` have the error bounds that its own tests hold against MPFR. Functions of an `f32` that `libm` lacks
/// are computed as `f64` and rounded: their error is below 1 ulp. The bounds for `f64` of those are what this project's
/// tests hold against results of 50 digits.
pub trait FloatExt: Sized {
    /// `cos(π self)`, exact where the result is -1, 0 or 1. Error at most 2 ulp.
    #[must_use]
    fn cospi(self) -> Self;
    /// `sin(π self)`, exact where the result is -1, 0 or 1. Error at most 2 ulp.
    #[must_use]
    fn sinpi(self) -> Self;
    /// `sin(π self)` and `cos(π self)`.
    #[must_use]
    fn sincospi(self) -> (Self, Self);
    /// The error function. Error at most 1 ulp.
    #[must_use]
    fn error_function(self) -> Self;
    /// 1 minus the error function, precise where that is near 1. Error at most 4 ulp.
    #[must_use]
    fn complementary_error_function(self) -> Self;
    /// The inverse of [`complementary_error_function`](Self::complementary_error_function): NaN outside of 0..=2.
    /// Relative error at most 1e-14 for `f64`.
    #[must_use]
    fn inv_complementary_error_function(self) -> Self;
    /// `e^(self^2)` times the complementary error function, which does not underflow for large values. Relative error
    /// at most 1e-14 for `f64`.
    #[must_use]
    fn scaled_complementary_error_function(self) -> Self;
    /// The cumulative distribution function of the standard normal distribution. Relative error at most 1e-13 for
    /// `f64` above -10, and growing with the square of the argument below.
    #[must_use]
    fn norm_cdf(self) -> Self;
    /// The inverse of [`norm_cdf`](Self::norm_cdf): NaN outside of 0..=1. Relative error at most 1e-14 for `f64`
    /// (algorithm AS 241, M. J. Wichura, 1988).
    #[must_use]
    fn inv_norm_cdf(self) -> Self;
    /// A fraction, which is 0 or has a magnitude in 0.5..1, and an exponent: `self = fraction * 2^exponent`. Exact.
    #[must_use]
    fn frexp(self) -> (Self, i32);
    /// The exponent of `self` as a power of two: 3 for 8 to 16.
    #[must_use]
    fn unbiased_exp(self) -> i32;
    /// `self * 2^exp`, correctly rounded.
    #[must_use]
    fn ldexp(self, exp: i32) -> Self;
    /// `self * 2^exp`, correctly rounded.
    #[must_use]
    fn scale_by_n(self, exp: i32) -> Self;
    /// The natural logarithm of the magnitude of the gamma function. Error at most 16 ulp for positive values.
    #[must_use]
    fn log_gamma(self) -> Self;
    /// The gamma function. Error at most 20 ulp for `f64`, 1 ulp for `f32`.
    #[must_use]
    fn gamma(self) -> Self;
    /// The natural logarithm of `1 + self`. Error at most 1 ulp.
    #[must_use]
    fn log1p(self) -> Self;
    /// `1 / cbrt(self)`. Error at most 1 ulp.
    #[must_use]
    fn rcbrt(self) -> Self;
    /// `self` clamped to 0..=1; 0 for NaN, as the hardware's `.sat`.
    #[must_use]
    fn saturate(self) -> Self;
    /// The Bessel function of the first kind, of order 0. Absolute error about 1 ulp of 1; large beside a zero.
    #[must_use]
    fn j0(self) -> Self;
    /// The Bessel function of the first kind, of order 1. Accuracy as [`j0`](Self::j0).
    #[must_use]
    fn j1(self) -> Self;
    /// The Bessel function of the first kind, of any order. Accuracy as [`j0`](Self::j0), less for orders above 1000.
    #[must_use]
    fn jn(self, order: i32) -> Self;
    /// The Bessel function of the second kind, of order 0. Accuracy as [`j0`](Self::j0).
    #[must_use]
    fn y0(self) -> Self;
    /// The Bessel function of the second kind, of order 1. Accuracy as [`j0`](Self::j0).
    #[must_use]
    fn y1(self) -> Self;
    /// The Bessel function of the second kind, of any order. Accuracy as [`jn`](Self::jn).
    #[must_use]
    fn yn(self, order: i32) -> Self;
}

macro_rules! ext {
    ($t:ident: $($name:ident($($arg:ident: $ty:ty),*) -> $out:ty = $libm:ident),* $(,)?; $jn:ident $yn:ident) => {
        impl FloatExt for $t {
            #[inline]
            fn cospi(self) -> Self {
                special::sincospi(f64::from(self)).1 as $t
            }
            #[inline]
            fn sinpi(self) -> Self {
                special::sincospi(f64::from(self)).0 as $t
            }
            #[inline]
            fn sincospi(self) -> (Self, Self) {
                let (sin, cos) = special::sincospi(f64::from(self));
                (sin as $t, cos as $t)
            }
            #[inline]
            fn inv_complementary_error_function(self) -> Self {
                special::erfcinv(f64::from(self)) as $t
            }
            #[inline]
            fn scaled_complementary_error_function(self) -> Self {
                special::erfcx(f64::from(self)) as $t
            }
            #[inline]
            fn norm_cdf(self) -> Self {
                special::normcdf(f64::from(self)) as $t
            }
            #[inline]
            fn inv_norm_cdf(self) -> Self {
                special::normcdfinv(f64::from(self)) as $t
            }
            #[inline]
            fn rcbrt(self) -> Self {
                1.0 / Float::cbrt(self)
            }
            #[inline(always)]
            fn saturate(self) -> Self {
                self.max(0.0).min(1.0)
            }
            #[inline]
            fn jn(self, order: i32) -> Self {
                libm::$jn(order, self)
            }
            #[inline]
            fn yn(self, order: i32) -> Self {
                libm::$yn(order, self)
            }
            $(
                #[inline]
                fn $name(self, $($arg: $ty),*) -> $out {
                    libm::$libm(self, $($arg),*)
                }
            )*
        }
    };
}
ext! {
    f32: error_function() -> f32 = erff, complementary_error_function() -> f32 = erfcf,
        frexp() -> (f32, i32) = frexpf, unbiased_exp() -> i32 = ilogbf, ldexp(exp: i32) -> f32 = ldexpf,
        scale_by_n(exp: i32) -> f32 = scalbnf, log_gamma() -> f32 = lgammaf, gamma() -> f32 = tgammaf,
        log1p() -> f32 = log1pf, j0() -> f32 = j0f, j1() -> f32 = j1f, y0() -> f32 = y0f, y1() -> f32 = y1f;
    jnf ynf
}
ext! {
    f64: error_function() -> f64 = erf, complementary_error_function() -> f64 = erfc, frexp() -> (f64, i32) = frexp,
        unbiased_exp() -> i32 = ilogb, ldexp(exp: i32) -> f64 = ldexp, scale_by_n(exp: i32) -> f64 = scalbn,
        log_gamma() -> f64 = lgamma, gamma() -> f64 = tgamma, log1p() -> f64 = log1p, j0() -> f64 = j0,
        j1() -> f64 = j1, y0() -> f64 = y0, y1() -> f64 = y1;
    jn yn
}
