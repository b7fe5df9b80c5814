//! [`Float`]: rounding, roots, fused multiplication by the hardware; elementary functions by the crate `libm`.

/// Operations of `f32` and `f64` that `core` lacks. The Rust-CUDA project calls this trait `GpuFloat`.
///
/// `sqrt`, `mul_add`, the roundings, the minima and maxima are the hardware's, correctly rounded. The others are those
/// of [`libm`], a port of musl's library, in plain Rust: the error bounds below are the ones that libm's own tests hold
/// against MPFR, in units in the last place (ulp) of the result. On the host all of them are libm's.
///
/// They cost tens of instructions. `sin`, `cos`, `tan` and `powf` of an `f32`, and others, compute in `f64`, of which
/// GPUs that are not made for data centres have a 32nd or a 64th of the throughput; [`fast`](super::fast) has the
/// approximations.
pub trait Float: Copy + PartialOrd {
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
    /// The nearest integer; ties are rounded away from zero.
    #[must_use]
    fn round(self) -> Self;
    /// The nearest integer; ties are rounded to the even one.
    #[must_use]
    fn round_ties_even(self) -> Self;
    /// `self` without its integer part: `self - self.trunc()`.
    #[must_use]
    fn fract(self) -> Self;
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
    /// The value without its sign.
    #[must_use]
    fn abs(self) -> Self;
    /// 1 with the sign of `self`; NaN for NaN.
    #[must_use]
    fn signum(self) -> Self;
    /// The magnitude of `self` with the sign of `sign`.
    #[must_use]
    fn copysign(self, sign: Self) -> Self;
    /// The quotient, rounded so that [`rem_euclid`](Self::rem_euclid) is not negative.
    #[must_use]
    fn div_euclid(self, rhs: Self) -> Self;
    /// The remainder of the division, which is not negative. It can be `|rhs|` by rounding.
    #[must_use]
    fn rem_euclid(self, rhs: Self) -> Self;
    /// `self` to an integer power, by repeated squaring; the error grows with `n`.
    #[must_use]
    fn powi(self, n: i32) -> Self;
    /// `self` to the power `n`. Error below 1 ulp.
    #[must_use]
    fn powf(self, n: Self) -> Self;
    /// `e^self`. Error at most 1 ulp.
    #[must_use]
    fn exp(self) -> Self;
    /// `2^self`. Error at most 1 ulp.
    #[must_use]
    fn exp2(self) -> Self;
    /// `e^self - 1`, precise near 0. Error at most 1 ulp.
    #[must_use]
    fn exp_m1(self) -> Self;
    /// The natural logarithm. Error at most 1 ulp.
    #[must_use]
    fn ln(self) -> Self;
    /// The natural logarithm of `1 + self`, precise near 0. Error at most 1 ulp.
    #[must_use]
    fn ln_1p(self) -> Self;
    /// The logarithm to any base, as the quotient of two natural logarithms.
    #[must_use]
    fn log(self, base: Self) -> Self;
    /// The logarithm to base 2. Error at most 1 ulp.
    #[must_use]
    fn log2(self) -> Self;
    /// The logarithm to base 10. Error at most 1 ulp.
    #[must_use]
    fn log10(self) -> Self;
    /// The cube root, correctly rounded.
    #[must_use]
    fn cbrt(self) -> Self;
    /// The length of the hypotenuse, `sqrt(self^2 + other^2)`, without overflow on the way. Error at most 1 ulp.
    #[must_use]
    fn hypot(self, other: Self) -> Self;
    /// The sine, in radians. Error at most 1 ulp, for arguments of any size.
    #[must_use]
    fn sin(self) -> Self;
    /// The cosine, in radians. Error at most 1 ulp, for arguments of any size.
    #[must_use]
    fn cos(self) -> Self;
    /// The tangent, in radians. Error at most 1 ulp, for arguments of any size.
    #[must_use]
    fn tan(self) -> Self;
    /// Sine and cosine, for less than both cost alone.
    #[must_use]
    fn sin_cos(self) -> (Self, Self);
    /// The arcsine, in -π/2..=π/2; NaN outside of -1..=1. Error at most 1 ulp.
    #[must_use]
    fn asin(self) -> Self;
    /// The arccosine, in 0..=π; NaN outside of -1..=1. Error at most 1 ulp.
    #[must_use]
    fn acos(self) -> Self;
    /// The arctangent, in -π/2..=π/2. Error at most 1 ulp.
    #[must_use]
    fn atan(self) -> Self;
    /// The angle of the point with y = `self` and x = `other`, in -π..=π. Error at most 2 ulp.
    #[must_use]
    fn atan2(self, other: Self) -> Self;
    /// The hyperbolic sine. Error at most 2 ulp.
    #[must_use]
    fn sinh(self) -> Self;
    /// The hyperbolic cosine. Error at most 1 ulp.
    #[must_use]
    fn cosh(self) -> Self;
    /// The hyperbolic tangent. Error at most 2 ulp.
    #[must_use]
    fn tanh(self) -> Self;
    /// The inverse hyperbolic sine. Error at most 2 ulp.
    #[must_use]
    fn asinh(self) -> Self;
    /// The inverse hyperbolic cosine; NaN below 1. Error at most 4 ulp.
    #[must_use]
    fn acosh(self) -> Self;
    /// The inverse hyperbolic tangent; NaN outside of -1..=1. Error at most 2 ulp.
    #[must_use]
    fn atanh(self) -> Self;
}

/// The hardware's operations.
#[cfg(target_arch = "nvptx64")]
macro_rules! hardware {
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
                #[link_name = concat!("llvm.round.", $suffix)]
                pub safe fn round(x: $t) -> $t;
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
hardware!(f32 "f32");
#[cfg(target_arch = "nvptx64")]
hardware!(f64 "f64");

/// The same operations on the host.
#[cfg(not(target_arch = "nvptx64"))]
macro_rules! software {
    ($t:ident: $sqrt:ident $fma:ident $floor:ident $ceil:ident $trunc:ident $round:ident $rint:ident) => {
        mod $t {
            pub use libm::{
                $ceil as ceil, $floor as floor, $fma as fma, $rint as roundeven, $round as round, $sqrt as sqrt,
                $trunc as trunc,
            };

            pub fn maximum(x: $t, y: $t) -> $t {
                if x > y || x == y && x.is_sign_positive() || x.is_nan() { x } else { y }
            }

            pub fn minimum(x: $t, y: $t) -> $t {
                if x < y || x == y && x.is_sign_negative() || x.is_nan() { x } else { y }
            }
        }
    };
}
#[cfg(not(target_arch = "nvptx64"))]
software!(f32: sqrtf fmaf floorf ceilf truncf roundf rintf);
#[cfg(not(target_arch = "nvptx64"))]
software!(f64: sqrt fma floor ceil trunc round rint);

macro_rules! float {
    ($t:ident: $($name:ident($($arg:ident),*) = $libm:ident),* $(,)?; $sincos:ident) => {
        impl Float for $t {
            #[inline(always)]
            fn sqrt(self) -> Self {
                $t::sqrt(self)
            }
            #[inline(always)]
            fn mul_add(self, a: Self, b: Self) -> Self {
                $t::fma(self, a, b)
            }
            #[inline(always)]
            fn floor(self) -> Self {
                $t::floor(self)
            }
            #[inline(always)]
            fn ceil(self) -> Self {
                $t::ceil(self)
            }
            #[inline(always)]
            fn trunc(self) -> Self {
                $t::trunc(self)
            }
            #[inline(always)]
            fn round(self) -> Self {
                $t::round(self)
            }
            #[inline(always)]
            fn round_ties_even(self) -> Self {
                $t::roundeven(self)
            }
            #[inline(always)]
            fn fract(self) -> Self {
                self - $t::trunc(self)
            }
            #[inline(always)]
            fn maximum(self, other: Self) -> Self {
                $t::maximum(self, other)
            }
            #[inline(always)]
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
            #[inline(always)]
            fn abs(self) -> Self {
                <$t>::abs(self)
            }
            #[inline(always)]
            fn signum(self) -> Self {
                <$t>::signum(self)
            }
            #[inline(always)]
            fn copysign(self, sign: Self) -> Self {
                <$t>::copysign(self, sign)
            }
            #[inline]
            fn div_euclid(self, rhs: Self) -> Self {
                let quotient = $t::trunc(self / rhs);
                if self % rhs >= 0.0 {
                    quotient
                } else if rhs > 0.0 {
                    quotient - 1.0
                } else {
                    quotient + 1.0
                }
            }
            #[inline]
            fn rem_euclid(self, rhs: Self) -> Self {
                let remainder = self % rhs;
                if remainder < 0.0 { remainder + <$t>::abs(rhs) } else { remainder }
            }
            #[inline]
            fn powi(self, n: i32) -> Self {
                let (mut power, mut square, mut left) = (1.0, self, n.unsigned_abs());
                while left != 0 {
                    if left & 1 == 1 {
                        power *= square;
                    }
                    square *= square;
                    left >>= 1;
                }
                if n < 0 { 1.0 / power } else { power }
            }
            #[inline]
            fn log(self, base: Self) -> Self {
                Float::ln(self) / Float::ln(base)
            }
            #[inline]
            fn sin_cos(self) -> (Self, Self) {
                libm::$sincos(self)
            }
            $(
                #[inline]
                fn $name(self, $($arg: Self),*) -> Self {
                    libm::$libm(self, $($arg),*)
                }
            )*
        }
    };
}
float! {
    f32: powf(n) = powf, exp() = expf, exp2() = exp2f, exp_m1() = expm1f, ln() = logf, ln_1p() = log1pf,
        log2() = log2f, log10() = log10f, cbrt() = cbrtf, hypot(other) = hypotf, sin() = sinf, cos() = cosf,
        tan() = tanf, asin() = asinf, acos() = acosf, atan() = atanf, atan2(other) = atan2f, sinh() = sinhf,
        cosh() = coshf, tanh() = tanhf, asinh() = asinhf, acosh() = acoshf, atanh() = atanhf; sincosf
}
float! {
    f64: powf(n) = pow, exp() = exp, exp2() = exp2, exp_m1() = expm1, ln() = log, ln_1p() = log1p, log2() = log2,
        log10() = log10, cbrt() = cbrt, hypot(other) = hypot, sin() = sin, cos() = cos, tan() = tan, asin() = asin,
        acos() = acos, atan() = atan, atan2(other) = atan2, sinh() = sinh, cosh() = cosh, tanh() = tanh,
        asinh() = asinh, acosh() = acosh, atanh() = atanh; sincos
}
