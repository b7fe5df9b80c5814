//! `cvt` between floating-point types, and rounding to integral floating-point numbers.

use super::{CONVERTED, pack, packed};
use crate::isa::float::{canonical, flush, propagated, saturate};
use crate::isa::half::{bfloat_to_f32, half_to_f32, relu, saturate_half};
use crate::isa::lift::{lift, lift_call};
use crate::isa::soft::{BF16, F16, F32, Format, Rounding, TF32};
use crate::isa::table::Table;

/// Adds these rows.
pub fn list(t: &mut Table) {
    between_floats(t);
    to_integral(t);
    halves(t);
}

/// `f64` conversions keep as much of a NaN's payload as fits, and make the NaN quiet.
fn widen(a: f32) -> u64 {
    let bits = u64::from(a.to_bits());
    if a.is_nan() {
        (bits >> 31) << 63 | 0x7ff8_0000_0000_0000 | (bits & 0x7f_ffff) << 29
    } else {
        f64::from(a).to_bits()
    }
}

fn narrow(format: Format, a: f64, rounding: Rounding) -> u64 {
    if !a.is_nan() {
        return pack(format, a, rounding);
    }
    let bits = a.to_bits() | 0x0008_0000_0000_0000;
    let kept = format.precision - 1;
    let exponent = u64::try_from(2 * format.emax + 1).unwrap_or_default();
    let sign = (bits >> 63) << (kept + (exponent + 1).trailing_zeros());
    sign | exponent << kept | (bits & 0x000f_ffff_ffff_ffff) >> (52 - kept)
}

fn between_floats(t: &mut Table) {
    t.row("cvt.f64.f32", CONVERTED, lift!((f32) -> u64, widen));
    t.row("cvt.ftz.f64.f32", CONVERTED, lift!((f32) -> u64, |a| widen(f32::from_bits(canonical(flush(a))))));
    t.row("cvt.f32.f32", CONVERTED, lift!((u32) -> u32, |a| a));
    t.row("cvt.ftz.f32.f32", CONVERTED, lift!((f32) -> u32, |a| canonical(flush(a))));
    t.row("cvt.sat.f32.f32", CONVERTED, lift!((f32) -> u32, saturate));
    t.row("cvt.ftz.sat.f32.f32", CONVERTED, lift!((f32) -> u32, |a| saturate(flush(a))));
    t.row("cvt.f64.f64", CONVERTED, lift!((u64) -> u64, |a| a));
    t.row("cvt.rn.f32.f64", CONVERTED, lift!((f64) -> u32, nearest32));
    t.row(
        "cvt.rn.ftz.f32.f64",
        CONVERTED,
        lift!((f64) -> u32, |a| {
            let bits = nearest32(a);
            if bits & 0x7f80_0000 == 0 { bits & 1 << 31 } else { bits }
        }),
    );
    t.row("cvt.rn.sat.f32.f64", CONVERTED, lift!((f64) -> u32, |a| saturate(a as f32)));
    macro_rules! mode {
        ($m:literal, $r:expr) => {
            t.row(concat!("cvt.", $m, ".f32.f64"), CONVERTED, lift_call!((f64) -> u32, |a| narrow(F32, a, $r) as u32));
            t.row(
                concat!("cvt.", $m, ".ftz.f32.f64"),
                CONVERTED,
                lift_call!((f64) -> u32, |a| {
                    let bits = narrow(F32, a, $r) as u32;
                    if bits & 0x7f80_0000 == 0 { bits & 1 << 31 } else { bits }
                }),
            );
        };
    }
    mode!("rz", Rounding::Zero);
    mode!("rm", Rounding::Down);
    mode!("rp", Rounding::Up);
    t.row("cvt.f32.f16", CONVERTED, lift!((u16) -> u32, |a| canonical(half_to_f32(a))));
    t.row("cvt.ftz.f32.f16", CONVERTED, lift!((u16) -> u32, |a| canonical(half_to_f32(a))));
    t.row("cvt.f64.f16", CONVERTED, lift!((u16) -> u64, |a| widen(half_to_f32(a))));
    t.row("cvt.f32.bf16", CONVERTED, lift!((u16) -> u32, |a| u32::from(a) << 16));
    t.row("cvt.ftz.f32.bf16", CONVERTED, lift!((u16) -> u32, |a| canonical(flush(bfloat_to_f32(a)))));
    t.row("cvt.f64.bf16", CONVERTED, lift!((u16) -> u64, |a| widen(bfloat_to_f32(a))));
}

#[inline(always)]
fn nearest32(a: f64) -> u32 {
    let bits = a.to_bits();
    let nan = ((bits >> 63) as u32) << 31 | 0x7fc0_0000 | (bits >> 29) as u32 & 0x3f_ffff;
    if a.is_nan() { nan } else { (a as f32).to_bits() }
}

/// Rounding to integral floating-point numbers.
fn to_integral(t: &mut Table) {
    macro_rules! mode {
        ($m:literal, $f:ident) => {
            t.row(concat!("cvt.", $m, ".f32.f32"), CONVERTED, lift_call!((f32) -> u32, |a| canonical(a.$f())));
            t.row(
                concat!("cvt.", $m, ".ftz.f32.f32"),
                CONVERTED,
                lift_call!((f32) -> u32, |a| canonical(flush(a).$f())),
            );
            t.row(concat!("cvt.", $m, ".sat.f32.f32"), CONVERTED, lift_call!((f32) -> u32, |a| saturate(a.$f())));
            t.row(
                concat!("cvt.", $m, ".ftz.sat.f32.f32"),
                CONVERTED,
                lift_call!((f32) -> u32, |a| saturate(flush(a).$f())),
            );
            t.row(concat!("cvt.", $m, ".f64.f64"), CONVERTED, lift_call!((f64) -> u64, |a| propagated(a.$f(), [a])));
            t.row(
                concat!("cvt.", $m, ".f16.f16"),
                CONVERTED,
                lift_call!((u16) -> u16, |a| pack(F16, f64::from(half_to_f32(a).$f()), Rounding::NearestEven) as u16),
            );
            t.row(
                concat!("cvt.", $m, ".bf16.bf16"),
                CONVERTED,
                lift_call!((u16) -> u16, |a| {
                    pack(BF16, f64::from(bfloat_to_f32(a).$f()), Rounding::NearestEven) as u16
                }),
            );
        };
    }
    mode!("rni", round_ties_even);
    mode!("rzi", trunc);
    mode!("rmi", floor);
    mode!("rpi", ceil);
}

fn halves(t: &mut Table) {
    // All subnormal `f32` are far below the smallest `f16`: here `.ftz` has no effect on an H200.
    fn keep(a: f32) -> f32 {
        a
    }
    macro_rules! mode {
        ($dn:literal, $format:expr, $ftz:ident, $m:literal, $r:expr) => {
            t.row(
                concat!("cvt.", $m, ".", $dn, ".f32"),
                CONVERTED,
                lift_call!((f32) -> u16, |a| pack($format, f64::from(a), $r) as u16),
            );
            t.row(
                concat!("cvt.", $m, ".ftz.", $dn, ".f32"),
                CONVERTED,
                lift_call!((f32) -> u16, |a| pack($format, f64::from($ftz(a)), $r) as u16),
            );
            t.row(
                concat!("cvt.", $m, ".relu.", $dn, ".f32"),
                CONVERTED,
                lift_call!((f32) -> u16, |a| relu(pack($format, f64::from(a), $r) as u16)),
            );
            t.row(
                concat!("cvt.", $m, ".", $dn, ".f64"),
                CONVERTED,
                lift_call!((f64) -> u16, |a| narrow($format, a, $r) as u16),
            );
            // The first source becomes the upper half.
            t.row(
                concat!("cvt.", $m, ".", $dn, "x2.f32"),
                packed(16),
                lift_call!((f32, f32) -> u32, |a, b| {
                    (pack($format, f64::from(a), $r) as u32) << 16 | pack($format, f64::from(b), $r) as u32
                }),
            );
            t.row(
                concat!("cvt.", $m, ".relu.", $dn, "x2.f32"),
                packed(16),
                lift_call!((f32, f32) -> u32, |a, b| {
                    let half = |x: f32| u32::from(relu(pack($format, f64::from(x), $r) as u16));
                    half(a) << 16 | half(b)
                }),
            );
        };
    }
    mode!("f16", F16, keep, "rn", Rounding::NearestEven);
    mode!("f16", F16, keep, "rz", Rounding::Zero);
    mode!("f16", F16, keep, "rm", Rounding::Down);
    mode!("f16", F16, keep, "rp", Rounding::Up);
    mode!("bf16", BF16, flush, "rn", Rounding::NearestEven);
    mode!("bf16", BF16, flush, "rz", Rounding::Zero);
    // These rounding modes to `bf16` have neither `.relu` nor pairs.
    macro_rules! directed {
        ($m:literal, $r:expr) => {
            t.row(
                concat!("cvt.", $m, ".bf16.f32"),
                CONVERTED,
                lift_call!((f32) -> u16, |a| pack(BF16, f64::from(a), $r) as u16),
            );
            t.row(
                concat!("cvt.", $m, ".ftz.bf16.f32"),
                CONVERTED,
                lift_call!((f32) -> u16, |a| pack(BF16, f64::from(flush(a)), $r) as u16),
            );
            t.row(
                concat!("cvt.", $m, ".bf16.f64"),
                CONVERTED,
                lift_call!((f64) -> u16, |a| narrow(BF16, a, $r) as u16),
            );
        };
    }
    directed!("rm", Rounding::Down);
    directed!("rp", Rounding::Up);
    t.row(
        "cvt.rn.sat.f16.f32",
        CONVERTED,
        lift_call!((f32) -> u16, |a| {
            saturate_half(pack(F16, f64::from(a), Rounding::NearestEven) as u16)
        }),
    );
    t.row(
        "cvt.f16.f16",
        CONVERTED,
        lift_call!((u16) -> u16, |a| pack(F16, f64::from(half_to_f32(a)), Rounding::Zero) as u16),
    );
    t.row(
        "cvt.bf16.bf16",
        CONVERTED,
        lift_call!((u16) -> u16, |a| pack(BF16, f64::from(bfloat_to_f32(a)), Rounding::Zero) as u16),
    );
    t.row(
        "cvt.rn.bf16.f16",
        CONVERTED,
        lift_call!((u16) -> u16, |a| {
            pack(BF16, f64::from(half_to_f32(a)), Rounding::NearestEven) as u16
        }),
    );
    t.row(
        "cvt.rn.f16.bf16",
        CONVERTED,
        lift_call!((u16) -> u16, |a| {
            pack(F16, f64::from(bfloat_to_f32(a)), Rounding::NearestEven) as u16
        }),
    );
    macro_rules! tf32 {
        ($m:literal, $r:expr) => {
            t.row(concat!("cvt.", $m, ".tf32.f32"), CONVERTED, lift_call!((f32) -> u32, |a| tf32(a, $r)));
        };
    }
    tf32!("rna", Rounding::NearestAway);
    tf32!("rn", Rounding::NearestEven);
    tf32!("rz", Rounding::Zero);
}

/// Rounds to tf32, whose lower 13 bits are zero. `.rna` truncates NaN and infinity; other rounding modes have one NaN.
fn tf32(a: f32, rounding: Rounding) -> u32 {
    match (a.is_finite(), rounding) {
        (false, Rounding::NearestAway) => a.to_bits() & 0xffff_e000,
        _ => (pack(TF32, f64::from(a), rounding) as u32) << 13,
    }
}

#[cfg(test)]
mod tests {
    use crate::isa::testing::check;

    const NAN: u64 = 0x7fff_ffff;

    #[test]
    fn floats() {
        check(&[
            ("cvt.f64.f32", &[0x3f80_0000], &[0x3ff0_0000_0000_0000]),
            ("cvt.rn.f32.f64", &[0x3ff0_0000_1000_0000], &[0x3f80_0000]),
            ("cvt.rp.f32.f64", &[0x3ff0_0000_1000_0000], &[0x3f80_0001]),
            ("cvt.rn.f32.f64", &[0x47f0_0000_0000_0000], &[0x7f80_0000]),
            ("cvt.rz.f32.f64", &[0x47f0_0000_0000_0000], &[0x7f7f_ffff]),
            ("cvt.rni.f32.f32", &[0x3fc0_0000], &[0x4000_0000]),
            ("cvt.rzi.f32.f32", &[0xbf00_0000], &[0x8000_0000]),
            ("cvt.rn.f16.f32", &[0x3f80_0000], &[0x3c00]),
            ("cvt.rn.f16.f32", &[0x477f_f000], &[0x7c00]),
            ("cvt.rz.f16.f32", &[0x477f_f000], &[0x7bff]),
            ("cvt.rn.f16.f32", &[0x3300_0000], &[0]),
            ("cvt.rn.f16.f32", &[0x3300_0001], &[1]),
            ("cvt.rn.f16.f32", &[NAN], &[0x7fff]),
            ("cvt.f32.f16", &[0x0001], &[0x3380_0000]),
            ("cvt.rn.bf16.f32", &[0x3f80_8000], &[0x3f80]),
            ("cvt.rn.bf16.f32", &[0x3f81_8000], &[0x3f82]),
            ("cvt.rn.relu.bf16.f32", &[0xbf80_0000], &[0]),
            ("cvt.rp.bf16.f32", &[0x3f80_0001], &[0x3f81]),
            ("cvt.rm.bf16.f32", &[0xbf80_0001], &[0xbf81]),
            ("cvt.rp.ftz.bf16.f32", &[0x0000_0001], &[0]),
            ("cvt.rp.bf16.f32", &[0x0000_0001], &[1]),
            ("cvt.rm.bf16.f64", &[0x3ff0_1fff_ffff_ffff], &[0x3f80]),
            ("cvt.rni.bf16.bf16", &[0x3fc0], &[0x4000]),
            ("cvt.rzi.bf16.bf16", &[0xbf00], &[0x8000]),
            ("cvt.rmi.bf16.bf16", &[0xbf00], &[0xbf80]),
            ("cvt.rpi.bf16.bf16", &[0x3f00], &[0x3f80]),
            ("cvt.bf16.bf16", &[0xff81], &[0x7fff]),
            ("cvt.rn.f16x2.f32", &[0x3f80_0000, 0x4000_0000], &[0x3c00_4000]),
            ("cvt.rna.tf32.f32", &[0x3f80_1000], &[0x3f80_2000]),
            ("cvt.rn.tf32.f32", &[0x3f80_1000], &[0x3f80_0000]),
            ("cvt.sat.f32.f32", &[0x4000_0000], &[0x3f80_0000]),
            ("cvt.rp.ftz.f32.f64", &[0x3690_0000_0000_0000], &[0]),
            ("cvt.rm.ftz.f32.f64", &[0xb690_0000_0000_0000], &[0x8000_0000]),
            ("cvt.rz.ftz.f32.f64", &[0x3ff0_0000_1fff_ffff], &[0x3f80_0000]),
        ]);
    }
}
