//! Software floating point: exact binary operations, rounded once in any direction to any format.
//!
//! Used where the processor's own arithmetic lacks a rounding that PTX requires: directed rounding, and 16-bit formats.
//! Method: IEEE 754-2019, section 4.3, on 128-bit significands with a sticky bit.

/// A binary interchange format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// Bits of the significand, including the hidden bit.
    pub precision: u32,
    /// Exponent of the largest numbers; that of the smallest normal numbers is `1 - emax`.
    pub emax: i32,
}

/// IEEE binary16.
pub const F16: Format = Format { precision: 11, emax: 15 };
/// The upper half of binary32.
pub const BF16: Format = Format { precision: 8, emax: 127 };
/// The upper 19 bits of binary32.
pub const TF32: Format = Format { precision: 11, emax: 127 };
/// IEEE binary32.
pub const F32: Format = Format { precision: 24, emax: 127 };
/// IEEE binary64.
pub const F64: Format = Format { precision: 53, emax: 1023 };

/// PTX rounding modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// `.rn`
    NearestEven,
    /// `.rna`
    NearestAway,
    /// `.rz`
    Zero,
    /// `.rm`
    Down,
    /// `.rp`
    Up,
}

/// An unpacked number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    /// Not a number.
    Nan,
    /// Infinity; `true` if negative.
    Infinity(bool),
    /// Zero; `true` if negative.
    Zero(bool),
    /// `significand * 2^exponent`; with `sticky`, the magnitude is slightly larger.
    Finite {
        /// Sign; `true` if negative.
        negative: bool,
        /// Significand, not zero.
        significand: u128,
        /// Exponent of the significand's lowest bit.
        exponent: i32,
        /// Whether nonzero bits below the lowest bit were lost.
        sticky: bool,
    },
}

impl Format {
    const fn fraction_bits(self) -> u32 {
        self.precision - 1
    }

    const fn infinity(self) -> u64 {
        ((2 * self.emax + 1) as u64) << self.fraction_bits()
    }

    const fn sign(self) -> u64 {
        self.infinity() + (1 << self.fraction_bits())
    }

    /// Unpacks bits.
    #[inline(never)]
    pub fn unpack(self, bits: u64) -> Number {
        let negative = bits & self.sign() != 0;
        let magnitude = bits & (self.sign() - 1);
        let fraction = magnitude & ((1 << self.fraction_bits()) - 1);
        let biased = (magnitude >> self.fraction_bits()) as i32;
        let lowest = 1 - self.emax - self.fraction_bits() as i32;
        match biased {
            _ if magnitude > self.infinity() => Number::Nan,
            _ if magnitude == self.infinity() => Number::Infinity(negative),
            _ if magnitude == 0 => Number::Zero(negative),
            0 => Number::Finite { negative, significand: u128::from(fraction), exponent: lowest, sticky: false },
            _ => {
                let significand = u128::from(fraction | 1 << self.fraction_bits());
                Number::Finite { negative, significand, exponent: lowest + biased - 1, sticky: false }
            }
        }
    }

    /// Rounds to bits. NaN has all bits below the sign set.
    #[inline(never)]
    pub fn pack(self, number: Number, rounding: Rounding) -> u64 {
        let signed = |negative: bool, magnitude: u64| if negative { magnitude | self.sign() } else { magnitude };
        match number {
            Number::Nan => self.sign() - 1,
            Number::Infinity(negative) => signed(negative, self.infinity()),
            Number::Zero(negative) => signed(negative, 0),
            Number::Finite { negative, significand, exponent, sticky } => {
                signed(negative, self.round(negative, significand, exponent, sticky, rounding))
            }
        }
    }

    fn round(self, negative: bool, significand: u128, exponent: i32, sticky: bool, rounding: Rounding) -> u64 {
        let top = 127 - significand.leading_zeros() as i32;
        let lowest = 1 - self.emax - self.fraction_bits() as i32;
        let quantum = (exponent + top - self.fraction_bits() as i32).max(lowest);
        let shift = quantum - exponent;
        let (mut kept, half, rest) = match shift {
            ..=0 => (significand << -shift, false, sticky),
            1..=127 => {
                let below = significand & ((1 << shift) - 1);
                let half = 1 << (shift - 1);
                (significand >> shift, below & half != 0, below & (half - 1) != 0 || sticky)
            }
            128 => (0, significand >> 127 != 0, significand << 1 != 0 || sticky),
            _ => (0, false, true),
        };
        let up = match rounding {
            Rounding::NearestEven => half && (rest || kept & 1 != 0),
            Rounding::NearestAway => half,
            Rounding::Zero => false,
            Rounding::Down => negative && (half || rest),
            Rounding::Up => !negative && (half || rest),
        };
        kept += u128::from(up);
        // Adding the significand with its hidden bit to the exponent field carries into the next exponent if necessary.
        let magnitude = ((quantum - lowest) as u64) << self.fraction_bits();
        let magnitude = magnitude + kept as u64;
        if magnitude < self.infinity() {
            return magnitude;
        }
        let away = match rounding {
            Rounding::NearestEven | Rounding::NearestAway => true,
            Rounding::Zero => false,
            Rounding::Down => negative,
            Rounding::Up => !negative,
        };
        if away { self.infinity() } else { self.infinity() - 1 }
    }
}

/// Converts an integer.
pub fn integer(negative: bool, magnitude: u64) -> Number {
    if magnitude == 0 {
        return Number::Zero(false);
    }
    Number::Finite { negative, significand: u128::from(magnitude), exponent: 0, sticky: false }
}

/// Returns `a * b` exactly; the significands have at most 64 bits.
#[inline(never)]
pub fn multiply(a: Number, b: Number) -> Number {
    use Number::{Finite, Infinity, Nan, Zero};
    match (a, b) {
        (Nan, _) | (_, Nan) | (Infinity(_), Zero(_)) | (Zero(_), Infinity(_)) => Nan,
        (Infinity(x), Infinity(y)) => Infinity(x != y),
        (Infinity(x), Finite { negative: y, .. }) | (Finite { negative: y, .. }, Infinity(x)) => Infinity(x != y),
        (Zero(x), Zero(y)) => Zero(x != y),
        (Zero(x), Finite { negative: y, .. }) | (Finite { negative: y, .. }, Zero(x)) => Zero(x != y),
        (
            Finite { negative: x, significand: m, exponent: e, .. },
            Finite { negative: y, significand: n, exponent: f, .. },
        ) => Finite { negative: x != y, significand: m * n, exponent: e + f, sticky: false },
    }
}

/// Returns `a + b`, exact except for a sticky bit; the rounding mode determines the sign of an exact zero.
#[inline(never)]
pub fn add(a: Number, b: Number, rounding: Rounding) -> Number {
    use Number::{Finite, Infinity, Nan, Zero};
    let zero = Zero(rounding == Rounding::Down);
    match (a, b) {
        (Nan, _) | (_, Nan) => Nan,
        (Infinity(x), Infinity(y)) => {
            if x == y {
                a
            } else {
                Nan
            }
        }
        (Infinity(_), _) => a,
        (_, Infinity(_)) => b,
        (Zero(x), Zero(y)) => {
            if x == y {
                a
            } else {
                zero
            }
        }
        (Zero(_), _) => b,
        (_, Zero(_)) => a,
        (
            Finite { negative: x, significand: m, exponent: e, .. },
            Finite { negative: y, significand: n, exponent: f, .. },
        ) => {
            let top = |m: u128, e: i32| e + 127 - m.leading_zeros() as i32;
            let ((x, m, e), (y, n, f)) =
                if top(m, e) >= top(n, f) { ((x, m, e), (y, n, f)) } else { ((y, n, f), (x, m, e)) };
            // The larger number's highest bit moves to bit 125, which leaves room for a carry above and guard bits
            // below.
            let left = m.leading_zeros() as i32 - 2;
            let (m, e) = (m << left, e - left);
            let (n, sticky) = match f - e {
                shift @ 0.. => (n << shift, false),
                shift @ -127.. => (n >> -shift, n << (128 + shift) != 0),
                _ => (0, true),
            };
            let (negative, significand) = match (x == y, m.cmp(&n)) {
                (true, _) => (x, m + n),
                (false, std::cmp::Ordering::Less) => (y, n - m),
                // The lost bits are subtracted too.
                (false, _) => (x, m - n - u128::from(sticky)),
            };
            if significand == 0 { zero } else { Finite { negative, significand, exponent: e, sticky } }
        }
    }
}

/// Returns `a / b`, exact except for a sticky bit; the significands have at most 53 bits.
#[inline(never)]
pub fn divide(a: Number, b: Number) -> Number {
    use Number::{Finite, Infinity, Nan, Zero};
    match (a, b) {
        (Nan, _) | (_, Nan) | (Infinity(_), Infinity(_)) | (Zero(_), Zero(_)) => Nan,
        (Infinity(x), Zero(y)) => Infinity(x != y),
        (Infinity(x), Finite { negative: y, .. }) | (Finite { negative: x, .. }, Zero(y)) => Infinity(x != y),
        (Zero(x), Infinity(y)) => Zero(x != y),
        (Zero(x), Finite { negative: y, .. }) | (Finite { negative: x, .. }, Infinity(y)) => Zero(x != y),
        (
            Finite { negative: x, significand: m, exponent: e, .. },
            Finite { negative: y, significand: n, exponent: f, .. },
        ) => {
            let left = m.leading_zeros() as i32;
            let m = m << left;
            Finite { negative: x != y, significand: m / n, exponent: e - left - f, sticky: !m.is_multiple_of(n) }
        }
    }
}

/// Returns the square root, exact except for a sticky bit.
#[inline(never)]
pub fn square_root(a: Number) -> Number {
    use Number::{Finite, Infinity, Nan, Zero};
    match a {
        Nan | Infinity(true) | Finite { negative: true, .. } => Nan,
        Infinity(false) | Zero(_) => a,
        Finite { significand, exponent, .. } => {
            // The exponent must be even before it is halved.
            let left = significand.leading_zeros() as i32;
            let left = if (exponent - left) % 2 == 0 { left } else { left - 1 };
            let m = significand << left;
            let root = m.isqrt();
            Finite { negative: false, significand: root, exponent: (exponent - left) / 2, sticky: root * root != m }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bit patterns that cover every exponent and many carries.
    fn samples() -> impl Iterator<Item = u32> {
        let special = [0u32, 1, 2, 0x7f_ffff, 0x80_0000, 0x80_0001, 0x3f80_0000, 0x7f7f_ffff, 0x7f80_0000, 0x7fc0_0000];
        let spread = (0..400u32).map(|i| i.wrapping_mul(0x9e37_79b9) ^ i << 7);
        special.into_iter().flat_map(|bits| [bits, bits | 1 << 31]).chain(spread)
    }

    fn same(found: u64, expected: f32) -> bool {
        f32::from_bits(found as u32).is_nan() && expected.is_nan() || found == u64::from(expected.to_bits())
    }

    #[test]
    fn rounding_to_nearest_equals_the_processor() {
        let n = Rounding::NearestEven;
        for a in samples() {
            let x = F32.unpack(u64::from(a));
            let fa = f32::from_bits(a);
            assert!(same(F32.pack(square_root(x), n), fa.sqrt()), "sqrt {a:x}");
            for b in samples() {
                let (y, fb) = (F32.unpack(u64::from(b)), f32::from_bits(b));
                assert!(same(F32.pack(add(x, y, n), n), fa + fb), "{a:x} + {b:x}");
                assert!(same(F32.pack(multiply(x, y), n), fa * fb), "{a:x} * {b:x}");
                assert!(same(F32.pack(divide(x, y), n), fa / fb), "{a:x} / {b:x}");
                let c = a.rotate_left(9) ^ b;
                let fused = add(multiply(x, y), F32.unpack(u64::from(c)), n);
                assert!(same(F32.pack(fused, n), fa.mul_add(fb, f32::from_bits(c))), "fma {a:x} {b:x} {c:x}");
            }
        }
    }

    #[test]
    fn doubles_equal_the_processor() {
        let n = Rounding::NearestEven;
        for a in samples() {
            for b in samples() {
                let (a, b) = (u64::from(a) << 32 | u64::from(b), u64::from(b) << 32 | u64::from(a.rotate_left(5)));
                let (x, y) = (f64::from_bits(a), f64::from_bits(b));
                let z = f64::from_bits(a ^ b.rotate_left(13));
                let cases = [
                    (add(F64.unpack(a), F64.unpack(b), n), x + y),
                    (divide(F64.unpack(a), F64.unpack(b)), x / y),
                    (square_root(F64.unpack(a)), x.sqrt()),
                    (add(multiply(F64.unpack(a), F64.unpack(b)), F64.unpack(z.to_bits()), n), x.mul_add(y, z)),
                ];
                for (found, expected) in cases {
                    let found = f64::from_bits(F64.pack(found, n));
                    assert!(
                        found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan(),
                        "{a:x} {b:x}"
                    );
                }
            }
        }
    }

    #[test]
    fn directed_results_enclose_the_exact_one() {
        for a in samples() {
            for b in samples() {
                let (x, y) = (F32.unpack(u64::from(a)), F32.unpack(u64::from(b)));
                let quotient = divide(x, y);
                if matches!(quotient, Number::Nan) {
                    continue;
                }
                let [down, near, up] = [Rounding::Down, Rounding::NearestEven, Rounding::Up]
                    .map(|r| f32::from_bits(F32.pack(quotient, r) as u32));
                assert!(down <= near && near <= up && (down == up || down.next_up() == up), "{a:x} / {b:x}");
            }
        }
    }
}
