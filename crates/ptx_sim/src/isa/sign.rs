//! Signs, minimum, maximum and classification of `f32` and `f64`. PTX ISA, "Floating Point Instructions".

use super::facts::Fidelity::Exact;
use super::facts::Latency::Alu;
use super::facts::Undefined::Any;
use super::facts::{Facts, Work, facts};
use super::float::{ONE, ONE64, canonical, flush, flush_tiny, is_nan64, propagated, quiet64, with_ftz};
use super::lift::lift;
use super::table::Table;

/// Facts of an instruction that inspects or changes bits of a number, which is not counted as arithmetic.
const INSPECTED: Facts = facts(Any, Work::None, Alu, Exact);

/// Adds this chapter's rows.
pub fn list(t: &mut Table) {
    signs(t);
    extremes(t);
    kinds(t);
}

fn signs(t: &mut Table) {
    t.row("neg.f32", INSPECTED, lift!((f32) -> u32, |a| canonical(-a)));
    t.row("abs.f32", INSPECTED, lift!((f32) -> u32, |a| canonical(a.abs())));
    t.row("neg.ftz.f32", INSPECTED, lift!((f32) -> u32, |a| canonical(flush(-a))));
    t.row("abs.ftz.f32", INSPECTED, lift!((f32) -> u32, |a| canonical(flush(a.abs()))));
    t.row("neg.f64", INSPECTED, lift!((u64) -> u64, |a| if is_nan64(a) { quiet64(a) } else { a ^ 1 << 63 }));
    t.row("abs.f64", INSPECTED, lift!((u64) -> u64, |a| if is_nan64(a) { quiet64(a) } else { a & !(1 << 63) }));
    // The first operand gives the sign.
    t.row("copysign.f32", INSPECTED, lift!((u32, u32) -> u32, |a, b| a & 1 << 31 | b & !(1 << 31)));
    t.row("copysign.f64", INSPECTED, lift!((u64, u64) -> u64, |a, b| a & 1 << 63 | b & !(1 << 63)));
}

/// Adds `min` and `max`: IEEE 754-2008 `minNum` with -0 below +0, and `.NaN` variants that keep NaN.
fn extremes(t: &mut Table) {
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
    t.row("min.f64", ONE64, lift!((f64, f64) -> u64, |a, b| propagated(smaller!(f64, a, b), [b, a])));
    t.row("max.f64", ONE64, lift!((f64, f64) -> u64, |a, b| propagated(larger!(f64, a, b), [b, a])));
    macro_rules! variants {
        ($name:literal, $f:ident) => {
            with_ftz!(t, ONE, lift, [$name], (a, b), $f!(f32, a, b), false);
            with_ftz!(t, ONE, lift, [$name, ".xorsign.abs"], (a, b), {
                let sign = (a.to_bits() ^ b.to_bits()) & 1 << 31;
                let (x, y) = (a.abs(), b.abs());
                f32::from_bits($f!(f32, x, y).to_bits() | sign)
            }, false);
            t.row(concat!($name, ".NaN.f32"), ONE, lift!((f32, f32) -> u32, |a, b| {
                if a.is_nan() || b.is_nan() { 0x7fff_ffff } else { $f!(f32, a, b).to_bits() }
            }));
            t.row(concat!($name, ".ftz.NaN.f32"), ONE, lift!((f32, f32) -> u32, |a, b| {
                let (a, b) = (flush(a), flush(b));
                if a.is_nan() || b.is_nan() { 0x7fff_ffff } else { $f!(f32, a, b).to_bits() }
            }));
        };
    }
    variants!("min", smaller);
    variants!("max", larger);
}

fn kinds(t: &mut Table) {
    macro_rules! kind {
        ($t:ty, $n:literal) => {
            t.row(concat!("testp.finite.", $n), INSPECTED, lift!(($t) -> bool, |a| a.is_finite()));
            t.row(concat!("testp.infinite.", $n), INSPECTED, lift!(($t) -> bool, |a| a.is_infinite()));
            t.row(concat!("testp.number.", $n), INSPECTED, lift!(($t) -> bool, |a| !a.is_nan()));
            t.row(concat!("testp.notanumber.", $n), INSPECTED, lift!(($t) -> bool, |a| a.is_nan()));
            t.row(concat!("testp.normal.", $n), INSPECTED, lift!(($t) -> bool, |a| a.is_finite() && !a.is_subnormal()));
            t.row(concat!("testp.subnormal.", $n), INSPECTED, lift!(($t) -> bool, |a| a.is_subnormal()));
        };
    }
    kind!(f32, "f32");
    kind!(f64, "f64");
}

#[cfg(test)]
mod tests {
    use crate::isa::testing::check;

    const MINUS_ONE: u64 = 0xbf80_0000;
    const NAN: u64 = 0x7fff_ffff;
    const ONE: u64 = 0x3f80_0000;

    #[test]
    fn signs_and_extremes() {
        check(&[
            ("neg.f32", &[0], &[0x8000_0000]),
            ("abs.f64", &[1 << 63], &[0]),
            ("copysign.f32", &[0x8000_0000, ONE], &[MINUS_ONE]),
            ("min.f32", &[NAN, ONE], &[ONE]),
            ("min.f32", &[ONE, NAN], &[ONE]),
            ("max.f32", &[NAN, NAN], &[NAN]),
            ("min.NaN.f32", &[NAN, ONE], &[NAN]),
            ("min.f32", &[0, 0x8000_0000], &[0x8000_0000]),
            ("min.f32", &[0x8000_0000, 0], &[0x8000_0000]),
            ("max.f32", &[0, 0x8000_0000], &[0]),
            ("max.f32", &[0x8000_0000, 0], &[0]),
            ("max.ftz.f32", &[1, 0x8000_0000], &[0]),
            ("max.xorsign.abs.f32", &[MINUS_ONE, 0x4000_0000], &[0xc000_0000]),
            ("max.f64", &[0x7ff8_0000_0000_0000, 5], &[5]),
            ("testp.subnormal.f32", &[1], &[1]),
            ("testp.notanumber.f32", &[NAN], &[1]),
        ]);
    }
}
