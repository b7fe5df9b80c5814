//! `f32` and `f64` arithmetic. PTX ISA, "Floating Point Instructions".
//!
//! `.rn` is the processor's own arithmetic; other rounding modes use [`soft`]. Every `f32` NaN is the canonical one.

use super::facts::Fidelity::{self, Exact};
use super::facts::Latency::{Alu, Special};
use super::facts::Undefined::Any;
use super::facts::Work::{F32 as Single, F64 as Double};
use super::facts::{Facts, facts};
use super::lift::{lift, lift_call};
use super::soft::{self, F32, F64, Format, Number, Rounding};
use super::table::Table;

/// Facts of one operation on `f32`: a sum, a product, a minimum or maximum.
pub const ONE: Facts = facts(Any, Single(1), Alu, Exact);
const FUSED: Facts = facts(Any, Single(2), Alu, Exact);
const QUOTIENT: Facts = facts(Any, Single(1), Special, Exact);
/// A GPU's `div.full` is within 2 ulp; here it is rounded correctly.
const FULL_QUOTIENT: Facts = facts(Any, Single(1), Special, Fidelity::Approximate("2 ulp"));
/// Facts of one operation on `f64`.
pub const ONE64: Facts = facts(Any, Double(1), Alu, Exact);
const FUSED64: Facts = facts(Any, Double(2), Alu, Exact);
const QUOTIENT64: Facts = facts(Any, Double(1), Special, Exact);

/// Adds this chapter's rows.
pub fn list(t: &mut Table) {
    arithmetic(t);
    directed(t);
    quotients(t);
}

/// Returns the bits of a result: PTX specifies one NaN for every `f32` operation whose result is a NaN.
///
/// The selection uses integers, because a compiler may replace any NaN by another.
#[inline(always)]
pub fn canonical(x: f32) -> u32 {
    let bits = x.to_bits();
    if bits & 0x7fff_ffff > 0x7f80_0000 { 0x7fff_ffff } else { bits }
}

/// Returns the bits of an `f64` result: a NaN operand keeps its payload, and an invalid operation gives the default
/// NaN. PTX does not specify which of several NaN operands is kept; `operands` are in an H200's order of preference.
#[inline(always)]
pub fn propagated<const N: usize>(x: f64, operands: [f64; N]) -> u64 {
    let mut bits = x.to_bits();
    if is_nan64(bits) {
        bits = 0xfff8_0000_0000_0000;
        for operand in operands.into_iter().rev() {
            if is_nan64(operand.to_bits()) {
                bits = quiet64(operand.to_bits());
            }
        }
    }
    bits
}

#[inline(always)]
pub fn is_nan64(bits: u64) -> bool {
    bits & 0x7fff_ffff_ffff_ffff > 0x7ff0_0000_0000_0000
}

#[inline(always)]
pub fn quiet64(bits: u64) -> u64 {
    bits | 0x0008_0000_0000_0000
}

/// `.ftz`: replaces subnormal numbers by zeros with their sign.
#[inline(always)]
pub fn flush(x: f32) -> f32 {
    if x.abs() < f32::MIN_POSITIVE { f32::from_bits(x.to_bits() & 1 << 31) } else { x }
}

/// Returns the bits of a `.sat` result: clamped to 0 to 1; NaN and -0 become 0.
#[inline(always)]
pub fn saturate(x: f32) -> u32 {
    let limited = if x > 0.0 { if x < 1.0 { x } else { 1.0 } } else { 0.0 };
    limited.to_bits()
}

/// Returns a zero with the sign of the result if the exact result is subnormal: `.ftz` applies before rounding.
#[inline(always)]
pub fn flush_tiny(x: f32, tiny: bool) -> f32 {
    if tiny { f32::from_bits(x.to_bits() & 1 << 31) } else { flush(x) }
}

/// Adds rows of an `f32` instruction without modifiers and with `.ftz`. `$tiny` is whether a normal result was
/// subnormal before rounding.
macro_rules! with_ftz {
    ($t:ident, $facts:expr, $lift:ident, [$($name:literal),*], ($($x:ident),*), $value:expr, $tiny:expr) => {
        $t.row(
            concat!($($name,)* ".f32"),
            $facts,
            $lift!(($(with_ftz!(@f32 $x)),*) -> u32, |$($x),*| canonical($value)),
        );
        $t.row(concat!($($name,)* ".ftz.f32"), $facts, $lift!(($(with_ftz!(@f32 $x)),*) -> u32, |$($x),*| {
            $(let $x = flush($x);)*
            canonical(flush_tiny($value, $tiny))
        }));
    };
    (@f32 $x:ident) => { f32 };
}
pub(super) use with_ftz;

/// As `with_ftz`, and both forms with `.sat`.
macro_rules! with_ftz_sat {
    ($t:ident, $facts:expr, $lift:ident, [$($name:literal),*], ($($x:ident),*), $value:expr, $tiny:expr) => {
        with_ftz!($t, $facts, $lift, [$($name),*], ($($x),*), $value, $tiny);
        $t.row(
            concat!($($name,)* ".sat.f32"),
            $facts,
            $lift!(($(with_ftz!(@f32 $x)),*) -> u32, |$($x),*| saturate($value)),
        );
        $t.row(concat!($($name,)* ".ftz.sat.f32"), $facts, $lift!(($(with_ftz!(@f32 $x)),*) -> u32, |$($x),*| {
            $(let $x = flush($x);)*
            saturate(flush_tiny($value, $tiny))
        }));
    };
}

/// Rows of an instruction on two `f32` in a register of 64 bits, without modifiers and with `.ftz`.
macro_rules! pairs {
    ($t:ident, $facts:expr, $lift:ident, [$($name:literal),*], ($($x:ident),*), $value:expr, $tiny:expr) => {
        pairs!(@ $t, $facts, $lift, concat!($($name,)* ".f32x2"), ($($x),*), canonical($value), |x: f32| x);
        pairs!(
            @ $t, $facts, $lift, concat!($($name,)* ".ftz.f32x2"), ($($x),*),
            canonical(flush_tiny($value, $tiny)), flush
        );
    };
    (@ $t:ident, $facts:expr, $lift:ident, $name:expr, ($($x:ident),*), $value:expr, $read:expr) => {
        $t.row($name, $facts.packed(32), $lift!(($(pairs!(@u64 $x)),*) -> u64, |$($x),*| {
            let one = |shift: u32| {
                $(let $x = $read(f32::from_bits(($x >> shift) as u32));)*
                u64::from($value) << shift
            };
            one(0) | one(32)
        }));
    };
    (@u64 $x:ident) => { u64 };
}

fn arithmetic(t: &mut Table) {
    pairs!(t, ONE, lift, ["add[.rn]"], (a, b), a + b, false);
    pairs!(t, ONE, lift, ["sub[.rn]"], (a, b), a - b, false);
    pairs!(t, ONE, lift, ["mul[.rn]"], (a, b), a * b, tiny_product(a, b));
    pairs!(t, FUSED, lift, ["fma.rn"], (a, b, c), a.mul_add(b, c), tiny_fused(a, b, c));
    // A subnormal sum is exact.
    with_ftz_sat!(t, ONE, lift, ["add[.rn]"], (a, b), a + b, false);
    with_ftz_sat!(t, ONE, lift, ["sub[.rn]"], (a, b), a - b, false);
    with_ftz_sat!(t, ONE, lift, ["mul[.rn]"], (a, b), a * b, tiny_product(a, b));
    with_ftz_sat!(t, FUSED, lift, ["{fma|mad}.rn"], (a, b, c), a.mul_add(b, c), tiny_fused(a, b, c));
    t.row("add[.rn].f64", ONE64, lift!((f64, f64) -> u64, |a, b| propagated(a + b, [b, a])));
    t.row("sub[.rn].f64", ONE64, lift!((f64, f64) -> u64, |a, b| propagated(a - b, [b, a])));
    t.row("mul[.rn].f64", ONE64, lift!((f64, f64) -> u64, |a, b| propagated(a * b, [b, a])));
    t.row("{fma|mad}.rn.f64", FUSED64, lift!((f64, f64, f64) -> u64, |a, b, c| propagated(a.mul_add(b, c), [b, c, a])));
}

/// Whether the product is subnormal before it is rounded; the exact product is representable in `f64`.
#[inline(always)]
fn tiny_product(a: f32, b: f32) -> bool {
    (f64::from(a) * f64::from(b)).abs() < f64::from(f32::MIN_POSITIVE)
}

/// Whether the fused result is subnormal: the sum in `f64` and its error (Knuth's TwoSum) show on which side of the
/// smallest normal number it lies.
#[inline(always)]
fn tiny_fused(a: f32, b: f32, c: f32) -> bool {
    let (product, c) = (f64::from(a) * f64::from(b), f64::from(c));
    let sum = product + c;
    let other = sum - product;
    let error = (product - (sum - other)) + (c - other);
    // A fused result is tested after rounding to 24 bits with unlimited exponent: the tie just below the smallest
    // normal number rounds to that number.
    let limit = f64::from(f32::MIN_POSITIVE) - 2.0f64.powi(-151);
    sum.abs() < limit || sum.abs() == limit && error * sum < 0.0
}

/// As `tiny_fused` for directed rounding: subnormal after rounding to 24 bits with unlimited exponent, as on an H200.
fn tiny_rounded(a: f32, b: f32, c: f32, r: Rounding) -> bool {
    const WIDE: Format = Format { precision: F32.precision, emax: F64.emax };
    const SMALLEST: u64 = ((WIDE.emax - F32.emax + 1) as u64) << (WIDE.precision - 1);
    let sum = soft::add(soft::multiply(single(a), single(b)), single(c), r);
    // The comparison excludes the sign, which precedes 11 bits of exponent.
    WIDE.pack(sum, r) & ((1 << (WIDE.precision + 10)) - 1) < SMALLEST
}

fn single(x: f32) -> Number {
    F32.unpack(u64::from(x.to_bits()))
}

fn double(x: f64) -> Number {
    F64.unpack(x.to_bits())
}

fn round32(x: Number, rounding: Rounding) -> f32 {
    f32::from_bits(F32.pack(x, rounding) as u32)
}

fn round64(x: Number, rounding: Rounding) -> f64 {
    f64::from_bits(F64.pack(x, rounding))
}

pub fn add32(a: f32, b: f32, r: Rounding) -> f32 {
    round32(soft::add(single(a), single(b), r), r)
}

pub fn fma32(a: f32, b: f32, c: f32, r: Rounding) -> f32 {
    round32(soft::add(soft::multiply(single(a), single(b)), single(c), r), r)
}

fn add64(a: f64, b: f64, r: Rounding) -> f64 {
    round64(soft::add(double(a), double(b), r), r)
}

fn fma64(a: f64, b: f64, c: f64, r: Rounding) -> f64 {
    round64(soft::add(soft::multiply(double(a), double(b)), double(c), r), r)
}

fn mul32(a: f32, b: f32, r: Rounding) -> f32 {
    round32(soft::multiply(single(a), single(b)), r)
}

fn div32(a: f32, b: f32, r: Rounding) -> f32 {
    round32(soft::divide(single(a), single(b)), r)
}

fn sqrt32(a: f32, r: Rounding) -> f32 {
    round32(soft::square_root(single(a)), r)
}

fn directed(t: &mut Table) {
    fn tiny(truncated: f32) -> bool {
        truncated.abs() < f32::MIN_POSITIVE
    }
    const RZ: Rounding = Rounding::Zero;
    macro_rules! mode {
        ($r:expr, $m:literal) => {
            with_ftz_sat!(t, ONE, lift_call, ["add.", $m], (a, b), add32(a, b, $r), false);
            with_ftz_sat!(t, ONE, lift_call, ["sub.", $m], (a, b), add32(a, -b, $r), false);
            with_ftz_sat!(t, ONE, lift_call, ["mul.", $m], (a, b), mul32(a, b, $r), tiny(mul32(a, b, RZ)));
            with_ftz_sat!(
                t, FUSED, lift_call, ["{fma|mad}.", $m], (a, b, c), fma32(a, b, c, $r), tiny_rounded(a, b, c, $r)
            );
            pairs!(t, ONE, lift_call, ["add.", $m], (a, b), add32(a, b, $r), false);
            pairs!(t, ONE, lift_call, ["sub.", $m], (a, b), add32(a, -b, $r), false);
            pairs!(t, ONE, lift_call, ["mul.", $m], (a, b), mul32(a, b, $r), tiny(mul32(a, b, RZ)));
            pairs!(t, FUSED, lift_call, ["fma.", $m], (a, b, c), fma32(a, b, c, $r), tiny_rounded(a, b, c, $r));
            with_ftz!(t, QUOTIENT, lift_call, ["div.", $m], (a, b), div32(a, b, $r), tiny(div32(a, b, RZ)));
            with_ftz!(t, QUOTIENT, lift_call, ["rcp.", $m], (a), div32(1.0, a, $r), tiny(div32(1.0, a, RZ)));
            with_ftz!(t, QUOTIENT, lift_call, ["sqrt.", $m], (a), sqrt32(a, $r), false);
            t.row(
                concat!("add.", $m, ".f64"),
                ONE64,
                lift_call!((f64, f64) -> u64, |a, b| propagated(add64(a, b, $r), [b, a])),
            );
            t.row(
                concat!("sub.", $m, ".f64"),
                ONE64,
                lift_call!((f64, f64) -> u64, |a, b| propagated(add64(a, -b, $r), [b, a])),
            );
            t.row(
                concat!("mul.", $m, ".f64"),
                ONE64,
                lift_call!((f64, f64) -> u64, |a, b| {
                    propagated(round64(soft::multiply(double(a), double(b)), $r), [b, a])
                }),
            );
            t.row(
                concat!("{fma|mad}.", $m, ".f64"),
                FUSED64,
                lift_call!((f64, f64, f64) -> u64, |a, b, c| propagated(fma64(a, b, c, $r), [b, c, a])),
            );
            t.row(
                concat!("div.", $m, ".f64"),
                QUOTIENT64,
                lift_call!((f64, f64) -> u64, |a, b| {
                    propagated(round64(soft::divide(double(a), double(b)), $r), [a, b])
                }),
            );
            t.row(
                concat!("rcp.", $m, ".f64"),
                QUOTIENT64,
                lift_call!((f64) -> u64, |a| propagated(round64(soft::divide(double(1.0), double(a)), $r), [a])),
            );
            t.row(
                concat!("sqrt.", $m, ".f64"),
                QUOTIENT64,
                lift_call!((f64) -> u64, |a| propagated(round64(soft::square_root(double(a)), $r), [a])),
            );
        };
    }
    mode!(Rounding::Zero, "rz");
    mode!(Rounding::Down, "rm");
    mode!(Rounding::Up, "rp");
}

fn quotients(t: &mut Table) {
    with_ftz!(t, QUOTIENT, lift, ["div.rn"], (a, b), a / b, tiny_quotient(a, b));
    with_ftz!(t, FULL_QUOTIENT, lift, ["div.full"], (a, b), a / b, tiny_quotient(a, b));
    with_ftz!(t, QUOTIENT, lift, ["rcp.rn"], (a), 1.0 / a, false);
    with_ftz!(t, QUOTIENT, lift, ["sqrt.rn"], (a), a.sqrt(), false);
    t.row("div.rn.f64", QUOTIENT64, lift!((f64, f64) -> u64, |a, b| propagated(a / b, [a, b])));
    t.row("rcp.rn.f64", QUOTIENT64, lift!((f64) -> u64, |a| propagated(1.0 / a, [a])));
    t.row("sqrt.rn.f64", QUOTIENT64, lift!((f64) -> u64, |a| propagated(a.sqrt(), [a])));
}

/// Whether the quotient is subnormal; the product of the divisor with the smallest normal number is exact in `f64`.
#[inline(always)]
fn tiny_quotient(a: f32, b: f32) -> bool {
    f64::from(a).abs() < f64::from(f32::MIN_POSITIVE) * f64::from(b).abs()
}

#[cfg(test)]
mod tests {
    use crate::isa::testing::{check, run};

    const ONE: u64 = 0x3f80_0000;
    const MINUS_ONE: u64 = 0xbf80_0000;
    const NAN: u64 = 0x7fff_ffff;
    const INFINITY: u64 = 0x7f80_0000;
    const ULP: u64 = 0x3300_0000; // 2^-25: a quarter of the distance from 1 to its successor

    /// Each half of a pair has the bits of the instruction on one number.
    #[test]
    fn pairs_are_two_numbers() {
        let numbers = [0, 1, ULP, ONE, MINUS_ONE, 0x0080_0000, 0x7f7f_ffff, INFINITY, 0x7fc1_2345, 0x3fff_ffff];
        for (name, operands) in [("add", 2), ("sub", 2), ("mul", 2), ("fma", 3)] {
            for modifiers in ["rn", "rz", "rm", "rp", "rn.ftz", "rz.ftz", "rm.ftz", "rp.ftz"] {
                for at in 0..numbers.len() {
                    let number = |half: usize, i: usize| numbers[(at + (3 * half + 1) * i + half) % numbers.len()];
                    let pair: Vec<u64> = (0..operands).map(|i| number(0, i) | number(1, i) << 32).collect();
                    let one = |half| {
                        let bits: Vec<u64> = (0..operands).map(|i| number(half, i)).collect();
                        run(&format!("{name}.{modifiers}.f32"), &bits)[0]
                    };
                    let expected = one(0) | one(1) << 32;
                    assert_eq!(
                        run(&format!("{name}.{modifiers}.f32x2"), &pair),
                        [expected],
                        "{name} {modifiers} {pair:x?}"
                    );
                }
            }
        }
    }

    #[test]
    fn sums_and_products() {
        check(&[
            ("add.f32", &[ONE, ONE], &[0x4000_0000]),
            ("add.rn.f32", &[ONE, ULP], &[ONE]),
            ("add.rz.f32", &[ONE, ULP], &[ONE]),
            ("add.rp.f32", &[ONE, ULP], &[ONE + 1]),
            ("add.rm.f32", &[MINUS_ONE, ULP | 1 << 31], &[MINUS_ONE + 1]),
            ("add.rm.f32", &[ONE, MINUS_ONE], &[0x8000_0000]),
            ("add.f32", &[ONE, MINUS_ONE], &[0]),
            ("add.f32", &[INFINITY, INFINITY | 1 << 31], &[NAN]),
            ("add.f32", &[0xffc1_2345, ONE], &[NAN]),
            ("sub.f32", &[ONE, ONE], &[0]),
            ("add.ftz.f32", &[1, 1], &[0]),
            ("add.f32", &[1, 1], &[2]),
            ("add.sat.f32", &[ONE, ONE], &[ONE]),
            ("add.sat.f32", &[INFINITY, INFINITY | 1 << 31], &[0]),
            ("mul.rz.f32", &[0x7f7f_ffff, 0x7f7f_ffff], &[0x7f7f_ffff]),
            ("mul.rn.f32", &[0x7f7f_ffff, 0x7f7f_ffff], &[INFINITY]),
            ("mul.ftz.f32", &[0x0080_0000, 0x3f00_0000], &[0]),
            // (1 + 2^-22)^2 - 1 = 2^-21 + 2^-44: only a fused operation keeps the second part.
            ("fma.rn.f32", &[ONE + 2, ONE + 2, MINUS_ONE], &[0x3500_0001]),
            ("mad.rn.f32", &[ONE, ONE, ONE], &[0x4000_0000]),
            ("fma.rn.f64", &[1 << 62, 0x3ff0_0000_0000_0000, 0], &[1 << 62]),
            ("add.f64", &[0x7ff0_0000_0000_0000, 0xfff0_0000_0000_0000], &[0xfff8_0000_0000_0000]),
            ("add.f64", &[0xfff0_0000_0000_0001, 0], &[0xfff8_0000_0000_0001]),
            // 0xffffff * 0.5 is subnormal before it is rounded.
            ("mul.ftz.f32", &[0x00ff_ffff, 0x3f00_0000], &[0]),
            ("mul.f32", &[0x00ff_ffff, 0x3f00_0000], &[0x0080_0000]),
            ("fma.rn.ftz.f32", &[0x00ff_ffff, 0x3f00_0000, 0], &[0]),
            // (2^-25 - 1) 2^-126 rounds down to -2^-126, which is normal, and up to a subnormal number.
            ("fma.rm.ftz.f32", &[0x0080_0000, 0x3300_0000, 0x8080_0000], &[0x8080_0000]),
            ("fma.rp.ftz.f32", &[0x0080_0000, 0x3300_0000, 0x8080_0000], &[0x8000_0000]),
            ("fma.rp.ftz.f32", &[0x8080_0000, 0x3300_0000, 0x0080_0000], &[0x0080_0000]),
            ("fma.rz.ftz.f32", &[0x0080_0000, 0x3300_0000, 0x8080_0000], &[0x8000_0000]),
        ]);
    }

    #[test]
    fn quotients_and_roots() {
        check(&[
            ("div.rn.f32", &[ONE, 0x4040_0000], &[0x3eaa_aaab]),
            ("div.rz.f32", &[ONE, 0x4040_0000], &[0x3eaa_aaaa]),
            ("div.rn.f32", &[ONE, 0x8000_0000], &[0xff80_0000]),
            ("div.full.f32", &[ONE, 0x4000_0000], &[0x3f00_0000]),
            ("rcp.rn.f32", &[0x4000_0000], &[0x3f00_0000]),
            ("sqrt.rn.f32", &[0x4000_0000], &[0x3fb5_04f3]),
            ("sqrt.rp.f32", &[0x4000_0000], &[0x3fb5_04f4]),
            ("sqrt.rn.f32", &[MINUS_ONE], &[NAN]),
            ("sqrt.rn.f32", &[0x8000_0000], &[0x8000_0000]),
            ("div.rn.f64", &[0x3ff0_0000_0000_0000, 0x4008_0000_0000_0000], &[0x3fd5_5555_5555_5555]),
            ("div.rp.f64", &[0x3ff0_0000_0000_0000, 0x4008_0000_0000_0000], &[0x3fd5_5555_5555_5556]),
        ]);
    }
}
