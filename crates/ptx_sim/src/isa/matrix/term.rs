//! Unpacked numbers, whose products are exact.

use super::shape::Element;
use crate::isa::soft::Format;

/// Fractional bits of a sum of products, relative to its largest term.
pub const FRACTION: i32 = 25;

/// An unpacked number: `significand * 2^(exponent - fraction)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Term {
    pub significand: i64,
    /// Exponent of the bit before the point, also for subnormal numbers.
    pub exponent: i32,
    pub fraction: i32,
    pub special: Special,
}

/// Whether a number is finite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Special {
    None,
    Infinity { negative: bool },
    Nan,
}

impl Term {
    /// Whether the number is infinite or NaN.
    pub fn is_special(&self) -> bool {
        self.special != Special::None
    }

    /// Unpacks the bits of a factor.
    pub fn of(element: Element, bits: u64) -> Self {
        match element {
            Element::F16 => Self::apart(Format { precision: 11, emax: 15 }, bits),
            Element::Bf16 => Self::apart(Format { precision: 8, emax: 127 }, bits),
            // The lower 13 bits are ignored.
            Element::Tf32 => Self::apart(Format { precision: 11, emax: 127 }, bits >> 13),
            Element::E5m2 => Self::apart(Format { precision: 3, emax: 15 }, bits),
            Element::E4m3 if bits & 0x7f == 0x7f => {
                Term { significand: 0, exponent: 0, fraction: 3, special: Special::Nan }
            }
            // There is no infinity: the largest exponent is that of a number.
            Element::E4m3 => {
                let (field, low) = (bits as i32 >> 3 & 15, bits as i64 & 7);
                let significand = if field == 0 { low } else { low | 8 };
                let significand = if bits & 0x80 != 0 { -significand } else { significand };
                Term { significand, exponent: field.max(1) - 7, fraction: 3, special: Special::None }
            }
            _ => Term { significand: 0, exponent: 0, fraction: 0, special: Special::Nan },
        }
    }

    /// Unpacks a number of single precision.
    pub fn single(bits: u32) -> Self {
        Self::apart(Format { precision: 24, emax: 127 }, u64::from(bits))
    }

    pub fn apart(format: Format, bits: u64) -> Self {
        let fraction = format.precision as i32 - 1;
        let width = 32 - (2 * format.emax as u32 + 1).leading_zeros();
        let field = (bits >> fraction) as i32 & ((1 << width) - 1);
        let negative = bits >> (fraction as u32 + width) & 1 != 0;
        let low = (bits & ((1 << fraction) - 1)) as i64;
        let special = match (field == (1 << width) - 1, low) {
            (true, 0) => Special::Infinity { negative },
            (true, _) => Special::Nan,
            _ => Special::None,
        };
        let significand = if field == 0 { low } else { low | 1 << fraction };
        let significand = if negative { -significand } else { significand };
        Term { significand, exponent: field.max(1) - format.emax, fraction, special }
    }

    /// Returns the exact product.
    pub fn times(self, other: Self) -> Self {
        let negative = |x: &Term| match x.special {
            Special::Infinity { negative } => negative,
            _ => x.significand < 0,
        };
        let special = match (self.special, other.special) {
            (Special::Nan, _) | (_, Special::Nan) => Special::Nan,
            (Special::None, Special::None) => Special::None,
            (Special::Infinity { .. }, Special::None) if other.significand == 0 => Special::Nan,
            (Special::None, Special::Infinity { .. }) if self.significand == 0 => Special::Nan,
            _ => Special::Infinity { negative: negative(&self) != negative(&other) },
        };
        Term {
            significand: self.significand * other.significand,
            exponent: self.exponent + other.exponent,
            fraction: self.fraction + other.fraction,
            special,
        }
    }
}
