//! `cvt` to and from floating point of 4 and 6 bits, and `cvt` from scales of 8 bits.
//!
//! The formats have neither infinities nor NaN: a larger number becomes the largest, and so does a NaN, with the sign
//! `+`.

use super::{CONVERTED, packed};
use crate::isa::half::{half_to_f32, relu};
use crate::isa::lift::lift_call;
use crate::isa::soft::{F16, Rounding};
use crate::isa::table::Table;

/// A format of a sign, an exponent and a fraction.
#[derive(Clone, Copy)]
struct Tiny {
    exponent: u32,
    fraction: u32,
}

const E2M1: Tiny = Tiny { exponent: 2, fraction: 1 };
const E2M3: Tiny = Tiny { exponent: 2, fraction: 3 };
const E3M2: Tiny = Tiny { exponent: 3, fraction: 2 };

impl Tiny {
    const fn largest(self) -> u8 {
        (1 << (self.exponent + self.fraction)) - 1
    }

    const fn smallest_exponent(self) -> i32 {
        2 - (1 << (self.exponent - 1))
    }

    /// Rounds to nearest even.
    fn narrow(self, x: f64) -> u8 {
        if x.is_nan() {
            return self.largest();
        }
        let sign = u8::from(x.is_sign_negative()) << (self.exponent + self.fraction);
        let magnitude = x.abs().min(self.widen(self.largest()));
        let exponent = ((magnitude.to_bits() >> 52) as i32 - 1023).max(self.smallest_exponent());
        let steps = (magnitude * 2.0f64.powi(self.fraction as i32 - exponent)).round_ties_even() as u8;
        // A normal number's hidden bit adds one to the field of the exponent.
        sign | ((((exponent - self.smallest_exponent()) as u8) << self.fraction) + steps)
    }

    /// Converts the lower bits of a byte; the others have no meaning.
    fn widen(self, bits: u8) -> f64 {
        let bits = bits & (2 * self.largest() + 1);
        let (field, steps) = (bits & self.largest(), bits & ((1 << self.fraction) - 1));
        let exponent = i32::from(field >> self.fraction);
        let step = |exponent: i32| 2.0f64.powi(exponent + self.smallest_exponent() - self.fraction as i32);
        let value = match exponent {
            0 => f64::from(steps) * step(0),
            _ => f64::from(steps + (1 << self.fraction)) * step(exponent - 1),
        };
        if bits > self.largest() { -value } else { value }
    }

    fn to_half(self, bits: u8) -> u16 {
        super::pack(F16, self.widen(bits), Rounding::NearestEven) as u16
    }
}

/// Adds these rows.
pub fn list(t: &mut Table) {
    // `$width` is the distance between the two numbers in their register.
    macro_rules! format {
        ($n:literal, $format:expr, $width:literal) => {
            format!(@ $n, "", $format, $width, |x: f64| x, |x: u16| x);
            format!(@ $n, ".relu", $format, $width, |x: f64| if x.is_nan() || x > 0.0 { x } else { 0.0 }, relu);
        };
        (@ $n:literal, $m:literal, $format:expr, $width:literal, $before:expr, $after:expr) => {
            t.row(
                concat!("cvt.rn.satfinite", $m, ".", $n, "x2.f32"),
                packed($width),
                lift_call!((f32, f32) -> u16, |a, b| {
                    let one = |x: f32| u16::from($format.narrow($before(f64::from(x))));
                    one(a) << $width | one(b)
                }),
            );
            t.row(
                concat!("cvt.rn", $m, ".f16x2.", $n, "x2"),
                CONVERTED,
                lift_call!((u16) -> u32, |a| {
                    let one = |x: u16| u32::from($after($format.to_half((x & ((1 << $width) - 1)) as u8)));
                    one(a >> $width) << 16 | one(a)
                }),
            );
            t.row(
                concat!("cvt.rn.satfinite", $m, ".", $n, "x2.f16x2"),
                CONVERTED,
                lift_call!((u32) -> u16, |a| {
                    let one = |x: u32| u16::from($format.narrow($before(f64::from(half_to_f32(x as u16)))));
                    one(a >> 16) << $width | one(a)
                }),
            );
        };
    }
    format!("e2m1", E2M1, 4);
    format!("e2m3", E2M3, 8);
    format!("e3m2", E3M2, 8);
    // A scale is a power of two, or NaN; all are exact in `bf16`.
    t.row("cvt.rn.bf16x2.ue8m0x2", CONVERTED, lift_call!((u16) -> u32, |a| scale(a >> 8) << 16 | scale(a & 0xff)));
}

/// Converts a scale, 2^(x - 127), to `bf16`.
fn scale(x: u16) -> u32 {
    match x {
        0 => 0x0040,
        0xff => 0x7fff,
        _ => u32::from(x) << 7,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::testing::check;

    #[test]
    fn every_number_comes_back() {
        for format in [E2M1, E2M3, E3M2] {
            for bits in 0..=2 * format.largest() + 1 {
                assert_eq!(format.narrow(format.widen(bits)), bits, "{bits:02x}");
            }
        }
        assert_eq!([E2M1, E2M3, E3M2].map(|format| format.widen(format.largest())), [6.0, 7.5, 28.0]);
    }

    #[test]
    fn conversions() {
        check(&[
            // 1.0 and -6.0.
            ("cvt.rn.satfinite.e2m1x2.f32", &[0x3f80_0000, 0xc0c0_0000], &[0x2f]),
            // 5.0 is halfway between 4.0 and 6.0; 0.25 between 0 and 0.5.
            ("cvt.rn.satfinite.e2m1x2.f32", &[0x40a0_0000, 0x3e80_0000], &[0x60]),
            ("cvt.rn.satfinite.e2m1x2.f32", &[0x7fc0_0000, 0xff80_0000], &[0x7f]),
            ("cvt.rn.satfinite.relu.e2m1x2.f32", &[0xc0c0_0000, 0x3f80_0000], &[0x02]),
            ("cvt.rn.satfinite.e2m3x2.f32", &[0x3f80_0000, 0x40f0_0000], &[0x081f]),
            ("cvt.rn.satfinite.e3m2x2.f32", &[0x3f80_0000, 0xc2c8_0000], &[0x0c3f]),
            ("cvt.rn.f16x2.e2m1x2", &[0x2f], &[0x3c00_c600]),
            ("cvt.rn.relu.f16x2.e2m1x2", &[0x2f], &[0x3c00_0000]),
            ("cvt.rn.f16x2.e3m2x2", &[0x0c3f], &[0x3c00_cf00]),
            ("cvt.rn.satfinite.e2m3x2.f16x2", &[0x3c00_4800], &[0x081f]),
            ("cvt.rn.bf16x2.ue8m0x2", &[0x7fff], &[0x3f80_7fff]),
            ("cvt.rn.bf16x2.ue8m0x2", &[0x0001], &[0x0040_0080]),
        ]);
    }
}
