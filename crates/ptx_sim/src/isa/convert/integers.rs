//! `cvt` from or to an integer.
//!
//! Registers may be wider than the types. The rows for such registers have the registers' widths after the opcode:
//! `.r64.r32`.

use super::CONVERTED;
use crate::isa::facts::{Facts, Fidelity, Latency, Undefined, Work, facts};
use crate::isa::float::{flush, saturate};
use crate::isa::half::{bfloat_to_f32, half_to_f32};
use crate::isa::lift::{lift, lift_call};
use crate::isa::soft::{self, BF16, F16, F32, F64, Format, Rounding};
use crate::isa::table::Table;

/// Facts of a conversion between integers: the bits are kept, truncated or sign-extended.
const MOVED: Facts = facts(Undefined::Move(0b0001), Work::None, Latency::Alu, Fidelity::Exact);

/// Adds these rows.
pub fn list(t: &mut Table) {
    integers(t);
    integers_in_wide_registers(t);
    to_float(t);
    to_integer(t);
}

fn integers(t: &mut Table) {
    // The natural register width of a type: 8-bit types use 16 bits.
    macro_rules! from {
        ($s:ty, $sn:literal, $sr:ty) => {
            to!($s, $sn, $sr, u8, "u8", u16, u16);
            to!($s, $sn, $sr, i8, "s8", i16, u16);
            to!($s, $sn, $sr, u16, "u16", u16, u16);
            to!($s, $sn, $sr, i16, "s16", i16, u16);
            to!($s, $sn, $sr, u32, "u32", u32, u32);
            to!($s, $sn, $sr, i32, "s32", i32, u32);
            to!($s, $sn, $sr, u64, "u64", u64, u64);
            to!($s, $sn, $sr, i64, "s64", i64, u64);
        };
    }
    macro_rules! to {
        ($s:ty, $sn:literal, $sr:ty, $d:ty, $dn:literal, $extended:ty, $dr:ty) => {
            t.row(
                concat!("cvt.", $dn, ".", $sn),
                MOVED,
                lift!(($sr) -> $dr, |a| a as $s as $d as $extended as $dr),
            );
            t.row(
                concat!("cvt.sat.", $dn, ".", $sn),
                CONVERTED,
                lift_call!(($sr) -> $dr, |a| {
                    let limited = i128::from(a as $s).clamp(<$d>::MIN as i128, <$d>::MAX as i128);
                    limited as $d as $extended as $dr
                }),
            );
        };
    }
    from!(u8, "u8", u16);
    from!(i8, "s8", u16);
    from!(u16, "u16", u16);
    from!(i16, "s16", u16);
    from!(u32, "u32", u32);
    from!(i32, "s32", u32);
    from!(u64, "u64", u64);
    from!(i64, "s64", u64);
}

/// Narrow types in registers wider than their natural ones. The source's upper bits are ignored; the result is extended
/// by its own sign.
fn integers_in_wide_registers(t: &mut Table) {
    macro_rules! natural {
        ($s:ty, $sn:literal, $sr:ty, $r:literal) => {
            to!($s, $sn, $sr, $r, "u8", u8, u16, u16, 16);
            to!($s, $sn, $sr, $r, "s8", i8, i16, u16, 16);
            to!($s, $sn, $sr, $r, "u16", u16, u16, u16, 16);
            to!($s, $sn, $sr, $r, "s16", i16, i16, u16, 16);
            to!($s, $sn, $sr, $r, "u32", u32, u32, u32, 32);
            to!($s, $sn, $sr, $r, "s32", i32, i32, u32, 32);
            to!($s, $sn, $sr, $r, "u64", u64, u64, u64, 64);
            to!($s, $sn, $sr, $r, "s64", i64, i64, u64, 64);
        };
    }
    macro_rules! widen {
        ($s:ty, $sn:literal, $sr:ty, $r:literal) => {
            to!($s, $sn, $sr, $r, "u8", u8, u32, u32, 32);
            to!($s, $sn, $sr, $r, "s8", i8, i32, u32, 32);
            to!($s, $sn, $sr, $r, "u16", u16, u32, u32, 32);
            to!($s, $sn, $sr, $r, "s16", i16, i32, u32, 32);
            to!($s, $sn, $sr, $r, "u8", u8, u64, u64, 64);
            to!($s, $sn, $sr, $r, "s8", i8, i64, u64, 64);
            to!($s, $sn, $sr, $r, "u16", u16, u64, u64, 64);
            to!($s, $sn, $sr, $r, "s16", i16, i64, u64, 64);
            to!($s, $sn, $sr, $r, "u32", u32, u64, u64, 64);
            to!($s, $sn, $sr, $r, "s32", i32, i64, u64, 64);
        };
    }
    macro_rules! to {
        ($s:ty, $sn:literal, $sr:ty, $r:literal, $dn:literal, $d:ty, $extended:ty, $dr:ty, $bits:literal) => {
            t.row(
                concat!("cvt.", $dn, ".", $sn, ".r", $bits, ".r", $r),
                MOVED,
                lift!(($sr) -> $dr, |a| a as $s as $d as $extended as $dr),
            );
            t.row(
                concat!("cvt.sat.", $dn, ".", $sn, ".r", $bits, ".r", $r),
                CONVERTED,
                lift_call!(($sr) -> $dr, |a| {
                    let limited = i128::from(a as $s).clamp(<$d>::MIN as i128, <$d>::MAX as i128);
                    limited as $d as $extended as $dr
                }),
            );
        };
    }
    macro_rules! wide_source {
        ($s:ty, $sn:literal, $sr:ty, $r:literal) => {
            natural!($s, $sn, $sr, $r);
            widen!($s, $sn, $sr, $r);
        };
    }
    wide_source!(u8, "u8", u32, 32);
    wide_source!(i8, "s8", u32, 32);
    wide_source!(u16, "u16", u32, 32);
    wide_source!(i16, "s16", u32, 32);
    wide_source!(u8, "u8", u64, 64);
    wide_source!(i8, "s8", u64, 64);
    wide_source!(u16, "u16", u64, 64);
    wide_source!(i16, "s16", u64, 64);
    wide_source!(u32, "u32", u64, 64);
    wide_source!(i32, "s32", u64, 64);
    widen!(u8, "u8", u16, 16);
    widen!(i8, "s8", u16, 16);
    widen!(u16, "u16", u16, 16);
    widen!(i16, "s16", u16, 16);
    widen!(u32, "u32", u32, 32);
    widen!(i32, "s32", u32, 32);
    widen!(u64, "u64", u64, 64);
    widen!(i64, "s64", u64, 64);
}

fn from_integer(format: Format, value: i128, rounding: Rounding) -> u64 {
    format.pack(soft::integer(value < 0, value.unsigned_abs() as u64), rounding)
}

/// Conversions to floats; none of an integer is subnormal, so that `.ftz` has no effect.
fn to_float(t: &mut Table) {
    macro_rules! natural {
        ($s:ty, $sn:literal, $sr:ty) => {
            t.row(concat!("cvt.rn[.ftz].f32.", $sn), CONVERTED, lift!(($sr) -> f32, |a| a as $s as f32));
            t.row(concat!("cvt.rn.f64.", $sn), CONVERTED, lift!(($sr) -> f64, |a| a as $s as f64));
            t.row(concat!("cvt.rn[.ftz].sat.f32.", $sn), CONVERTED, lift!(($sr) -> u32, |a| saturate(a as $s as f32)));
            modes!($s, $sn, $sr, "rz", Rounding::Zero);
            modes!($s, $sn, $sr, "rm", Rounding::Down);
            modes!($s, $sn, $sr, "rp", Rounding::Up);
            halves!($s, $sn, $sr, "rn", Rounding::NearestEven);
        };
    }
    macro_rules! modes {
        ($s:ty, $sn:literal, $sr:ty, $m:literal, $r:expr) => {
            t.row(concat!("cvt.", $m, "[.ftz].f32.", $sn), CONVERTED, lift_call!(($sr) -> f32, |a| {
                                f32::from_bits(from_integer(F32, i128::from(a as $s), $r) as u32)
            }));
            t.row(concat!("cvt.", $m, ".f64.", $sn), CONVERTED, lift_call!(($sr) -> f64, |a| {
                                f64::from_bits(from_integer(F64, i128::from(a as $s), $r))
            }));
            halves!($s, $sn, $sr, $m, $r);
        };
    }
    macro_rules! halves {
        ($s:ty, $sn:literal, $sr:ty, $m:literal, $r:expr) => {
            t.row(concat!("cvt.", $m, ".f16.", $sn), CONVERTED, lift_call!(($sr) -> u16, |a| {
                                from_integer(F16, i128::from(a as $s), $r) as u16
            }));
            t.row(concat!("cvt.", $m, ".bf16.", $sn), CONVERTED, lift_call!(($sr) -> u16, |a| {
                                from_integer(BF16, i128::from(a as $s), $r) as u16
            }));
        };
    }
    natural!(u8, "u8", u16);
    natural!(i8, "s8", u16);
    natural!(u16, "u16", u16);
    natural!(i16, "s16", u16);
    natural!(u32, "u32", u32);
    natural!(i32, "s32", u32);
    natural!(u64, "u64", u64);
    natural!(i64, "s64", u64);
}

/// Conversion to integers. Out-of-range numbers give the nearest limit. NaN gives zero or, where an operand has 64
/// bits, the bits of the lowest signed number. In a register wider than the type, the result is extended by its own
/// sign.
fn to_integer(t: &mut Table) {
    macro_rules! modes {
        (
            $d:ty, $dn:literal, $dr:ty, $w:literal, $v:literal, $lift:ident, $s:ty, $sr:ty, $ftz:literal, $sn:literal,
            $read:expr
        ) => {
            one!($d, $dn, $dr, $w, $v, lift_call, $s, $sr, $ftz, $sn, $read, "rni", |x: $s| x.round_ties_even());
            one!($d, $dn, $dr, $w, $v, $lift, $s, $sr, $ftz, $sn, $read, "rzi", |x: $s| x);
            one!($d, $dn, $dr, $w, $v, lift_call, $s, $sr, $ftz, $sn, $read, "rmi", |x: $s| x.floor());
            one!($d, $dn, $dr, $w, $v, lift_call, $s, $sr, $ftz, $sn, $read, "rpi", |x: $s| x.ceil());
        };
    }
    macro_rules! one {
        (
            $d:ty, $dn:literal, $dr:ty, $w:literal, $v:literal, $lift:ident, $s:ty, $sr:ty, $ftz:literal, $sn:literal,
            $read:expr, $m:literal, $round:expr
        ) => {
            t.row(
                concat!("cvt.", $m, ".", $ftz, "[sat.]", $dn, ".", $sn, $w, $v),
                CONVERTED,
                $lift!(($sr) -> $dr, |a| {
                    let x: $s = $read(a);
                    let wide = <$d>::BITS == 64 || size_of::<$s>() == 8;
                    let nan = if wide { (1 as $d).rotate_right(1) } else { 0 };
                    (if x.is_nan() { nan } else { $round(x) as $d }) as $dr
                }),
            );
        };
    }
    macro_rules! natural {
        ($d:ty, $dn:literal, $dr:ty) => {
            modes!($d, $dn, $dr, "", "", lift, f32, f32, "", "f32", |a: f32| a);
            modes!($d, $dn, $dr, "", "", lift_call, f32, f32, "ftz.", "f32", |a: f32| flush(a));
            modes!($d, $dn, $dr, "", "", lift, f64, f64, "", "f64", |a: f64| a);
            modes!($d, $dn, $dr, "", "", lift_call, f32, u16, "", "f16", |a: u16| half_to_f32(a));
            modes!($d, $dn, $dr, "", "", lift_call, f32, u16, "", "bf16", |a: u16| bfloat_to_f32(a));
        };
    }
    macro_rules! wide {
        ($d:ty, $dn:literal, $dr:ty, $w:literal) => {
            modes!($d, $dn, $dr, $w, ".r32", lift_call, f32, f32, "", "f32", |a: f32| a);
            modes!($d, $dn, $dr, $w, ".r32", lift_call, f32, f32, "ftz.", "f32", |a: f32| flush(a));
            modes!($d, $dn, $dr, $w, ".r64", lift_call, f64, f64, "", "f64", |a: f64| a);
            modes!($d, $dn, $dr, $w, ".r16", lift_call, f32, u16, "", "f16", |a: u16| half_to_f32(a));
            modes!($d, $dn, $dr, $w, ".r16", lift_call, f32, u16, "", "bf16", |a: u16| bfloat_to_f32(a));
        };
    }
    natural!(u8, "u8", u16);
    natural!(i8, "s8", i16);
    natural!(u16, "u16", u16);
    natural!(i16, "s16", i16);
    natural!(u32, "u32", u32);
    natural!(i32, "s32", i32);
    natural!(u64, "u64", u64);
    natural!(i64, "s64", i64);
    wide!(u8, "u8", u32, ".r32");
    wide!(i8, "s8", i32, ".r32");
    wide!(u16, "u16", u32, ".r32");
    wide!(i16, "s16", i32, ".r32");
    wide!(u8, "u8", u64, ".r64");
    wide!(i8, "s8", i64, ".r64");
    wide!(u16, "u16", u64, ".r64");
    wide!(i16, "s16", i64, ".r64");
    wide!(u32, "u32", u64, ".r64");
    wide!(i32, "s32", i64, ".r64");
}

#[cfg(test)]
mod tests {
    use crate::isa::testing::check;

    const NAN: u64 = 0x7fff_ffff;

    #[test]
    fn integers() {
        check(&[
            ("cvt.u32.u64", &[0x1_2345_6789], &[0x2345_6789]),
            ("cvt.rp.ftz.f32.u32", &[0x0100_0001], &[0x4b80_0001]),
            ("cvt.rn.ftz.sat.f32.s32", &[7], &[0x3f80_0000]),
            ("cvt.s64.s32", &[0xffff_ffff], &[u64::MAX]),
            ("cvt.u64.u32", &[0xffff_ffff], &[0xffff_ffff]),
            ("cvt.s32.s8", &[0x80], &[0xffff_ff80]),
            ("cvt.s16.s8", &[0x80], &[0xff80]),
            ("cvt.u32.u8", &[0x1ff], &[0xff]),
            ("cvt.sat.u8.s32", &[0xffff_ffff], &[0]),
            ("cvt.sat.s8.s32", &[0x1000], &[0x7f]),
            ("cvt.sat.s32.u32", &[0xffff_ffff], &[0x7fff_ffff]),
            ("cvt.s64.s8.r64.r64", &[0x180], &[0xffff_ffff_ffff_ff80]),
            ("cvt.s8.s32.r32.r32", &[0x180], &[0xffff_ff80]),
            ("cvt.s8.s32", &[0x180], &[0xff80]),
            ("cvt.sat.s8.s32.r32.r32", &[0xffff_0000], &[0xffff_ff80]),
            ("cvt.sat.u8.s32.r32.r32", &[0x1000], &[0xff]),
            ("cvt.sat.s16.s64.r64.r64", &[1 << 63], &[0xffff_ffff_ffff_8000]),
            ("cvt.s8.s32.r64.r32", &[0x180], &[0xffff_ffff_ffff_ff80]),
            ("cvt.u16.s32.r64.r32", &[0xffff_ffff], &[0xffff]),
            ("cvt.s32.s64.r64.r64", &[0x8000_0000], &[0xffff_ffff_8000_0000]),
            ("cvt.u32.u64.r64.r64", &[u64::MAX], &[0xffff_ffff]),
            ("cvt.u8.u8.r32.r16", &[0x1ff], &[0xff]),
        ]);
    }

    #[test]
    fn integers_and_floats() {
        check(&[
            ("cvt.rn.f32.u32", &[0xffff_ffff], &[0x4f80_0000]),
            ("cvt.rz.f32.u32", &[0xffff_ffff], &[0x4f7f_ffff]),
            ("cvt.rn.f32.s32", &[0x8000_0000], &[0xcf00_0000]),
            ("cvt.rp.f32.u64", &[0x100_0001], &[0x4b80_0001]),
            ("cvt.rn.f64.u64", &[u64::MAX], &[0x43f0_0000_0000_0000]),
            ("cvt.rn.f16.s32", &[0x1_0000], &[0x7c00]),
            ("cvt.rzi.s32.f32", &[0xbfff_ffff], &[0xffff_ffff]),
            ("cvt.rmi.s32.f32", &[0xbf00_0000], &[0xffff_ffff]),
            ("cvt.rpi.s32.f32", &[0x3f00_0000], &[1]),
            ("cvt.rni.s32.f32", &[0x4020_0000], &[2]),
            ("cvt.rzi.u32.f32", &[0xbf80_0000], &[0]),
            ("cvt.rzi.s32.f32", &[0x7f80_0000], &[0x7fff_ffff]),
            ("cvt.rzi.s32.f32", &[NAN], &[0]),
            ("cvt.rzi.s64.f32", &[NAN], &[1 << 63]),
            ("cvt.rzi.u64.f64", &[0x7ff8_0000_0000_0000], &[1 << 63]),
            ("cvt.rzi.u8.f32", &[0x4380_0000], &[0xff]),
            ("cvt.rzi.ftz.u32.f32", &[1], &[0]),
            ("cvt.rpi.ftz.u32.f32", &[1], &[0]),
            ("cvt.rpi.u32.f32", &[1], &[1]),
            ("cvt.rni.sat.s8.f32.r32.r32", &[0xc2f7_0000], &[0xffff_ff84]),
            ("cvt.rni.sat.s8.f32.r32.r32", &[0xc380_0000], &[0xffff_ff80]),
            ("cvt.rni.sat.s8.f32.r32.r32", &[0x4380_0000], &[0x7f]),
            ("cvt.rni.sat.s8.f32.r32.r32", &[NAN], &[0]),
            ("cvt.rzi.u8.f32.r32.r32", &[0x4380_0000], &[0xff]),
            ("cvt.rzi.s16.f32.r32.r32", &[0xbf80_0000], &[0xffff_ffff]),
            ("cvt.rmi.u16.f64.r32.r64", &[0x40f0_0000_0000_0000], &[0xffff]),
            ("cvt.rni.s32.f32.r64.r32", &[0xbf80_0000], &[u64::MAX]),
            ("cvt.rni.u32.f32.r64.r32", &[0x4f80_0000], &[0xffff_ffff]),
            ("cvt.rzi.s8.f16.r32.r16", &[0xbc00], &[0xffff_ffff]),
            ("cvt.rpi.ftz.s8.f32.r64.r32", &[1], &[0]),
        ]);
    }
}
