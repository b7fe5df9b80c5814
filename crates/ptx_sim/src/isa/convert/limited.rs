//! `cvt.sat` to floating point: the result is limited to 0 to 1, and NaN becomes 0.

use super::{CONVERTED, pack};
use crate::isa::float::{flush, saturate};
use crate::isa::half::{bfloat_to_f32, half_to_f32, saturate_half};
use crate::isa::lift::lift_call;
use crate::isa::soft::{BF16, F16, F32, Rounding};
use crate::isa::table::Table;

/// Limits an `f64`; NaN and -0 become 0.
fn limit(x: f64) -> u64 {
    let limited = if x > 0.0 { if x < 1.0 { x } else { 1.0 } } else { 0.0 };
    limited.to_bits()
}

/// Adds these rows, and those of roundings that have no effect.
pub fn list(t: &mut Table) {
    t.row("cvt.sat.f64.f32", CONVERTED, lift_call!((f32) -> u64, |a| limit(f64::from(a))));
    t.row("cvt.ftz.sat.f64.f32", CONVERTED, lift_call!((f32) -> u64, |a| limit(f64::from(flush(a)))));
    t.row("cvt.sat.f64.f64", CONVERTED, lift_call!((f64) -> u64, limit));
    t.row("cvt.sat.f64.f16", CONVERTED, lift_call!((u16) -> u64, |a| limit(f64::from(half_to_f32(a)))));
    // No `f16` is a subnormal `f32`.
    t.row("cvt[.ftz].sat.f32.f16", CONVERTED, lift_call!((u16) -> u32, |a| saturate(half_to_f32(a))));
    t.row("cvt.sat.f16.f16", CONVERTED, lift_call!((u16) -> u16, saturate_half));
    macro_rules! integral {
        ($m:literal, $f:ident) => {
            t.row(concat!("cvt.", $m, ".sat.f64.f64"), CONVERTED, lift_call!((f64) -> u64, |a| limit(a.$f())));
            t.row(
                concat!("cvt.", $m, ".sat.f16.f16"),
                CONVERTED,
                lift_call!((u16) -> u16, |a| {
                    saturate_half(pack(F16, f64::from(half_to_f32(a).$f()), Rounding::NearestEven) as u16)
                }),
            );
        };
    }
    integral!("rni", round_ties_even);
    integral!("rzi", trunc);
    integral!("rmi", floor);
    integral!("rpi", ceil);
    macro_rules! mode {
        ($m:literal, $r:expr) => {
            t.row(
                concat!("cvt.", $m, ".sat.f16.f64"),
                CONVERTED,
                lift_call!((f64) -> u16, |a| saturate_half(pack(F16, a, $r) as u16)),
            );
            // The smallest numbers of `f16` are multiples of 2^-24, between which all subnormal `f32` are.
            t.row(
                concat!("cvt.", $m, ".bf16.f16"),
                CONVERTED,
                lift_call!((u16) -> u16, |a| pack(BF16, f64::from(half_to_f32(a)), $r) as u16),
            );
            t.row(
                concat!("cvt.", $m, ".f16.bf16"),
                CONVERTED,
                lift_call!((u16) -> u16, |a| pack(F16, f64::from(bfloat_to_f32(a)), $r) as u16),
            );
        };
    }
    macro_rules! directed {
        ($m:literal, $r:expr) => {
            mode!($m, $r);
            t.row(
                concat!("cvt.", $m, ".sat.f32.f64"),
                CONVERTED,
                lift_call!((f64) -> u32, |a| saturate(f32::from_bits(pack(F32, a, $r) as u32))),
            );
            t.row(
                concat!("cvt.", $m, ".sat.f16.f32"),
                CONVERTED,
                lift_call!((f32) -> u16, |a| saturate_half(pack(F16, f64::from(a), $r) as u16)),
            );
        };
    }
    directed!("rz", Rounding::Zero);
    directed!("rm", Rounding::Down);
    directed!("rp", Rounding::Up);
    t.row(
        "cvt.rn.sat.f16.f64",
        CONVERTED,
        lift_call!((f64) -> u16, |a| saturate_half(pack(F16, a, Rounding::NearestEven) as u16)),
    );
    // As without `.sat`, `.ftz` flushes no f32 that becomes an f16: so do GPUs (errata in vosen/ptx_tests).
    macro_rules! flushed {
        ($m:literal, $r:expr) => {
            t.row(
                concat!("cvt.", $m, ".ftz.sat.f16.f32"),
                CONVERTED,
                lift_call!((f32) -> u16, |a| saturate_half(pack(F16, f64::from(a), $r) as u16)),
            );
            t.row(
                concat!("cvt.", $m, ".ftz.sat.f32.f64"),
                CONVERTED,
                lift_call!((f64) -> u32, |a| saturate(flush(f32::from_bits(pack(F32, a, $r) as u32)))),
            );
        };
    }
    flushed!("rn", Rounding::NearestEven);
    flushed!("rz", Rounding::Zero);
    flushed!("rm", Rounding::Down);
    flushed!("rp", Rounding::Up);
    integers(t);
    // Every `bf16` is an `f32`.
    t.row("cvt.{rn|rz|rm|rp}.f32.bf16", CONVERTED, lift_call!((u16) -> u32, |a| u32::from(a) << 16));
}

/// A positive integer becomes 1 and another one 0, whatever the rounding, and neither is subnormal.
fn integers(t: &mut Table) {
    macro_rules! source {
        ($s:ty, $sn:literal, $sr:ty) => {
            t.row(
                concat!("cvt.{rn|rz|rm|rp}.sat.f16.", $sn),
                CONVERTED,
                lift_call!(($sr) -> u16, |a| if a as $s > 0 { 0x3c00 } else { 0 }),
            );
            t.row(
                concat!("cvt.{rz|rm|rp}[.ftz].sat.f32.", $sn),
                CONVERTED,
                lift_call!(($sr) -> f32, |a| if a as $s > 0 { 1.0 } else { 0.0 }),
            );
            t.row(
                concat!("cvt.{rn|rz|rm|rp}.sat.f64.", $sn),
                CONVERTED,
                lift_call!(($sr) -> f64, |a| if a as $s > 0 { 1.0 } else { 0.0 }),
            );
        };
    }
    source!(u8, "u8", u16);
    source!(i8, "s8", u16);
    source!(u16, "u16", u16);
    source!(i16, "s16", u16);
    source!(u32, "u32", u32);
    source!(i32, "s32", u32);
    source!(u64, "u64", u64);
    source!(i64, "s64", u64);
}

#[cfg(test)]
mod tests {
    use crate::isa::testing::check;

    #[test]
    fn results_are_limited() {
        check(&[
            ("cvt.sat.f64.f32", &[0x4000_0000], &[0x3ff0_0000_0000_0000]),
            ("cvt.sat.f64.f32", &[0x3f00_0000], &[0x3fe0_0000_0000_0000]),
            ("cvt.sat.f64.f32", &[0x7fc0_0000], &[0]),
            ("cvt.ftz.sat.f64.f32", &[1], &[0]),
            ("cvt.sat.f64.f64", &[0xbff0_0000_0000_0000], &[0]),
            ("cvt.sat.f64.f16", &[0x3800], &[0x3fe0_0000_0000_0000]),
            ("cvt.sat.f32.f16", &[0x4000], &[0x3f80_0000]),
            ("cvt.sat.f16.f16", &[0x7e00], &[0]),
            ("cvt.rpi.sat.f64.f64", &[0x3fe0_0000_0000_0000], &[0x3ff0_0000_0000_0000]),
            ("cvt.rmi.sat.f16.f16", &[0x3800], &[0]),
            ("cvt.rp.sat.f32.f64", &[0x3690_0000_0000_0000], &[1]),
            ("cvt.rm.sat.f16.f32", &[0x3f7f_ffff], &[0x3bff]),
            ("cvt.rn.sat.f16.f64", &[0x3fef_ffff_ffff_ffff], &[0x3c00]),
            ("cvt.rp.sat.f16.f32", &[1], &[1]),
            ("cvt.rp.ftz.sat.f16.f32", &[1], &[1]),
            ("cvt.rz.ftz.sat.f16.f32", &[0x3f7f_ffff], &[0x3bff]),
            ("cvt.rp.ftz.sat.f32.f64", &[0x3690_0000_0000_0000], &[0]),
            ("cvt.rn.ftz.sat.f32.f64", &[0x4000_0000_0000_0000], &[0x3f80_0000]),
            ("cvt.rn.sat.f16.s32", &[0xffff_ffff], &[0]),
            ("cvt.rz.sat.f16.u32", &[0xffff_ffff], &[0x3c00]),
            ("cvt.rm.sat.f16.s8", &[0x0180], &[0]),
            ("cvt.rp.sat.f32.s64", &[2], &[0x3f80_0000]),
            ("cvt.rm.ftz.sat.f32.u16", &[0], &[0]),
            ("cvt.rn.sat.f64.s16", &[0x8000], &[0]),
            ("cvt.rp.sat.f64.u64", &[u64::MAX], &[0x3ff0_0000_0000_0000]),
            ("cvt.rz.bf16.f16", &[0x3fff], &[0x3fff]),
            ("cvt.rp.f16.bf16", &[0x3f81], &[0x3c08]),
            ("cvt.rp.f16.bf16", &[0x0001], &[0x0001]),
            ("cvt.rm.f32.bf16", &[0x3f80], &[0x3f80_0000]),
        ]);
    }
}
