//! `cvt` to and from 8-bit floating point, with saturation to finite numbers, and `cvt.pack` of integers.

use super::{CONVERTED, pack, packed};
use crate::isa::half::{half_to_f32, relu};
use crate::isa::lift::{lift, lift_call};
use crate::isa::soft::{BF16, F16, Format, Rounding, TF32};
use crate::isa::table::Table;

/// Adds these rows.
pub fn list(t: &mut Table) {
    eight_bits(t);
    finite(t);
    integers(t);
}

/// Rounds to `e4m3`: 4 bits of significand, exponents from -6, no infinity; larger numbers become the maximum 448.
fn e4m3(x: f64) -> u8 {
    if x.is_nan() {
        return 0x7f;
    }
    let sign = if x.is_sign_negative() { 0x80 } else { 0 };
    let x = x.abs();
    if x >= 448.0 {
        return sign | 0x7e;
    }
    // Below 2^-6 numbers are multiples of 2^-9.
    let exponent = ((x.to_bits() >> 52) as i32 - 1023).max(-6);
    let steps = (x * 2.0f64.powi(3 - exponent)).round_ties_even() as u8;
    // Normal numbers have 8 to 16 steps, so the hidden bit adds one to the exponent's field.
    sign | ((((exponent + 6) as u8) << 3) + steps)
}

/// Rounds to `e5m2`, the upper half of `f16`; larger numbers become the largest finite number.
fn e5m2(x: f64) -> u8 {
    let format = Format { precision: 3, emax: 15 };
    if x.is_nan() {
        return 0x7f;
    }
    match pack(format, x, Rounding::NearestEven) as u8 {
        bits if bits & 0x7f == 0x7c => bits - 1,
        bits => bits,
    }
}

fn e4m3_to_half(bits: u8) -> u16 {
    let (sign, magnitude) = (u16::from(bits & 0x80) << 8, u16::from(bits & 0x7f));
    if magnitude == 0x7f {
        return 0x7fff;
    }
    let value = match magnitude >> 3 {
        0 => f64::from(magnitude) * 2.0f64.powi(-9),
        exponent => f64::from(8 + (magnitude & 7)) * 2.0f64.powi(i32::from(exponent) - 10),
    };
    sign | pack(F16, value, Rounding::NearestEven) as u16
}

fn e5m2_to_half(bits: u8) -> u16 {
    if bits & 0x7f > 0x7c { 0x7fff } else { u16::from(bits) << 8 }
}

/// `.relu`: replaces negative numbers by zero; NaN is kept.
fn relu8(bits: u8) -> u8 {
    if bits & 0x80 != 0 && bits & 0x7f != 0x7f { 0 } else { bits }
}

fn eight_bits(t: &mut Table) {
    macro_rules! format {
        ($n:literal, $narrow:ident, $widen:ident) => {
            format!(@ $n, "", $narrow, $widen, |x: u8| x, |x: u16| x);
            format!(@ $n, ".relu", $narrow, $widen, relu8, relu);
        };
        (@ $n:literal, $m:literal, $narrow:ident, $widen:ident, $after:expr, $after_wide:expr) => {
            // The first source becomes the upper byte.
            t.row(
                concat!("cvt.rn.satfinite", $m, ".", $n, "x2.f32"),
                packed(8),
                lift_call!((f32, f32) -> u16, |a, b| {
                    let byte = |x: f32| u16::from($after($narrow(f64::from(x))));
                    byte(a) << 8 | byte(b)
                }),
            );
            t.row(
                concat!("cvt.rn.satfinite", $m, ".", $n, "x2.f16x2"),
                CONVERTED,
                lift_call!((u32) -> u16, |a| {
                    let byte = |x: u16| u16::from($after($narrow(f64::from(half_to_f32(x)))));
                    byte((a >> 16) as u16) << 8 | byte(a as u16)
                }),
            );
            t.row(
                concat!("cvt.rn", $m, ".f16x2.", $n, "x2"),
                CONVERTED,
                lift_call!((u16) -> u32, |a| {
                    let half = |x: u8| u32::from($after_wide($widen(x)));
                    half((a >> 8) as u8) << 16 | half(a as u8)
                }),
            );
        };
    }
    format!("e4m3", e4m3, e4m3_to_half);
    format!("e5m2", e5m2, e5m2_to_half);
}

/// Replaces infinities, and numbers that would round to them, by the largest finite number; NaN has one form.
fn saturated(format: Format, x: f32, rounding: Rounding) -> u32 {
    let infinity = ((2 * format.emax + 1) as u64) << (format.precision - 1);
    let sign = (infinity << 1) & !infinity;
    let bits = pack(format, f64::from(x), rounding);
    (if bits & (sign - 1) == infinity { bits - 1 } else { bits }) as u32
}

fn finite(t: &mut Table) {
    macro_rules! mode {
        ($n:literal, $format:expr, $m:literal, $r:expr) => {
            mode!(@ $n, $format, $m, $r, "", |x: u16| x);
            mode!(@ $n, $format, $m, $r, ".relu", relu);
        };
        (@ $n:literal, $format:expr, $m:literal, $r:expr, $relu:literal, $after:expr) => {
            t.row(
                concat!("cvt.", $m, $relu, ".satfinite.", $n, ".f32"),
                CONVERTED,
                lift_call!((f32) -> u16, |a| $after(saturated($format, a, $r) as u16)),
            );
            t.row(
                concat!("cvt.", $m, $relu, ".satfinite.", $n, "x2.f32"),
                packed(16),
                lift_call!((f32, f32) -> u32, |a, b| {
                    let half = |x: f32| u32::from($after(saturated($format, x, $r) as u16));
                    half(a) << 16 | half(b)
                }),
            );
        };
    }
    mode!("f16", F16, "rn", Rounding::NearestEven);
    mode!("f16", F16, "rz", Rounding::Zero);
    mode!("bf16", BF16, "rn", Rounding::NearestEven);
    mode!("bf16", BF16, "rz", Rounding::Zero);
    macro_rules! tf32 {
        ($m:literal, $r:expr, $f:expr) => {
            t.row(concat!("cvt.", $m, ".tf32.f32"), CONVERTED, lift_call!((f32) -> u32, |a| $f(a, $r)));
        };
    }
    fn limited(a: f32, rounding: Rounding) -> u32 {
        saturated(TF32, a, rounding) << 13
    }
    fn positive(a: f32, rounding: Rounding) -> u32 {
        let bits = (pack(TF32, f64::from(a), rounding) as u32) << 13;
        if bits >> 31 != 0 { 0 } else { bits }
    }
    // Here an H200 treats a NaN as a number: results with the largest exponent are one unit less.
    fn away(a: f32, rounding: Rounding) -> u32 {
        let bits =
            if a.is_finite() { (pack(TF32, f64::from(a), rounding) as u32) << 13 } else { a.to_bits() & 0xffff_e000 };
        if bits & 0x7f80_0000 == 0x7f80_0000 { bits - 0x2000 } else { bits }
    }
    tf32!("rna.satfinite", Rounding::NearestAway, away);
    tf32!("rn.satfinite", Rounding::NearestEven, limited);
    tf32!("rz.satfinite", Rounding::Zero, limited);
    tf32!("rn.relu", Rounding::NearestEven, positive);
    tf32!("rz.relu", Rounding::Zero, positive);
}

/// `cvt.pack.sat`: the first source becomes the upper part, the second the lower; both are clamped to the narrow type's
/// range.
fn integers(t: &mut Table) {
    fn limit(x: i32, low: i32, high: i32) -> u32 {
        x.clamp(low, high) as u32
    }
    macro_rules! words {
        ($n:literal, $low:expr, $high:expr) => {
            t.row(
                concat!("cvt.pack.sat.", $n, ".s32"),
                CONVERTED,
                lift!((i32, i32) -> u32, |a, b| limit(a, $low, $high) << 16 | limit(b, $low, $high) & 0xffff),
            );
        };
    }
    words!("u16", 0, 0xffff);
    words!("s16", -0x8000, 0x7fff);
    // The third source is shifted up to make room.
    macro_rules! narrow {
        ($n:literal, $bits:literal, $low:expr, $high:expr) => {
            t.row(
                concat!("cvt.pack.sat.", $n, ".s32.b32"),
                CONVERTED,
                lift!((i32, i32, u32) -> u32, |a, b, c| {
                    let part = |x: i32| limit(x, $low, $high) & ((1 << $bits) - 1);
                    c << (2 * $bits) | part(a) << $bits | part(b)
                }),
            );
        };
    }
    narrow!("u8", 8, 0, 0xff);
    narrow!("s8", 8, -0x80, 0x7f);
    narrow!("u4", 4, 0, 0xf);
    narrow!("s4", 4, -8, 7);
    narrow!("u2", 2, 0, 3);
    narrow!("s2", 2, -2, 1);
}

#[cfg(test)]
mod tests {
    use super::{e4m3, e4m3_to_half, e5m2, e5m2_to_half, half_to_f32};
    use crate::isa::testing::check;

    #[test]
    fn every_byte_comes_back() {
        for bits in 0..=u8::MAX {
            let expected = if bits & 0x7f == 0x7f { 0x7f } else { bits };
            assert_eq!(e4m3(f64::from(half_to_f32(e4m3_to_half(bits)))), expected, "{bits:02x}");
            let expected = match bits & 0x7f {
                0x7c => bits - 1,
                0x7d.. => 0x7f,
                _ => bits,
            };
            assert_eq!(e5m2(f64::from(half_to_f32(e5m2_to_half(bits)))), expected, "{bits:02x}");
        }
    }

    #[test]
    fn narrow_conversions() {
        check(&[
            // The values 1.0 and 2.0.
            ("cvt.rn.satfinite.e4m3x2.f32", &[0x3f80_0000, 0x4000_0000], &[0x3840]),
            ("cvt.rn.satfinite.e4m3x2.f32", &[0x7f80_0000, 0xff80_0000], &[0x7efe]),
            ("cvt.rn.satfinite.e5m2x2.f32", &[0x7f80_0000, 0x7fc0_0000], &[0x7b7f]),
            ("cvt.rn.satfinite.relu.e4m3x2.f32", &[0xbf80_0000, 0x3f80_0000], &[0x0038]),
            ("cvt.rn.f16x2.e4m3x2", &[0x3840], &[0x3c00_4000]),
            ("cvt.rn.f16x2.e5m2x2", &[0x3c40], &[0x3c00_4000]),
            ("cvt.rn.satfinite.f16.f32", &[0x4780_0000], &[0x7bff]),
            ("cvt.rn.satfinite.bf16x2.f32", &[0x7f80_0000, 0xff80_0000], &[0x7f7f_ff7f]),
            ("cvt.rna.satfinite.tf32.f32", &[0x7f80_0000], &[0x7f7f_e000]),
            ("cvt.rn.relu.tf32.f32", &[0xbf80_0000], &[0]),
            ("cvt.pack.sat.u16.s32", &[0x1_0000, 0xffff_ffff], &[0xffff_0000]),
            ("cvt.pack.sat.s8.s32.b32", &[300, 0xffff_ff00, 0x0102_0304], &[0x0304_7f80]),
        ]);
    }
}
