//! Approximate functions of `f32` and `f64`. They are computed in `f64` and rounded once, which is within PTX's error
//! bounds but not always equal to a GPU's result.

use super::facts::Latency::Special;
use super::facts::Undefined::Any;
use super::facts::Work::{F32 as Single, F64 as Double};
use super::facts::{Facts, Fidelity, facts};
use super::float::{canonical, flush, flush_tiny, propagated, with_ftz};
use super::lift::lift_call;
use super::soft::{F32, Rounding, multiply};
use super::table::Table;

/// Facts of a function of `f32` with the error bound that the PTX ISA gives.
const fn within(bound: &'static str) -> Facts {
    facts(Any, Single(1), Special, Fidelity::Approximate(bound))
}

/// Facts of a function of `f64` with the error bound that the PTX ISA gives, or if it gives none, the bound here.
const fn within64(bound: &'static str) -> Facts {
    facts(Any, Double(1), Special, Fidelity::Approximate(bound))
}

const QUOTIENT: Facts = within("2 ulp for divisors from 2^-126 to 2^126, else not specified");
const ANGLE: Facts =
    within("absolute error 2^-20.5 for angles from -2 pi to 2 pi, 2^-14.7 from -100 pi to 100 pi, else not specified");
const LOGARITHM: Facts = within("absolute error 2^-22 for operands between 1/2 and 2, else relative error 2^-22");
const UPPER: Facts = within64("not specified; here the upper 32 bits of the result for the operand's upper 32 bits");

/// Adds this chapter's rows.
pub fn list(t: &mut Table) {
    with_ftz!(t, QUOTIENT, lift_call, ["div.approx"], (a, b), divide(a, b), false);
    with_ftz!(t, within("1 ulp"), lift_call, ["rcp.approx"], (a), 1.0 / a, false);
    with_ftz!(t, within("relative error 2^-23"), lift_call, ["sqrt.approx"], (a), a.sqrt(), false);
    with_ftz!(
        t,
        within("relative error 2^-22.9"),
        lift_call,
        ["rsqrt.approx"],
        (a),
        (1.0 / f64::from(a).sqrt()) as f32,
        false
    );
    with_ftz!(t, within("2 ulp"), lift_call, ["ex2.approx"], (a), f64::from(a).exp2() as f32, false);
    with_ftz!(t, LOGARITHM, lift_call, ["lg2.approx"], (a), f64::from(a).log2() as f32, false);
    with_ftz!(t, ANGLE, lift_call, ["sin.approx"], (a), turns(a).sin() as f32, false);
    with_ftz!(t, ANGLE, lift_call, ["cos.approx"], (a), turns(a).cos() as f32, false);
    t.row(
        "tanh.approx.f32",
        within("relative error 2^-11"),
        lift_call!((f32) -> u32, |a| canonical(f64::from(a).tanh() as f32)),
    );
    t.row("rcp.approx.ftz.f64", UPPER, lift_call!((f64) -> u64, |a| upper_bits(1.0 / flush64(upper(a)))));
    t.row("rsqrt.approx.ftz.f64", UPPER, lift_call!((f64) -> u64, |a| upper_bits(1.0 / flush64(upper(a)).sqrt())));
    t.row(
        "rsqrt.approx.f64",
        within64("not specified; here within 2 ulp"),
        lift_call!((f64) -> u64, |a| propagated(1.0 / a.sqrt(), [a])),
    );
}

/// For divisors above 2^126 the hardware multiplies by a reciprocal that is zero.
fn divide(a: f32, b: f32) -> f32 {
    let limit = f32::from_bits(0x7e80_0000);
    if b.abs() > limit && b.is_finite() {
        return if a.is_infinite() || a.is_nan() { f32::NAN } else { 0.0f32.copysign(a) * 1.0f32.copysign(b) };
    }
    a / b
}

/// Keeps the upper half of the bits, the only part that these instructions read.
fn upper(x: f64) -> f64 {
    f64::from_bits(x.to_bits() >> 32 << 32)
}

/// Rounds to the upper half of the bits, the only part that these instructions write.
fn upper_bits(x: f64) -> u64 {
    if x.is_nan() {
        return 0x7fff_ffff << 32;
    }
    let bits = x.to_bits() >> 32 << 32;
    // `.ftz`
    if bits & 0x7ff0_0000_0000_0000 == 0 { bits & 1 << 63 } else { bits }
}

/// GPUs reduce an angle by multiplying it by 1 / (2 pi) in `f32`, which loses the precision of large angles.
fn turns(angle: f32) -> f64 {
    let unpack = |x: f32| F32.unpack(u64::from(x.to_bits()));
    let product = multiply(unpack(angle), unpack(std::f32::consts::FRAC_1_PI / 2.0));
    let turns = f64::from(f32::from_bits(F32.pack(product, Rounding::Zero) as u32));
    // The result has the sign of the angle: the sine of -0 is -0.
    turns % 1.0 * std::f64::consts::TAU
}

fn flush64(x: f64) -> f64 {
    if x.abs() < f64::MIN_POSITIVE { 0.0f64.copysign(x) } else { x }
}

#[cfg(test)]
mod tests {
    use crate::isa::testing::{check, run};

    /// The tables "Input, Result" of the PTX ISA.
    #[test]
    fn documented_special_values() {
        const INFINITY: u64 = 0x7f80_0000;
        const MINUS: u64 = 1 << 31;
        const NAN: u64 = 0x7fff_ffff;
        const ONE: u64 = 0x3f80_0000;
        // Results for -infinity, -0, +0, +infinity and NaN.
        let inputs = [MINUS | INFINITY, MINUS, 0, INFINITY, 0xffc0_1234];
        for (name, results) in [
            ("rcp", [MINUS, MINUS | INFINITY, INFINITY, 0, NAN]),
            ("sqrt", [NAN, MINUS, 0, INFINITY, NAN]),
            ("rsqrt", [NAN, MINUS | INFINITY, INFINITY, 0, NAN]),
            ("sin", [NAN, MINUS, 0, NAN, NAN]),
            ("cos", [NAN, ONE, ONE, NAN, NAN]),
            ("lg2", [NAN, MINUS | INFINITY, MINUS | INFINITY, INFINITY, NAN]),
            ("ex2", [0, ONE, ONE, INFINITY, NAN]),
            ("tanh", [MINUS | ONE, MINUS, 0, ONE, NAN]),
        ] {
            for modifiers in ["approx", "approx.ftz"] {
                let opcode = format!("{name}.{modifiers}.f32");
                for (input, result) in inputs.into_iter().zip(results) {
                    if opcode != "tanh.approx.ftz.f32" {
                        assert_eq!(run(&opcode, &[input]), [result], "{opcode} of {input:x}");
                    }
                }
            }
        }
        // The root of a negative number, and the effect of `.ftz` on subnormal numbers.
        check(&[
            ("sqrt.approx.f32", &[MINUS | ONE], &[NAN]),
            ("rsqrt.approx.f32", &[MINUS | ONE], &[NAN]),
            ("lg2.approx.f32", &[MINUS | ONE], &[NAN]),
            ("rcp.approx.ftz.f32", &[MINUS | 1], &[MINUS | INFINITY]),
            ("rcp.approx.ftz.f32", &[0x7f00_0000], &[0]),
            ("sqrt.approx.ftz.f32", &[1], &[0]),
            ("rsqrt.approx.ftz.f32", &[MINUS | 1], &[MINUS | INFINITY]),
            ("lg2.approx.ftz.f32", &[MINUS | 1], &[MINUS | INFINITY]),
            ("sin.approx.ftz.f32", &[MINUS | 1], &[MINUS]),
            ("tanh.approx.f32", &[MINUS | 1], &[MINUS | 1]),
            ("div.approx.f32", &[INFINITY, 0x7f00_0000], &[NAN]),
            ("div.approx.f32", &[MINUS | ONE, 0x7f00_0000], &[MINUS]),
            ("ex2.approx.f16", &[0xfc00], &[0]),
            ("ex2.approx.f16", &[0x8000], &[0x3c00]),
            ("ex2.approx.f16", &[0x7c00], &[0x7c00]),
            ("ex2.approx.f16", &[0xfe00], &[0x7fff]),
            ("ex2.approx.ftz.bf16", &[0xff80], &[0]),
            ("ex2.approx.ftz.bf16", &[0x8001], &[0x3f80]),
            ("ex2.approx.ftz.bf16", &[0x7f80], &[0x7f80]),
            ("tanh.approx.f16", &[0xfc00], &[0xbc00]),
            ("tanh.approx.f16", &[0x8001], &[0x8001]),
            ("tanh.approx.bf16", &[0x7f80], &[0x3f80]),
            ("tanh.approx.bf16", &[0x8000], &[0x8000]),
        ]);
        const NAN64: u64 = 0x7fff_ffff << 32;
        const INFINITY64: u64 = 0x7ff << 52;
        check(&[
            ("rcp.approx.ftz.f64", &[1 << 63 | INFINITY64], &[1 << 63]),
            ("rcp.approx.ftz.f64", &[1 << 63 | 1 << 51], &[1 << 63 | INFINITY64]),
            ("rcp.approx.ftz.f64", &[INFINITY64 | 1 << 51], &[NAN64]),
            // The lower half is not read.
            ("rcp.approx.ftz.f64", &[INFINITY64 | 1], &[0]),
            ("rsqrt.approx.ftz.f64", &[1 << 63 | INFINITY64], &[NAN64]),
            ("rsqrt.approx.ftz.f64", &[1 << 63 | 1], &[1 << 63 | INFINITY64]),
            ("rsqrt.approx.ftz.f64", &[1 << 51], &[INFINITY64]),
            ("rsqrt.approx.ftz.f64", &[INFINITY64], &[0]),
        ]);
    }

    #[test]
    fn exact_results_are_exact() {
        check(&[
            ("rcp.approx.f32", &[0x4000_0000], &[0x3f00_0000]),
            ("sqrt.approx.f32", &[0x4080_0000], &[0x4000_0000]),
            ("rsqrt.approx.ftz.f32", &[0x4080_0000], &[0x3f00_0000]),
            ("rsqrt.approx.f32", &[0], &[0x7f80_0000]),
            ("rsqrt.approx.f32", &[0x8000_0000], &[0xff80_0000]),
            ("ex2.approx.f32", &[0x4040_0000], &[0x4100_0000]),
            ("ex2.approx.ftz.f32", &[0xc316_0000], &[0]),
            ("lg2.approx.f32", &[0x4100_0000], &[0x4040_0000]),
            ("lg2.approx.f32", &[0xbf80_0000], &[0x7fff_ffff]),
            ("sin.approx.f32", &[0], &[0]),
            ("cos.approx.f32", &[0], &[0x3f80_0000]),
            ("tanh.approx.f32", &[0x7f80_0000], &[0x3f80_0000]),
            ("div.approx.f32", &[0x3f80_0000, 0x7f00_0000], &[0]),
            ("rcp.approx.ftz.f64", &[0x4000_0000_0000_0000], &[0x3fe0_0000_0000_0000]),
        ]);
    }
}
