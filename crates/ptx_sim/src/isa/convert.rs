//! Conversions between types. PTX ISA, "cvt" and "cvt.pack".
//!
//! Registers may be wider than the types. Rows for that have the registers' widths behind the opcode: `.r64.r32`.

use super::float::{canonical, flush, propagated, saturate};
use super::half::{bfloat_to_f32, half_to_f32, relu, saturate_half};
use super::lift::{lift, lift_call};
use super::soft::{self, BF16, F16, F32, F64, Format, Rounding, TF32};
use super::table::Table;

/// Adds this chapter's rows.
pub fn list(t: &mut Table) {
    integers(t);
    integers_in_wide_registers(t);
    to_float(t);
    to_integer(t);
    between_floats(t);
    to_integral(t);
    halves(t);
}

fn integers(t: &mut Table) {
    // The register that holds a type by nature: 8-bit types live in 16 bits.
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
                lift!(($sr) -> $dr, |a| a as $s as $d as $extended as $dr),
            );
            t.row(
                concat!("cvt.sat.", $dn, ".", $sn),
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

/// Narrow types in registers that are wider than their natural ones. The source's upper bits are ignored, the result is
/// extended by its own sign.
fn integers_in_wide_registers(t: &mut Table) {
    macro_rules! source {
        ($s:ty, $sn:literal, $sr:ty, $r:literal) => {
            to!($s, $sn, $sr, $r, "u8", u8, u16, u16, 16);
            to!($s, $sn, $sr, $r, "u8", u8, u32, u32, 32);
            to!($s, $sn, $sr, $r, "s8", i8, i16, u16, 16);
            to!($s, $sn, $sr, $r, "s8", i8, i32, u32, 32);
            to!($s, $sn, $sr, $r, "u16", u16, u16, u16, 16);
            to!($s, $sn, $sr, $r, "u16", u16, u32, u32, 32);
            to!($s, $sn, $sr, $r, "s16", i16, i16, u16, 16);
            to!($s, $sn, $sr, $r, "s16", i16, i32, u32, 32);
            to!($s, $sn, $sr, $r, "u32", u32, u32, u32, 32);
            to!($s, $sn, $sr, $r, "u32", u32, u64, u64, 64);
            to!($s, $sn, $sr, $r, "s32", i32, i32, u32, 32);
            to!($s, $sn, $sr, $r, "s32", i32, i64, u64, 64);
            to!($s, $sn, $sr, $r, "{u64|s64}", i64, i64, u64, 64);
        };
    }
    macro_rules! to {
        ($s:ty, $sn:literal, $sr:ty, $r:literal, $dn:literal, $d:ty, $extended:ty, $dr:ty, $bits:literal) => {
            t.row(
                concat!("cvt.", $dn, ".", $sn, ".r", $bits, ".r", $r),
                lift!(($sr) -> $dr, |a| a as $s as $d as $extended as $dr),
            );
        };
    }
    source!(u8, "u8", u32, 32);
    source!(i8, "s8", u32, 32);
    source!(u16, "u16", u32, 32);
    source!(i16, "s16", u32, 32);
    source!(u8, "u8", u64, 64);
    source!(i8, "s8", u64, 64);
    source!(u16, "u16", u64, 64);
    source!(i16, "s16", u64, 64);
    source!(u32, "u32", u64, 64);
    source!(i32, "s32", u64, 64);
    // Natural sources into wider destinations.
    macro_rules! widen {
        ($s:ty, $sn:literal, $sr:ty, $r:literal) => {
            to!($s, $sn, $sr, $r, "u8", u8, u32, u32, 32);
            to!($s, $sn, $sr, $r, "s8", i8, i32, u32, 32);
            to!($s, $sn, $sr, $r, "u16", u16, u32, u32, 32);
            to!($s, $sn, $sr, $r, "s16", i16, i32, u32, 32);
        };
    }
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

fn to_float(t: &mut Table) {
    macro_rules! natural {
        ($s:ty, $sn:literal, $sr:ty) => {
            t.row(concat!("cvt.rn.f32.", $sn), lift!(($sr) -> f32, |a| a as $s as f32));
            t.row(concat!("cvt.rn.f64.", $sn), lift!(($sr) -> f64, |a| a as $s as f64));
            t.row(concat!("cvt.rn.sat.f32.", $sn), lift!(($sr) -> u32, |a| saturate(a as $s as f32)));
            modes!($s, $sn, $sr, "rz", Rounding::Zero);
            modes!($s, $sn, $sr, "rm", Rounding::Down);
            modes!($s, $sn, $sr, "rp", Rounding::Up);
            halves!($s, $sn, $sr, "rn", Rounding::NearestEven);
        };
    }
    macro_rules! modes {
        ($s:ty, $sn:literal, $sr:ty, $m:literal, $r:expr) => {
            t.row(concat!("cvt.", $m, ".f32.", $sn), lift_call!(($sr) -> f32, |a| {
                                f32::from_bits(from_integer(F32, i128::from(a as $s), $r) as u32)
            }));
            t.row(concat!("cvt.", $m, ".f64.", $sn), lift_call!(($sr) -> f64, |a| {
                                f64::from_bits(from_integer(F64, i128::from(a as $s), $r))
            }));
            halves!($s, $sn, $sr, $m, $r);
        };
    }
    macro_rules! halves {
        ($s:ty, $sn:literal, $sr:ty, $m:literal, $r:expr) => {
            t.row(concat!("cvt.", $m, ".f16.", $sn), lift_call!(($sr) -> u16, |a| {
                                from_integer(F16, i128::from(a as $s), $r) as u16
            }));
            t.row(concat!("cvt.", $m, ".bf16.", $sn), lift_call!(($sr) -> u16, |a| {
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

/// Out of range gives the nearest limit. NaN gives zero, or where an operand has 64 bits, the lowest signed number's bits.
fn to_integer(t: &mut Table) {
    macro_rules! modes {
        ($d:ty, $dn:literal, $dr:ty, $lift:ident, $s:ty, $sr:ty, $ftz:literal, $sn:literal, $read:expr) => {
            one!($d, $dn, $dr, lift_call, $s, $sr, $ftz, $sn, $read, "rni", |x: $s| x.round_ties_even());
            one!($d, $dn, $dr, $lift, $s, $sr, $ftz, $sn, $read, "rzi", |x: $s| x);
            one!($d, $dn, $dr, lift_call, $s, $sr, $ftz, $sn, $read, "rmi", |x: $s| x.floor());
            one!($d, $dn, $dr, lift_call, $s, $sr, $ftz, $sn, $read, "rpi", |x: $s| x.ceil());
        };
    }
    macro_rules! one {
        ($d:ty, $dn:literal, $dr:ty, $lift:ident, $s:ty, $sr:ty, $ftz:literal, $sn:literal, $read:expr, $m:literal, $round:expr) => {
            t.row(
                concat!("cvt.", $m, ".", $ftz, "[sat.]", $dn, ".", $sn),
                $lift!(($sr) -> $dr, |a| {
                    let x: $s = $read(a);
                    let wide = <$d>::BITS == 64 || size_of::<$s>() == 8;
                    let nan = if wide { (1 as $d).rotate_right(1) } else { 0 };
                    (if x.is_nan() { nan } else { $round(x) as $d }) as $dr
                }),
            );
        };
    }
    macro_rules! destination {
        ($d:ty, $dn:literal, $dr:ty) => {
            modes!($d, $dn, $dr, lift, f32, f32, "", "f32", |a: f32| a);
            modes!($d, $dn, $dr, lift_call, f32, f32, "ftz.", "f32", |a: f32| flush(a));
            modes!($d, $dn, $dr, lift, f64, f64, "", "f64", |a: f64| a);
            modes!($d, $dn, $dr, lift_call, f32, u16, "", "f16", |a: u16| half_to_f32(a));
            modes!($d, $dn, $dr, lift_call, f32, u16, "", "bf16", |a: u16| bfloat_to_f32(a));
        };
    }
    destination!(u8, "u8", u16);
    destination!(i8, "s8", i16);
    destination!(u16, "u16", u16);
    destination!(i16, "s16", i16);
    destination!(u32, "u32", u32);
    destination!(i32, "s32", i32);
    destination!(u64, "u64", u64);
    destination!(i64, "s64", i64);
}

fn pack(format: Format, x: f64, rounding: Rounding) -> u64 {
    format.pack(F64.unpack(x.to_bits()), rounding)
}

/// `f64` conversions keep the payload of a NaN, as far as it fits, and make it quiet.
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
    t.row("cvt.f64.f32", lift!((f32) -> u64, widen));
    t.row("cvt.ftz.f64.f32", lift!((f32) -> u64, |a| widen(f32::from_bits(canonical(flush(a))))));
    t.row("cvt.f32.f32", lift!((u32) -> u32, |a| a));
    t.row("cvt.ftz.f32.f32", lift!((f32) -> u32, |a| canonical(flush(a))));
    t.row("cvt.sat.f32.f32", lift!((f32) -> u32, saturate));
    t.row("cvt.ftz.sat.f32.f32", lift!((f32) -> u32, |a| saturate(flush(a))));
    t.row("cvt.f64.f64", lift!((u64) -> u64, |a| a));
    t.row("cvt.rn.f32.f64", lift!((f64) -> u32, nearest32));
    t.row(
        "cvt.rn.ftz.f32.f64",
        lift!((f64) -> u32, |a| {
            let bits = nearest32(a);
            if bits & 0x7f80_0000 == 0 { bits & 1 << 31 } else { bits }
        }),
    );
    t.row("cvt.rn.sat.f32.f64", lift!((f64) -> u32, |a| saturate(a as f32)));
    macro_rules! mode {
        ($m:literal, $r:expr) => {
            t.row(concat!("cvt.", $m, ".f32.f64"), lift_call!((f64) -> u32, |a| narrow(F32, a, $r) as u32));
        };
    }
    mode!("rz", Rounding::Zero);
    mode!("rm", Rounding::Down);
    mode!("rp", Rounding::Up);
    t.row("cvt.f32.f16", lift!((u16) -> u32, |a| canonical(half_to_f32(a))));
    t.row("cvt.ftz.f32.f16", lift!((u16) -> u32, |a| canonical(half_to_f32(a))));
    t.row("cvt.f64.f16", lift!((u16) -> u64, |a| widen(half_to_f32(a))));
    t.row("cvt.f32.bf16", lift!((u16) -> u32, |a| u32::from(a) << 16));
    t.row("cvt.ftz.f32.bf16", lift!((u16) -> u32, |a| canonical(flush(bfloat_to_f32(a)))));
    t.row("cvt.f64.bf16", lift!((u16) -> u64, |a| widen(bfloat_to_f32(a))));
}

#[inline(always)]
fn nearest32(a: f64) -> u32 {
    let bits = a.to_bits();
    let nan = ((bits >> 63) as u32) << 31 | 0x7fc0_0000 | (bits >> 29) as u32 & 0x3f_ffff;
    if a.is_nan() { nan } else { (a as f32).to_bits() }
}

/// Rounding to an integer that stays a float.
fn to_integral(t: &mut Table) {
    macro_rules! mode {
        ($m:literal, $f:ident) => {
            t.row(concat!("cvt.", $m, ".f32.f32"), lift_call!((f32) -> u32, |a| canonical(a.$f())));
            t.row(concat!("cvt.", $m, ".ftz.f32.f32"), lift_call!((f32) -> u32, |a| canonical(flush(a).$f())));
            t.row(concat!("cvt.", $m, ".sat.f32.f32"), lift_call!((f32) -> u32, |a| saturate(a.$f())));
            t.row(concat!("cvt.", $m, ".ftz.sat.f32.f32"), lift_call!((f32) -> u32, |a| saturate(flush(a).$f())));
            t.row(concat!("cvt.", $m, ".f64.f64"), lift_call!((f64) -> u64, |a| propagated(a.$f(), [a])));
            t.row(
                concat!("cvt.", $m, ".f16.f16"),
                lift_call!((u16) -> u16, |a| pack(F16, f64::from(half_to_f32(a).$f()), Rounding::NearestEven) as u16),
            );
        };
    }
    mode!("rni", round_ties_even);
    mode!("rzi", trunc);
    mode!("rmi", floor);
    mode!("rpi", ceil);
}

fn halves(t: &mut Table) {
    macro_rules! mode {
        ($dn:literal, $format:expr, $m:literal, $r:expr) => {
            t.row(
                concat!("cvt.", $m, ".", $dn, ".f32"),
                lift_call!((f32) -> u16, |a| pack($format, f64::from(a), $r) as u16),
            );
            t.row(
                concat!("cvt.", $m, ".ftz.", $dn, ".f32"),
                lift_call!((f32) -> u16, |a| pack($format, f64::from(flush(a)), $r) as u16),
            );
            t.row(
                concat!("cvt.", $m, ".relu.", $dn, ".f32"),
                lift_call!((f32) -> u16, |a| relu(pack($format, f64::from(a), $r) as u16)),
            );
            t.row(concat!("cvt.", $m, ".", $dn, ".f64"), lift_call!((f64) -> u16, |a| narrow($format, a, $r) as u16));
            // The first source becomes the upper half.
            t.row(
                concat!("cvt.", $m, ".", $dn, "x2.f32"),
                lift_call!((f32, f32) -> u32, |a, b| {
                    (pack($format, f64::from(a), $r) as u32) << 16 | pack($format, f64::from(b), $r) as u32
                }),
            );
            t.row(
                concat!("cvt.", $m, ".relu.", $dn, "x2.f32"),
                lift_call!((f32, f32) -> u32, |a, b| {
                    let half = |x: f32| u32::from(relu(pack($format, f64::from(x), $r) as u16));
                    half(a) << 16 | half(b)
                }),
            );
        };
    }
    mode!("f16", F16, "rn", Rounding::NearestEven);
    mode!("f16", F16, "rz", Rounding::Zero);
    mode!("f16", F16, "rm", Rounding::Down);
    mode!("f16", F16, "rp", Rounding::Up);
    mode!("bf16", BF16, "rn", Rounding::NearestEven);
    mode!("bf16", BF16, "rz", Rounding::Zero);
    t.row(
        "cvt.rn.sat.f16.f32",
        lift_call!((f32) -> u16, |a| {
            saturate_half(pack(F16, f64::from(a), Rounding::NearestEven) as u16)
        }),
    );
    t.row("cvt.f16.f16", lift_call!((u16) -> u16, |a| pack(F16, f64::from(half_to_f32(a)), Rounding::Zero) as u16));
    t.row(
        "cvt.rn.bf16.f16",
        lift_call!((u16) -> u16, |a| {
            pack(BF16, f64::from(half_to_f32(a)), Rounding::NearestEven) as u16
        }),
    );
    t.row(
        "cvt.rn.f16.bf16",
        lift_call!((u16) -> u16, |a| {
            pack(F16, f64::from(bfloat_to_f32(a)), Rounding::NearestEven) as u16
        }),
    );
    macro_rules! tf32 {
        ($m:literal, $r:expr) => {
            t.row(concat!("cvt.", $m, ".tf32.f32"), lift_call!((f32) -> u32, |a| tf32(a, $r)));
        };
    }
    tf32!("rna", Rounding::NearestAway);
    tf32!("rn", Rounding::NearestEven);
    tf32!("rz", Rounding::Zero);
}

/// The lower 13 bits are zero. `.rna` truncates what is no number, other roundings have one NaN.
fn tf32(a: f32, rounding: Rounding) -> u32 {
    match (a.is_finite(), rounding) {
        (false, Rounding::NearestAway) => a.to_bits() & 0xffff_e000,
        _ => (pack(TF32, f64::from(a), rounding) as u32) << 13,
    }
}

/// Conversions whose rows exist only for registers wider than the types.
pub fn known_elsewhere(opcode: &str) -> bool {
    super::table::find(&format!("{opcode}.r32.r32")).is_some()
}

#[cfg(test)]
mod tests {
    use crate::isa::testing::check;

    const NAN: u64 = 0x7fff_ffff;

    #[test]
    fn integers() {
        check(&[
            ("cvt.u32.u64", &[0x1_2345_6789], &[0x2345_6789]),
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
        ]);
    }

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
            ("cvt.rn.f16x2.f32", &[0x3f80_0000, 0x4000_0000], &[0x3c00_4000]),
            ("cvt.rna.tf32.f32", &[0x3f80_1000], &[0x3f80_2000]),
            ("cvt.rn.tf32.f32", &[0x3f80_1000], &[0x3f80_0000]),
            ("cvt.sat.f32.f32", &[0x4000_0000], &[0x3f80_0000]),
        ]);
    }
}
