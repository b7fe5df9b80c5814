//! `f32` and `f64` arithmetic. PTX ISA, "Floating Point Instructions".
//!
//! `.rn` is the processor's own arithmetic; other roundings go through [`soft`]. Every `f32` NaN is the canonical one.

use super::lift::{lift, lift_call};
use super::soft::{self, F32, F64, Number, Rounding};
use super::table::Table;

/// Adds this chapter's rows.
pub fn list(t: &mut Table) {
    arithmetic(t);
    directed(t);
    quotients(t);
    signs(t);
    extremes(t);
    kinds(t);
}

/// The one NaN that PTX gives for every `f32` operation that has a NaN as result.
#[inline(always)]
pub fn canonical(x: f32) -> f32 {
    if x.is_nan() { f32::from_bits(0x7fff_ffff) } else { x }
}

/// The NaN of `f64` operations.
#[inline(always)]
pub fn canonical64(x: f64) -> f64 {
    if x.is_nan() { f64::from_bits(0x7fff_ffff_ffff_ffff) } else { x }
}

/// `.ftz`: subnormal numbers are zeros of their sign.
#[inline(always)]
pub fn flush(x: f32) -> f32 {
    if x.abs() < f32::MIN_POSITIVE { f32::from_bits(x.to_bits() & 1 << 31) } else { x }
}

/// `.sat`: between 0 and 1; NaN and -0 are 0.
#[inline(always)]
pub fn saturate(x: f32) -> f32 {
    if x > 0.0 { if x < 1.0 { x } else { 1.0 } } else { 0.0 }
}

/// Rows of an `f32` instruction without modifiers and with `.ftz`.
macro_rules! with_ftz {
    ($t:ident, $lift:ident, [$($name:literal),*], ($($x:ident),*), $value:expr) => {
        $t.row(concat!($($name,)* ".f32"), $lift!(($(with_ftz!(@f32 $x)),*) -> f32, |$($x),*| canonical($value)));
        $t.row(
            concat!($($name,)* ".ftz.f32"),
            $lift!(($(with_ftz!(@f32 $x)),*) -> f32, |$($x),*| { $(let $x = flush($x);)* canonical(flush($value)) }),
        );
    };
    (@f32 $x:ident) => { f32 };
}
pub(super) use with_ftz;

/// The same, and both with `.sat`.
macro_rules! with_ftz_sat {
    ($t:ident, $lift:ident, [$($name:literal),*], ($($x:ident),*), $value:expr) => {
        with_ftz!($t, $lift, [$($name),*], ($($x),*), $value);
        $t.row(concat!($($name,)* ".sat.f32"), $lift!(($(with_ftz!(@f32 $x)),*) -> f32, |$($x),*| saturate($value)));
        $t.row(
            concat!($($name,)* ".ftz.sat.f32"),
            $lift!(($(with_ftz!(@f32 $x)),*) -> f32, |$($x),*| { $(let $x = flush($x);)* saturate(flush($value)) }),
        );
    };
}

fn arithmetic(t: &mut Table) {
    with_ftz_sat!(t, lift, ["add[.rn]"], (a, b), a + b);
    with_ftz_sat!(t, lift, ["sub[.rn]"], (a, b), a - b);
    with_ftz_sat!(t, lift, ["mul[.rn]"], (a, b), a * b);
    with_ftz_sat!(t, lift, ["{fma|mad}.rn"], (a, b, c), a.mul_add(b, c));
    t.row("add[.rn].f64", lift!((f64, f64) -> f64, |a, b| canonical64(a + b)));
    t.row("sub[.rn].f64", lift!((f64, f64) -> f64, |a, b| canonical64(a - b)));
    t.row("mul[.rn].f64", lift!((f64, f64) -> f64, |a, b| canonical64(a * b)));
    t.row("{fma|mad}.rn.f64", lift!((f64, f64, f64) -> f64, |a, b, c| canonical64(a.mul_add(b, c))));
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
    canonical64(f64::from_bits(F64.pack(x, rounding)))
}

fn add32(a: f32, b: f32, r: Rounding) -> f32 {
    round32(soft::add(single(a), single(b), r), r)
}

fn fma32(a: f32, b: f32, c: f32, r: Rounding) -> f32 {
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
    macro_rules! mode {
        ($r:expr, $m:literal) => {
            with_ftz_sat!(t, lift_call, ["add.", $m], (a, b), add32(a, b, $r));
            with_ftz_sat!(t, lift_call, ["sub.", $m], (a, b), add32(a, -b, $r));
            with_ftz_sat!(t, lift_call, ["mul.", $m], (a, b), mul32(a, b, $r));
            with_ftz_sat!(t, lift_call, ["{fma|mad}.", $m], (a, b, c), fma32(a, b, c, $r));
            with_ftz!(t, lift_call, ["div.", $m], (a, b), div32(a, b, $r));
            with_ftz!(t, lift_call, ["rcp.", $m], (a), div32(1.0, a, $r));
            with_ftz!(t, lift_call, ["sqrt.", $m], (a), sqrt32(a, $r));
            t.row(concat!("add.", $m, ".f64"), lift_call!((f64, f64) -> f64, |a, b| add64(a, b, $r)));
            t.row(concat!("sub.", $m, ".f64"), lift_call!((f64, f64) -> f64, |a, b| add64(a, -b, $r)));
            t.row(
                concat!("mul.", $m, ".f64"),
                lift_call!((f64, f64) -> f64, |a, b| round64(soft::multiply(double(a), double(b)), $r)),
            );
            t.row(concat!("{fma|mad}.", $m, ".f64"), lift_call!((f64, f64, f64) -> f64, |a, b, c| fma64(a, b, c, $r)));
            t.row(
                concat!("div.", $m, ".f64"),
                lift_call!((f64, f64) -> f64, |a, b| round64(soft::divide(double(a), double(b)), $r)),
            );
            t.row(
                concat!("rcp.", $m, ".f64"),
                lift_call!((f64) -> f64, |a| round64(soft::divide(double(1.0), double(a)), $r)),
            );
            t.row(concat!("sqrt.", $m, ".f64"), lift_call!((f64) -> f64, |a| round64(soft::square_root(double(a)), $r)));
        };
    }
    mode!(Rounding::Zero, "rz");
    mode!(Rounding::Down, "rm");
    mode!(Rounding::Up, "rp");
}

fn quotients(t: &mut Table) {
    with_ftz!(t, lift, ["div.{rn|full}"], (a, b), a / b);
    with_ftz!(t, lift, ["rcp.rn"], (a), 1.0 / a);
    with_ftz!(t, lift, ["sqrt.rn"], (a), a.sqrt());
    t.row("div.rn.f64", lift!((f64, f64) -> f64, |a, b| canonical64(a / b)));
    t.row("rcp.rn.f64", lift!((f64) -> f64, |a| canonical64(1.0 / a)));
    t.row("sqrt.rn.f64", lift!((f64) -> f64, |a| canonical64(a.sqrt())));
}

fn signs(t: &mut Table) {
    t.row("neg.f32", lift!((f32) -> f32, |a| canonical(-a)));
    t.row("abs.f32", lift!((f32) -> f32, |a| canonical(a.abs())));
    t.row("neg.ftz.f32", lift!((f32) -> f32, |a| canonical(flush(-a))));
    t.row("abs.ftz.f32", lift!((f32) -> f32, |a| canonical(flush(a.abs()))));
    t.row("neg.f64", lift!((f64) -> f64, |a| -a));
    t.row("abs.f64", lift!((f64) -> f64, |a| a.abs()));
    // The sign comes from the first operand.
    t.row("copysign.f32", lift!((u32, u32) -> f32, |a, b| f32::from_bits(a & 1 << 31 | b & !(1 << 31))));
    t.row("copysign.f64", lift!((u64, u64) -> f64, |a, b| f64::from_bits(a & 1 << 63 | b & !(1 << 63))));
}

/// IEEE 754-2008 `minNum` with -0 below +0, and `.NaN` variants that keep NaN.
fn extremes(t: &mut Table) {
    macro_rules! extreme {
        ($name:literal, $f:ident, $t:ty, $n:literal, $canonical:ident) => {
            t.row(concat!($name, ".", $n), lift!(($t, $t) -> $t, |a, b| $canonical($f!($t, a, b))));
        };
    }
    macro_rules! smaller {
        ($t:ty, $a:expr, $b:expr) => {
            if $a < $b || $b.is_nan() || $a == $b && $a.is_sign_negative() { $a } else { $b }
        };
    }
    macro_rules! larger {
        ($t:ty, $a:expr, $b:expr) => {
            if $a > $b || $b.is_nan() || $a == $b && $a.is_sign_positive() { $a } else { $b }
        };
    }
    extreme!("min", smaller, f64, "f64", canonical64);
    extreme!("max", larger, f64, "f64", canonical64);
    macro_rules! variants {
        ($name:literal, $f:ident) => {
            with_ftz!(t, lift, [$name], (a, b), $f!(f32, a, b));
            with_ftz!(t, lift, [$name, ".xorsign.abs"], (a, b), {
                let sign = (a.to_bits() ^ b.to_bits()) & 1 << 31;
                let (x, y) = (a.abs(), b.abs());
                f32::from_bits($f!(f32, x, y).to_bits() | sign)
            });
            t.row(concat!($name, ".NaN.f32"), lift!((f32, f32) -> f32, |a, b| {
                if a.is_nan() || b.is_nan() { canonical(f32::NAN) } else { $f!(f32, a, b) }
            }));
            t.row(concat!($name, ".ftz.NaN.f32"), lift!((f32, f32) -> f32, |a, b| {
                let (a, b) = (flush(a), flush(b));
                if a.is_nan() || b.is_nan() { canonical(f32::NAN) } else { $f!(f32, a, b) }
            }));
        };
    }
    variants!("min", smaller);
    variants!("max", larger);
}

fn kinds(t: &mut Table) {
    macro_rules! kind {
        ($t:ty, $n:literal) => {
            t.row(concat!("testp.finite.", $n), lift!(($t) -> bool, |a| a.is_finite()));
            t.row(concat!("testp.infinite.", $n), lift!(($t) -> bool, |a| a.is_infinite()));
            t.row(concat!("testp.number.", $n), lift!(($t) -> bool, |a| !a.is_nan()));
            t.row(concat!("testp.notanumber.", $n), lift!(($t) -> bool, |a| a.is_nan()));
            t.row(concat!("testp.normal.", $n), lift!(($t) -> bool, |a| a.is_normal()));
            t.row(concat!("testp.subnormal.", $n), lift!(($t) -> bool, |a| a.is_subnormal()));
        };
    }
    kind!(f32, "f32");
    kind!(f64, "f64");
}
