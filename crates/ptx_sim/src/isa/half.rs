//! 16-bit floating point: `f16`, `bf16` and pairs of them. PTX ISA, "Half Precision Floating Point Instructions".
//!
//! An operation is computed in `f64`, exactly or rounded to odd, and then rounded once.

use super::facts::Fidelity::{Approximate, Exact};
use super::facts::Latency::{Alu, Special};
use super::facts::Undefined::Any;
use super::facts::Work::{self, F16 as Half};
use super::facts::{Facts, facts};
use super::lift::lift_call;
use super::soft::{BF16, F16, F64, Format, Rounding};
use super::table::Table;

/// Facts of a sum, a product, a minimum or maximum.
const ONE: Facts = facts(Any, Half(1), Alu, Exact);
const FUSED: Facts = facts(Any, Half(2), Alu, Exact);
/// Facts of an instruction that changes a sign, which is not counted as arithmetic.
const SIGN: Facts = facts(Any, Work::None, Alu, Exact);

/// Facts of a function with the error bound that the PTX ISA gives.
const fn within(bound: &'static str) -> Facts {
    facts(Any, Half(1), Special, Approximate(bound))
}

/// Adds this chapter's rows.
pub fn list(t: &mut Table) {
    arithmetic(t);
    signs(t);
    extremes(t);
    approximate(t);
}

/// Converts an `f16`; every finite `f16` is exact in `f32`.
#[inline(always)]
pub fn half_to_f32(bits: u16) -> f32 {
    let magnitude = u32::from(bits & 0x7fff) << 13;
    // A multiplication rebiases the exponent, which also handles subnormal numbers; then follow infinity and NaN.
    let value = f32::from_bits(magnitude) * f32::from_bits(0x7780_0000);
    let value = if magnitude >= 0x0f80_0000 { f32::from_bits(magnitude | 0x7f80_0000) } else { value };
    f32::from_bits(value.to_bits() | u32::from(bits & 0x8000) << 16)
}

/// Converts a `bf16`, which is the upper half of an `f32`.
#[inline(always)]
pub fn bfloat_to_f32(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

fn half(bits: u16) -> f64 {
    f64::from(half_to_f32(bits))
}

fn bfloat(bits: u16) -> f64 {
    f64::from(bfloat_to_f32(bits))
}

/// Rounds to nearest even; NaN is 0x7fff.
#[inline(never)]
pub fn round(format: Format, x: f64) -> u16 {
    format.pack(F64.unpack(x.to_bits()), Rounding::NearestEven) as u16
}

/// Returns `a + b` rounded to odd: a second rounding to fewer bits gives the same result as a single rounding.
/// Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", IEEE Transactions on Computers 57(4), 2008.
#[inline(never)]
pub fn sum_to_odd(a: f64, b: f64) -> f64 {
    let sum = a + b;
    let other = sum - a;
    let error = (a - (sum - other)) + (b - other);
    if error == 0.0 || !sum.is_finite() || sum.to_bits() & 1 != 0 {
        return sum;
    }
    let away = (error > 0.0) == (sum > 0.0);
    f64::from_bits(if away { sum.to_bits() + 1 } else { sum.to_bits() - 1 })
}

/// `.ftz` for `f16`: replaces subnormal numbers by zeros with their sign.
fn flush(bits: u16) -> u16 {
    if bits & 0x7c00 == 0 { bits & 0x8000 } else { bits }
}

fn keep(bits: u16) -> u16 {
    bits
}

/// `.relu`: replaces negative numbers by zero; NaN is kept.
pub fn relu(bits: u16) -> u16 {
    if bits & 0x8000 != 0 { 0 } else { bits }
}

/// `.sat` for `f16`: clamps to 0 to 1; NaN becomes 0.
pub fn saturate_half(bits: u16) -> u16 {
    match bits {
        0x3c01..=0x7c00 => 0x3c00,
        0x7c01.. => 0,
        _ => bits,
    }
}

/// Adds rows for one number and for a pair in a register. `$x` are the 16-bit operands.
macro_rules! rows {
    ($t:ident, $facts:expr, [$($name:literal),*], $n:literal, ($($x:ident),*), $value:expr) => {
        $t.row(concat!($($name,)* ".", $n), $facts, lift_call!(($(rows!(@u16 $x)),*) -> u16, |$($x),*| $value));
        $t.row(
            concat!($($name,)* ".", $n, "x2"),
            $facts.packed(16),
            lift_call!(($(rows!(@u32 $x)),*) -> u32, |$($x),*| {
                let f = |$($x: u16),*| -> u16 { $value };
                u32::from(f($($x as u16),*)) | u32::from(f($(($x >> 16) as u16),*)) << 16
            }),
        );
    };
    (@u16 $x:ident) => { u16 };
    (@u32 $x:ident) => { u32 };
}

fn arithmetic(t: &mut Table) {
    macro_rules! sums {
        ($n:literal, $m:literal, $read:ident, $format:expr, $before:ident, $after:ident) => {
            rows!(t, ONE, ["add[.rn]", $m], $n, (a, b), {
                $after(round($format, sum_to_odd($read($before(a)), $read($before(b)))))
            });
            rows!(t, ONE, ["sub[.rn]", $m], $n, (a, b), {
                $after(round($format, sum_to_odd($read($before(a)), -$read($before(b)))))
            });
            rows!(t, ONE, ["mul[.rn]", $m], $n, (a, b), $after(round($format, $read($before(a)) * $read($before(b)))));
        };
    }
    macro_rules! fused {
        ($n:literal, $m:literal, $read:ident, $format:expr, $before:ident, $after:ident) => {
            rows!(t, FUSED, ["fma.rn", $m], $n, (a, b, c), {
                $after(round($format, sum_to_odd($read($before(a)) * $read($before(b)), $read($before(c)))))
            });
        };
    }
    fn flush_saturate(bits: u16) -> u16 {
        saturate_half(flush(bits))
    }
    fn flush_relu(bits: u16) -> u16 {
        relu(flush(bits))
    }
    sums!("f16", "", half, F16, keep, keep);
    sums!("f16", ".ftz", half, F16, flush, flush);
    sums!("f16", ".sat", half, F16, keep, saturate_half);
    sums!("f16", ".ftz.sat", half, F16, flush, flush_saturate);
    sums!("bf16", "", bfloat, BF16, keep, keep);
    fused!("f16", "", half, F16, keep, keep);
    fused!("f16", ".ftz", half, F16, flush, flush);
    fused!("f16", ".sat", half, F16, keep, saturate_half);
    fused!("f16", ".ftz.sat", half, F16, flush, flush_saturate);
    fused!("f16", ".relu", half, F16, keep, relu);
    fused!("f16", ".ftz.relu", half, F16, flush, flush_relu);
    fused!("bf16", "", bfloat, BF16, keep, keep);
    fused!("bf16", ".relu", bfloat, BF16, keep, relu);
}

fn signs(t: &mut Table) {
    rows!(t, SIGN, ["neg"], "f16", (a), canonical(a ^ 0x8000, 0x7c00));
    rows!(t, SIGN, ["abs"], "f16", (a), canonical(a & 0x7fff, 0x7c00));
    rows!(t, SIGN, ["neg.ftz"], "f16", (a), canonical(flush(a) ^ 0x8000, 0x7c00));
    rows!(t, SIGN, ["abs.ftz"], "f16", (a), canonical(flush(a) & 0x7fff, 0x7c00));
    rows!(t, SIGN, ["neg"], "bf16", (a), canonical(a ^ 0x8000, 0x7f80));
    rows!(t, SIGN, ["abs"], "bf16", (a), canonical(a & 0x7fff, 0x7f80));
}

/// Replaces any NaN by 0x7fff.
fn canonical(bits: u16, infinity: u16) -> u16 {
    if bits & 0x7fff > infinity { 0x7fff } else { bits }
}

/// Returns the smaller or the larger number. A single NaN is ignored, or returned with `keep_nan`; -0 is below +0.
fn extreme(a: u16, b: u16, infinity: u16, larger: bool, keep_nan: bool) -> u16 {
    let nan = |x: u16| x & 0x7fff > infinity;
    // Maps bits to integers in the order of the numbers.
    let order = |x: u16| if x & 0x8000 != 0 { !x } else { x | 0x8000 };
    match (nan(a), nan(b)) {
        (true, true) => 0x7fff,
        (true, false) => {
            if keep_nan {
                0x7fff
            } else {
                b
            }
        }
        (false, true) => {
            if keep_nan {
                0x7fff
            } else {
                a
            }
        }
        (false, false) => {
            if (order(a) < order(b)) != larger {
                a
            } else {
                b
            }
        }
    }
}

fn extremes(t: &mut Table) {
    macro_rules! pair {
        ($name:literal, $larger:literal) => {
            rows!(t, ONE, [$name], "f16", (a, b), extreme(a, b, 0x7c00, $larger, false));
            rows!(t, ONE, [$name, ".ftz"], "f16", (a, b), extreme(flush(a), flush(b), 0x7c00, $larger, false));
            rows!(t, ONE, [$name, ".NaN"], "f16", (a, b), extreme(a, b, 0x7c00, $larger, true));
            rows!(t, ONE, [$name, ".ftz.NaN"], "f16", (a, b), extreme(flush(a), flush(b), 0x7c00, $larger, true));
            rows!(t, ONE, [$name], "bf16", (a, b), extreme(a, b, 0x7f80, $larger, false));
            rows!(t, ONE, [$name, ".NaN"], "bf16", (a, b), extreme(a, b, 0x7f80, $larger, true));
        };
    }
    pair!("min", false);
    pair!("max", true);
    // `.xorsign.abs`: the extreme of the magnitudes, with the sign of the product.
    fn with_sign(a: u16, b: u16, infinity: u16, larger: bool, keep_nan: bool) -> u16 {
        let found = extreme(a & 0x7fff, b & 0x7fff, infinity, larger, keep_nan);
        if found > infinity { found } else { found | (a ^ b) & 0x8000 }
    }
    macro_rules! signed {
        ($name:literal, $larger:literal) => {
            rows!(t, ONE, [$name, ".xorsign.abs"], "f16", (a, b), with_sign(a, b, 0x7c00, $larger, false));
            rows!(t, ONE, [$name, ".NaN.xorsign.abs"], "f16", (a, b), with_sign(a, b, 0x7c00, $larger, true));
            rows!(t, ONE, [$name, ".ftz.xorsign.abs"], "f16", (a, b), {
                with_sign(flush(a), flush(b), 0x7c00, $larger, false)
            });
            rows!(t, ONE, [$name, ".ftz.NaN.xorsign.abs"], "f16", (a, b), {
                with_sign(flush(a), flush(b), 0x7c00, $larger, true)
            });
            rows!(t, ONE, [$name, ".xorsign.abs"], "bf16", (a, b), with_sign(a, b, 0x7f80, $larger, false));
            rows!(t, ONE, [$name, ".NaN.xorsign.abs"], "bf16", (a, b), with_sign(a, b, 0x7f80, $larger, true));
        };
    }
    signed!("min", false);
    signed!("max", true);
}

/// Adds rows whose results are within PTX's error bounds, but not always equal to a GPU's.
fn approximate(t: &mut Table) {
    rows!(t, within("relative error 2^-9.9"), ["ex2.approx"], "f16", (a), round(F16, half(a).exp2()));
    rows!(t, within("relative error 2^-9.9"), ["ex2.approx.ftz"], "f16", (a), flush(round(F16, half(flush(a)).exp2())));
    rows!(t, within("absolute error 2^-10.987"), ["tanh.approx"], "f16", (a), round(F16, half(a).tanh()));
    rows!(t, within("relative error 2^-7"), ["ex2.approx.ftz"], "bf16", (a), round(BF16, bfloat(a).exp2()));
    rows!(t, within("absolute error 2^-8"), ["tanh.approx"], "bf16", (a), round(BF16, bfloat(a).tanh()));
}

/// Minimum or maximum of an atomic on `f16`.
pub fn extreme_half(a: u16, b: u16, larger: bool) -> u16 {
    extreme(a, b, 0x7c00, larger, false)
}

/// Minimum or maximum of an atomic on `bf16`.
pub fn extreme_bfloat(a: u16, b: u16, larger: bool) -> u16 {
    extreme(a, b, 0x7f80, larger, false)
}

/// Sum of an atomic on `f16`.
pub fn add_half(a: u16, b: u16) -> u16 {
    round(F16, sum_to_odd(half(a), half(b)))
}

/// Sum of an atomic on `bf16`.
pub fn add_bfloat(a: u16, b: u16) -> u16 {
    round(BF16, sum_to_odd(bfloat(a), bfloat(b)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::testing::check;

    #[test]
    fn every_half_comes_back() {
        for bits in 0..=u16::MAX {
            let value = half_to_f32(bits);
            let expected = if bits & 0x7fff > 0x7c00 { 0x7fff } else { bits };
            assert_eq!(round(F16, f64::from(value)), expected, "{bits:04x}");
            let value = bfloat_to_f32(bits);
            let expected = if bits & 0x7fff > 0x7f80 { 0x7fff } else { bits };
            assert_eq!(round(BF16, f64::from(value)), expected, "{bits:04x}");
        }
    }

    #[test]
    fn arithmetic() {
        check(&[
            ("add.f16", &[0x3c00, 0x3c00], &[0x4000]),
            ("add.rn.f16x2", &[0x3c00_3c00, 0x3c00_bc00], &[0x4000_0000]),
            ("sub.f16", &[0x3c00, 0x3c00], &[0]),
            ("mul.f16", &[0x7bff, 0x7bff], &[0x7c00]),
            ("mul.ftz.f16", &[0x0400, 0x3800], &[0]),
            ("mul.f16", &[0x0400, 0x3800], &[0x0200]),
            ("add.sat.f16", &[0x3c00, 0x3c00], &[0x3c00]),
            ("fma.rn.relu.f16", &[0xbc00, 0x3c00, 0], &[0]),
            ("fma.rn.f16", &[0x7c00, 0, 0], &[0x7fff]),
            ("fma.rn.bf16", &[0x3f80, 0x3f80, 0x3f80], &[0x4000]),
            ("fma.rn.bf16x2", &[0x3f80_4000, 0x3f80_4000, 0x0000_3f80], &[0x3f80_40a0]),
            // 2^15 * 2^15 + 2^-24: rounding twice would give the same; the product alone overflows.
            ("fma.rn.f16", &[0x7800, 0x7800, 1], &[0x7c00]),
            // The addend breaks a tie: 2049 is halfway between 2048 and 2050.
            ("fma.rn.f16", &[0x6800, 0x3c00, 0x3c00], &[0x6800]),
            ("fma.rn.f16", &[0x6bff, 0x3c01, 0x0001], &[0x6c00]),
            ("neg.f16", &[0x3c00], &[0xbc00]),
            ("abs.bf16x2", &[0xbf80_ffff], &[0x3f80_7fff]),
            ("min.f16", &[0x7e00, 0x3c00], &[0x3c00]),
            ("min.NaN.f16", &[0x7e00, 0x3c00], &[0x7fff]),
            ("max.bf16", &[0x8000, 0], &[0]),
            ("ex2.approx.f16", &[0x4000], &[0x4400]),
        ]);
    }
}
