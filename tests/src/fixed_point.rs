//! Exact sums of floats, as fixed-point numbers with a bit for every bit of an f64.

/// Weight of the lowest bit: the smallest positive f64 is `2^-1074`.
const LOWEST: i32 = -1074;

/// Digits of 32 bits: 2098 for the bits of an f64, and the others for carries.
const DIGITS: usize = 70;

/// An exact sum of finite floats: the sum of `digits[k] * 2^(32 * k - 1074)`, whose digits may have any sign. Up to
/// `2^30` numbers fit.
#[derive(Clone, Debug)]
pub struct Exact {
    digits: [i64; DIGITS],
}

impl Exact {
    /// The sum of these numbers.
    ///
    /// # Panics
    /// Panics if one of them is not finite.
    pub fn sum(values: impl IntoIterator<Item = f64>) -> Self {
        let mut sum = Self { digits: [0; DIGITS] };
        values.into_iter().for_each(|x| sum.add(x));
        sum
    }

    /// Adds a number.
    ///
    /// # Panics
    /// Panics if it is not finite.
    pub fn add(&mut self, x: f64) {
        assert!(x.is_finite(), "{x} has no fixed-point number");
        let (fraction, exponent) = (x.to_bits() & ((1 << 52) - 1), (x.to_bits() >> 52 & 0x7ff) as i32);
        // A subnormal number has the exponent of the smallest normal one, and no leading bit.
        let (mantissa, exponent) = if exponent == 0 { (fraction, 1) } else { (fraction | 1 << 52, exponent) };
        let shift = (exponent - 1075 - LOWEST) as usize;
        let wide = u128::from(mantissa) << (shift % 32);
        for k in 0..3 {
            let part = (wide >> (32 * k)) as u32;
            self.digits[shift / 32 + k] += if x < 0.0 { -i64::from(part) } else { part.into() };
        }
    }

    /// The difference to a float, rounded to about 50 bits.
    pub fn minus(&self, x: f64) -> f64 {
        let mut difference = self.clone();
        difference.add(-x);
        difference.to_f64()
    }

    /// The sum, rounded to about 50 bits.
    pub fn to_f64(&self) -> f64 {
        let mut digits = self.digits;
        let mut carry = 0;
        for digit in &mut digits {
            let value = *digit + carry;
            (*digit, carry) = (value & 0xffff_ffff, value >> 32);
        }
        if carry < 0 {
            // Of a negative number the digits are a complement: negate them all, and the result.
            let negative = Self { digits: self.digits.map(|digit| -digit) };
            return -negative.to_f64();
        }
        assert_eq!(carry, 0, "more carries than there are digits for");
        let Some(top) = digits.iter().rposition(|digit| *digit != 0) else { return 0.0 };
        let low = top.saturating_sub(2);
        let value = digits[low..=top].iter().rev().fold(0.0, |value, digit| value * 2_f64.powi(32) + *digit as f64);
        // Two steps, since the scale itself may be beyond the range of f64.
        let scale = 32 * low as i32 + LOWEST;
        value * 2_f64.powi(scale / 2) * 2_f64.powi(scale - scale / 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_of_integers() {
        let integers = [0_i64, 1, -1, 7, 1 << 52, -(1 << 52), (1 << 51) - 1, -12_345_678_901, 3];
        for a in integers {
            for b in integers {
                for scale in [1.0, 2_f64.powi(-1074), 2_f64.powi(900), 2_f64.powi(-31), 2_f64.powi(-33)] {
                    let sum = Exact::sum([a as f64 * scale, b as f64 * scale]);
                    assert_eq!(sum.to_f64(), (a + b) as f64 * scale, "{a} + {b}, times {scale:e}");
                    assert_eq!(sum.minus((a + b) as f64 * scale), 0.0);
                }
            }
        }
    }

    #[test]
    fn nothing_is_rounded() {
        let sum = Exact::sum([f64::MAX, 5e-324, 1.0, -f64::MAX, -1.0]);
        assert_eq!((sum.to_f64(), sum.minus(0.0), sum.minus(1e-323)), (5e-324, 5e-324, -5e-324));
        assert_eq!(
            Exact::sum(vec![0.1; 10]).minus(1.0),
            10.0 * (0.1 - 3602879701896397.0 * 2_f64.powi(-55)) + 2_f64.powi(-54)
        );
        assert_eq!(Exact::sum([1e16, 1.0, -1e16, 1.0]).to_f64(), 2.0);
        assert_eq!(Exact::sum([1.0, 2_f64.powi(-80)]).minus(1.0), 2_f64.powi(-80));
        assert_eq!(Exact::sum([-1.5, -0.0]).to_f64(), -1.5);
    }
}
