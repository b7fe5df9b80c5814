//! Arithmetic on `f32` with `f16` and `bf16` operands, and minima and maxima of three numbers. PTX ISA, "Mixed
//! Precision Floating Point Instructions" and "min", "max".

use super::facts::{Facts, Fidelity, Latency, Undefined, Work, facts};
use super::float::{ONE, add32, canonical, flush, fma32, saturate};
use super::half::{bfloat_to_f32, half_to_f32};
use super::lift::{lift, lift_call};
use super::soft::Rounding;
use super::table::Table;

const FUSED: Facts = facts(Undefined::Any, Work::F32(2), Latency::Alu, Fidelity::Exact);

/// Adds this chapter's rows.
pub fn list(t: &mut Table) {
    mixed(t);
    of_three(t);
}

/// The narrow operands are converted, which is exact, before the operation on `f32`.
fn mixed(t: &mut Table) {
    macro_rules! modes {
        ($n:literal, $widen:ident) => {
            modes!(@ $n, $widen, "[.rn]", ".rn", Rounding::NearestEven);
            modes!(@ $n, $widen, ".rz", ".rz", Rounding::Zero);
            modes!(@ $n, $widen, ".rm", ".rm", Rounding::Down);
            modes!(@ $n, $widen, ".rp", ".rp", Rounding::Up);
        };
        (@ $n:literal, $widen:ident, $m:literal, $fused:literal, $r:expr) => {
            modes!(@@ $n, $widen, $m, $fused, $r, "", canonical);
            modes!(@@ $n, $widen, $m, $fused, $r, ".sat", saturate);
        };
        (@@ $n:literal, $widen:ident, $m:literal, $fused:literal, $r:expr, $sat:literal, $after:ident) => {
            t.row(
                concat!("add", $m, $sat, ".f32.", $n),
                ONE,
                lift_call!((u16, f32) -> u32, |a, c| $after(add32($widen(a), c, $r))),
            );
            t.row(
                concat!("sub", $m, $sat, ".f32.", $n),
                ONE,
                lift_call!((u16, f32) -> u32, |a, c| $after(add32($widen(a), -c, $r))),
            );
            t.row(
                concat!("fma", $fused, $sat, ".f32.", $n),
                FUSED,
                lift_call!((u16, u16, f32) -> u32, |a, b, c| $after(fma32($widen(a), $widen(b), c, $r))),
            );
        };
    }
    modes!("f16", half_to_f32);
    modes!("bf16", bfloat_to_f32);
}

fn smaller(a: f32, b: f32) -> f32 {
    if a < b || b.is_nan() || a == b && a.is_sign_negative() { a } else { b }
}

fn larger(a: f32, b: f32) -> f32 {
    if a > b || b.is_nan() || a == b && a.is_sign_positive() { a } else { b }
}

/// Rows `min3` and `max3`, which stand for `min` and `max` with three operands.
fn of_three(t: &mut Table) {
    macro_rules! variants {
        ($name:literal, $f:ident) => {
            variants!(@ $name, "", $f, |x: f32| x);
            variants!(@ $name, ".abs", $f, |x: f32| x.abs());
            variants!(@ $name, ".ftz", $f, flush);
            variants!(@ $name, ".ftz.abs", $f, |x: f32| flush(x.abs()));
        };
        (@ $name:literal, $m:literal, $f:ident, $before:expr) => {
            t.row(
                concat!($name, $m, ".f32"),
                ONE,
                lift!((f32, f32, f32) -> u32, |a, b, c| canonical($f($f($before(a), $before(b)), $before(c)))),
            );
            t.row(
                concat!($name, $m, ".NaN.f32"),
                ONE,
                lift!((f32, f32, f32) -> u32, |a, b, c| {
                    let nan = a.is_nan() || b.is_nan() || c.is_nan();
                    if nan { 0x7fff_ffff } else { $f($f($before(a), $before(b)), $before(c)).to_bits() }
                }),
            );
        };
    }
    variants!("min3", smaller);
    variants!("max3", larger);
}

#[cfg(test)]
mod tests {
    use crate::isa::testing::check;

    const ONE: u64 = 0x3f80_0000;
    const NAN: u64 = 0x7fff_ffff;

    #[test]
    fn narrow_operands_are_converted() {
        check(&[
            ("add.f32.f16", &[0x3c00, ONE], &[0x4000_0000]),
            ("sub.rn.f32.bf16", &[0x3f80, ONE], &[0]),
            ("sub.rm.f32.bf16", &[0x3f80, ONE], &[0x8000_0000]),
            // 1 + 2^-25 is between 1 and its successor.
            ("add.rp.f32.f16", &[0x3c00, 0x3300_0000], &[ONE + 1]),
            ("add.rz.f32.f16", &[0x3c00, 0x3300_0000], &[ONE]),
            ("add.sat.f32.f16", &[0x3c00, ONE], &[ONE]),
            ("add.f32.f16", &[0x7e00, ONE], &[NAN]),
            // The smallest `f16` is a normal `f32`.
            ("add.f32.f16", &[0x0001, 0], &[0x3380_0000]),
            ("fma.rn.f32.f16", &[0x4000, 0x4200, ONE], &[0x40e0_0000]),
            ("fma.rz.sat.f32.bf16", &[0xbf80, 0x3f80, 0], &[0]),
        ]);
    }

    #[test]
    fn extremes_of_three() {
        check(&[
            ("min3.f32", &[ONE, 0xbf80_0000, 0], &[0xbf80_0000]),
            ("max3.abs.f32", &[ONE, 0xc000_0000, 0], &[0x4000_0000]),
            ("min3.f32", &[NAN, NAN, ONE], &[ONE]),
            ("min3.f32", &[NAN, NAN, NAN], &[NAN]),
            ("min3.NaN.f32", &[ONE, NAN, ONE], &[NAN]),
            ("min3.f32", &[0, 0x8000_0000, 0], &[0x8000_0000]),
            ("max3.ftz.f32", &[1, 2, 0], &[0]),
        ]);
    }
}
