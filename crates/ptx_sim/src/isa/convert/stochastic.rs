//! `cvt.rs`: stochastic rounding of `f32`, by random bits that an operand provides. PTX ISA, "cvt".
//!
//! The manual's rule: a result is rounded away from zero if adding the random bits to the discarded bits of the
//! significand carries out. The random bits are aligned with the highest discarded bits, of which there are more where
//! the result is a subnormal number.
//!
//! | destination | random bits |
//! |---|---|
//! | `f16x2` | the lower 13 bits of each half of `rbits`: the upper half's for `a`, the lower half's for `b` |
//! | `bf16x2` | the upper half of `rbits` for `a`, the lower half for `b` |
//! | `e4m3x4`, `e5m2x4`, `e2m3x4`, `e3m2x4` | the upper half for `a` and `b`, the lower half for `e` and `f` |
//! | `e2m1x4` | the upper bytes of both halves for `a` and `b`, the lower bytes of both for `e` and `f` |
//!
//! The manual's text does not state how two operands use the same 16 bits. Here `b` and `f` use them as they are, and
//! `a` and `e` in reverse order, as two projects found on a B200: FlashInfer (`mamba/conversion.cuh`, for `e4m3x4`) and
//! a prototype of PyTorch's casts (for `e4m3x4` and `e2m1x4`). That other formats do the same is an assumption.

use crate::isa::facts::{Facts, Fidelity, Latency, Undefined, Work, facts};
use crate::isa::lift::lift_call;
use crate::isa::table::Table;

/// Facts of a conversion to fields of `bits` bits.
const fn rounded(bits: u8) -> Facts {
    facts(Undefined::Rounded(bits), Work::None, Latency::Alu, Fidelity::Exact)
}

/// Facts of the formats for which the use of the random bits is an assumption.
const fn assumed(bits: u8) -> Facts {
    let reason = "two numbers share random bits as observed for `e4m3x4` and `e2m1x4`; PTX's text leaves this open";
    Facts { fidelity: Fidelity::Approximate(reason), ..rounded(bits) }
}

/// A narrow floating-point format; the bits are those below the sign.
#[derive(Clone, Copy)]
struct Narrow {
    /// Bits of the fraction.
    fraction: u32,
    /// Exponent of the smallest normal numbers.
    lowest: i32,
    /// Bits of the largest finite number.
    largest: u32,
    /// Bits of a number beyond, without `.satfinite`.
    infinity: u32,
    /// Bits of NaN; the largest number in formats without NaN.
    nan: u32,
    /// The sign bit.
    sign: u32,
}

impl Narrow {
    const F16: Self = Self { fraction: 10, lowest: -14, largest: 0x7bff, infinity: 0x7c00, nan: 0x7fff, sign: 0x8000 };
    const BF16: Self = Self { fraction: 7, lowest: -126, largest: 0x7f7f, infinity: 0x7f80, nan: 0x7fff, sign: 0x8000 };
    const E4M3: Self = Self { fraction: 3, lowest: -6, largest: 0x7e, infinity: 0x7e, nan: 0x7f, sign: 0x80 };
    const E5M2: Self = Self { fraction: 2, lowest: -14, largest: 0x7b, infinity: 0x7b, nan: 0x7f, sign: 0x80 };
    const E2M3: Self = Self { fraction: 3, lowest: 0, largest: 0x1f, infinity: 0x1f, nan: 0x1f, sign: 0x20 };
    const E3M2: Self = Self { fraction: 2, lowest: -2, largest: 0x1f, infinity: 0x1f, nan: 0x1f, sign: 0x20 };
    const E2M1: Self = Self { fraction: 1, lowest: 0, largest: 0x7, infinity: 0x7, nan: 0x7, sign: 0x8 };

    /// Rounds by `bits` random bits. `.relu` replaces negative results by zero.
    fn round(self, x: f32, random: u32, bits: u32, (relu, finite): (bool, bool)) -> u32 {
        if x.is_nan() {
            return self.nan;
        }
        let largest = if finite { self.largest } else { self.infinity };
        let magnitude =
            if x.is_infinite() { largest } else { self.magnitude(x.abs().into(), random, bits).min(largest) };
        match (x.is_sign_negative(), relu) {
            (false, _) => magnitude,
            (true, false) => self.sign | magnitude,
            (true, true) => 0,
        }
    }

    fn magnitude(self, x: f64, random: u32, bits: u32) -> u32 {
        let exponent = ((x.to_bits() >> 52) as i32 - 1023).max(self.lowest);
        let steps = x * 2.0f64.powi(self.fraction as i32 - exponent);
        // Both addends are multiples of 2^-40 where the sum is near 1, so that it is exact.
        let carries = steps.fract() + f64::from(random) / f64::from(1 << bits) >= 1.0;
        // A normal number's hidden bit adds one to the field of the exponent.
        (((exponent - self.lowest) as u32) << self.fraction) + steps as u32 + u32::from(carries)
    }
}

/// Returns the random bits of `a`, `b`, `e` and `f` where each half of `halves` is for two of them.
fn shared(halves: u32) -> [u32; 4] {
    let (upper, lower) = ((halves >> 16) as u16, halves as u16);
    [upper.reverse_bits(), upper, lower.reverse_bits(), lower].map(u32::from)
}

/// Collects the upper bytes of both halves in the upper half, and the lower bytes in the lower half.
fn bytes_of_halves(bits: u32) -> u32 {
    let [b0, b1, b2, b3] = bits.to_le_bytes();
    u32::from_le_bytes([b0, b2, b1, b3])
}

/// Packs four numbers, the first above the others, to fields of `width` bits.
fn four(format: Narrow, width: u32, x: [f32; 4], random: u32, relu: bool) -> u32 {
    let each = x.into_iter().zip(shared(random));
    each.fold(0, |all, (x, random)| all << width | format.round(x, random, 16, (relu, true)))
}

/// Adds these rows.
pub fn list(t: &mut Table) {
    macro_rules! two {
        ($n:literal, $format:expr, $bits:literal) => {
            two!(@ $n, $format, $bits, "", false, false);
            two!(@ $n, $format, $bits, ".relu", true, false);
            two!(@ $n, $format, $bits, ".satfinite", false, true);
            two!(@ $n, $format, $bits, ".relu.satfinite", true, true);
        };
        (@ $n:literal, $format:expr, $bits:literal, $m:literal, $relu:literal, $finite:literal) => {
            t.row(
                concat!("cvt.rs", $m, ".", $n, "x2.f32"),
                rounded(16),
                lift_call!((f32, f32, u32) -> u32, |a, b, random| {
                    let half = |x, random: u32| {
                        $format.round(x, random & ((1 << $bits) - 1), $bits, ($relu, $finite))
                    };
                    half(a, random >> 16) << 16 | half(b, random)
                }),
            );
        };
    }
    two!("f16", Narrow::F16, 13);
    two!("bf16", Narrow::BF16, 16);
    macro_rules! four {
        ($n:literal, $facts:expr, $d:ty, |$values:ident, $random:ident, $relu:ident| $value:expr) => {
            four!(@ $n, "", $facts, $d, false, |$values, $random, $relu| $value);
            four!(@ $n, ".relu", $facts, $d, true, |$values, $random, $relu| $value);
        };
        (@ $n:literal, $m:literal, $facts:expr, $d:ty, $is:literal,
         |$x:ident, $random:ident, $relu:ident| $value:expr) => {
            t.row(
                concat!("cvt.rs", $m, ".satfinite.", $n, "x4.f32"),
                $facts,
                lift_call!((f32, f32, f32, f32, u32) -> $d, |a, b, e, f, random| {
                    let ($x, $random, $relu) = ([a, b, e, f], random, $is);
                    $value
                }),
            );
        };
    }
    four!("e4m3", rounded(8), u32, |x, random, relu| four(Narrow::E4M3, 8, x, random, relu));
    four!("e5m2", assumed(8), u32, |x, random, relu| four(Narrow::E5M2, 8, x, random, relu));
    four!("e2m3", assumed(8), u32, |x, random, relu| four(Narrow::E2M3, 8, x, random, relu));
    four!("e3m2", assumed(8), u32, |x, random, relu| four(Narrow::E3M2, 8, x, random, relu));
    four!("e2m1", rounded(4), u16, |x, random, relu| {
        four(Narrow::E2M1, 4, x, bytes_of_halves(random), relu) as u16
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::testing::{check, run};

    /// The manual's rule in integers: the random bits are added below the kept bits of the significand.
    fn by_carry(format: Narrow, x: f32, random: u32, bits: u32) -> u32 {
        let field = (x.to_bits() >> 23 & 0xff) as i32;
        let significand = u128::from(x.to_bits() & 0x7f_ffff | u32::from(field != 0) << 23);
        let exponent = field.max(1) - 127;
        // Bits below the last one that the format keeps.
        let discarded = 23 - format.fraction as i32 + (format.lowest - exponent).max(0);
        if discarded > 100 {
            return 0;
        }
        let sum = significand + (u128::from(random) << (discarded as u32 - bits));
        let kept = (sum >> discarded) as u32;
        (((exponent.max(format.lowest) - format.lowest) as u32) << format.fraction) + kept
    }

    #[test]
    fn magnitudes_carry() {
        let mut state = 1u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state >> 8 ^ state << 16
        };
        for (format, bits) in [
            (Narrow::F16, 13),
            (Narrow::BF16, 16),
            (Narrow::E4M3, 16),
            (Narrow::E5M2, 16),
            (Narrow::E2M3, 16),
            (Narrow::E3M2, 16),
            (Narrow::E2M1, 16),
        ] {
            for _ in 0..20_000 {
                // Exponents around those of the format, and some of all.
                let word = next();
                let exponent = match word & 3 {
                    0 => next() % 255,
                    _ => (127 + format.lowest - 12 + (next() % 24) as i32).clamp(0, 254) as u32,
                };
                let x = f32::from_bits(exponent << 23 | next() & 0x7f_ffff);
                let random = next() & ((1 << bits) - 1);
                let expected = by_carry(format, x, random, bits);
                assert_eq!(format.magnitude(x.into(), random, bits), expected, "{x:e} by {random:x}");
            }
        }
    }

    /// Of all random bits, the part that rounds away from zero is the discarded part of the number.
    #[test]
    fn rounding_is_unbiased() {
        // 1 + 5/64 lies between 1 and 1 + 1/8, at 5/8 of the distance; 5/64 of 1/2 at 5/32.
        for (opcode, x, width, up, ups) in [
            ("cvt.rs.satfinite.e4m3x4.f32", 1.0 + 5.0 / 64.0, 8, 0x39, 65_536 * 5 / 8),
            ("cvt.rs.satfinite.e5m2x4.f32", 1.0 + 5.0 / 64.0, 8, 0x3d, 65_536 * 5 / 16),
            ("cvt.rs.satfinite.e2m3x4.f32", 1.0 + 5.0 / 64.0, 8, 0x09, 65_536 * 5 / 8),
            ("cvt.rs.satfinite.e3m2x4.f32", 1.0 + 5.0 / 64.0, 8, 0x0d, 65_536 * 5 / 16),
            ("cvt.rs.satfinite.e2m1x4.f32", 5.0 / 64.0, 4, 0x1, 65_536 * 5 / 32),
        ] {
            let x = u64::from(f32::to_bits(x));
            let mut found = [0; 4];
            for random in 0..=0xffff_u64 {
                let both = random << 16 | random;
                // For `e2m1x4`, the bytes of 16 bits are in both halves.
                let both = if width == 4 { (random & 0xff) * 0x101 + (random >> 8) * 0x101_0000 } else { both };
                let result = run(opcode, &[x, x, x, x, both])[0];
                for (i, found) in found.iter_mut().enumerate() {
                    *found += u64::from(result >> (width * i) & ((1 << width) - 1) == up);
                }
            }
            assert_eq!(found, [ups; 4], "{opcode}");
        }
    }

    #[test]
    fn each_number_has_its_random_bits() {
        // The value 1 and half of the last place: one random bit decides.
        let f16 = u64::from((1.0 + 2.0f32.powi(-11)).to_bits());
        let bf16 = u64::from((1.0 + 2.0f32.powi(-8)).to_bits());
        let e4m3 = u64::from((1.0 + 2.0f32.powi(-4)).to_bits());
        let e2m1 = u64::from(1.25f32.to_bits());
        let word = |opcode: &str, x: u64, random: u64| run(opcode, &[x, x, random])[0];
        assert_eq!(word("cvt.rs.f16x2.f32", f16, 1 << 28), 0x3c01_3c00);
        assert_eq!(word("cvt.rs.f16x2.f32", f16, 1 << 12), 0x3c00_3c01);
        assert_eq!(word("cvt.rs.f16x2.f32", f16, 0xefff_efff), 0x3c00_3c00);
        assert_eq!(word("cvt.rs.bf16x2.f32", bf16, 1 << 31), 0x3f81_3f80);
        assert_eq!(word("cvt.rs.bf16x2.f32", bf16, 1 << 15), 0x3f80_3f81);
        let four = |opcode: &str, x: u64, random: u64| run(opcode, &[x, x, x, x, random])[0];
        let on = |bit: u32| four("cvt.rs.satfinite.e4m3x4.f32", e4m3, 1 << bit);
        assert_eq!([on(16), on(31), on(0), on(15)], [0x3938_3838, 0x3839_3838, 0x3838_3938, 0x3838_3839]);
        let on = |bit: u32| four("cvt.rs.satfinite.e2m1x4.f32", e2m1, 1 << bit);
        assert_eq!([on(8), on(31), on(0), on(23)], [0x3222, 0x2322, 0x2232, 0x2223]);
    }

    #[test]
    fn special_values() {
        const NAN: u64 = 0xffc0_0000;
        const INFINITY: u64 = 0x7f80_0000;
        const MINUS_ONE: u64 = 0xbf80_0000;
        check(&[
            ("cvt.rs.f16x2.f32", &[NAN, INFINITY, 0], &[0x7fff_7c00]),
            ("cvt.rs.satfinite.f16x2.f32", &[NAN, INFINITY, 0], &[0x7fff_7bff]),
            // 65520 is halfway between the largest number and 65536.
            ("cvt.rs.f16x2.f32", &[0x477f_f000, 0x477f_f000, 0x1000_0fff], &[0x7c00_7bff]),
            ("cvt.rs.satfinite.f16x2.f32", &[0x477f_f000, 0x4780_0000, 0x1000_0000], &[0x7bff_7bff]),
            ("cvt.rs.relu.f16x2.f32", &[MINUS_ONE, NAN, 0], &[0x0000_7fff]),
            ("cvt.rs.bf16x2.f32", &[MINUS_ONE, 0x8000_0001, 0xffff_ffff], &[0xbf80_8001]),
            ("cvt.rs.relu.satfinite.bf16x2.f32", &[0xff80_0000, INFINITY, 0], &[0x0000_7f7f]),
            ("cvt.rs.satfinite.e4m3x4.f32", &[NAN, INFINITY, 0xff80_0000, 0x43ef_0000, u64::MAX], &[0x7f7e_fe7e]),
            ("cvt.rs.relu.satfinite.e4m3x4.f32", &[NAN, MINUS_ONE, 0x8000_0000, 0x3f80_0000, 0], &[0x7f00_0038]),
            ("cvt.rs.satfinite.e5m2x4.f32", &[NAN, INFINITY, MINUS_ONE, 0x4780_0000, 0], &[0x7f7b_bc7b]),
            ("cvt.rs.satfinite.e2m3x4.f32", &[NAN, 0xff80_0000, MINUS_ONE, 0x4110_0000, 0], &[0x1f3f_281f]),
            ("cvt.rs.satfinite.e3m2x4.f32", &[NAN, 0xff80_0000, MINUS_ONE, 0x41f0_0000, 0], &[0x1f3f_2c1f]),
            ("cvt.rs.satfinite.e2m1x4.f32", &[NAN, 0xff80_0000, MINUS_ONE, 0x40f0_0000, 0], &[0x7fa7]),
            ("cvt.rs.relu.satfinite.e2m1x4.f32", &[NAN, 0xff80_0000, MINUS_ONE, 0x3f80_0000, 0], &[0x7002]),
        ]);
    }
}
