//! Maxima and minima of `f64` by integers of the same order.
//!
//! The maximum of IEEE 754-2019 of two `f64` takes about ten instructions, for NaN and for zeros of both signs, one
//! after the other. An `f64` becomes an integer of the same order once, in a few instructions, and a maximum of
//! integers takes four.

use crate::operator::Operator;

/// What takes the place of a maximum or minimum of `f64`: an operator on their keys, which are integers of the same
/// order.
pub trait Keys: Operator<i64> {
    /// The key of NaN, which no other key wins against.
    const NAN: i64;

    /// The key of a number.
    #[inline(always)]
    fn key(x: f64) -> i64 {
        if x.is_nan() { Self::NAN } else { flip(x.to_bits().cast_signed()) }
    }

    /// The number of a key.
    #[inline(always)]
    fn number(key: i64) -> f64 {
        f64::from_bits(flip(key).cast_unsigned())
    }
}

/// Inverts the bits below the sign if that is set, which gives floats the order of integers; and undoes that.
#[inline(always)]
const fn flip(bits: i64) -> i64 {
    bits ^ ((bits >> 63).cast_unsigned() >> 1).cast_signed()
}

/// The maximum.
pub struct Largest;

impl Operator<i64> for Largest {
    const COMMUTATIVE: bool = true;

    #[inline(always)]
    fn identity() -> i64 {
        flip(f64::NEG_INFINITY.to_bits().cast_signed())
    }
    #[inline(always)]
    fn combine(a: i64, b: i64) -> i64 {
        Ord::max(a, b)
    }
}

impl Keys for Largest {
    const NAN: i64 = i64::MAX;
}

/// The minimum.
pub struct Smallest;

impl Operator<i64> for Smallest {
    const COMMUTATIVE: bool = true;

    #[inline(always)]
    fn identity() -> i64 {
        flip(f64::INFINITY.to_bits().cast_signed())
    }
    #[inline(always)]
    fn combine(a: i64, b: i64) -> i64 {
        Ord::min(a, b)
    }
}

impl Keys for Smallest {
    const NAN: i64 = i64::MIN;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_the_order_of_numbers_and_nan_wins() {
        let ascending =
            [f64::NEG_INFINITY, f64::MIN, -1.0, -f64::MIN_POSITIVE, -5e-324, -0.0, 0.0, 5e-324, 1.0, f64::MAX];
        let keys = ascending.map(Largest::key);
        assert!(keys.is_sorted() && keys.windows(2).all(|pair| pair[0] < pair[1]));
        for (x, key) in ascending.into_iter().zip(keys) {
            assert_eq!((Largest::number(key).to_bits(), Smallest::key(x)), (x.to_bits(), key));
        }
        for nan in [f64::NAN, -f64::NAN] {
            assert!(Largest::number(Largest::combine(Largest::key(nan), Largest::key(f64::INFINITY))).is_nan());
            assert!(Smallest::number(Smallest::combine(Smallest::key(nan), Smallest::key(f64::NEG_INFINITY))).is_nan());
        }
        assert_eq!(Largest::number(Largest::identity()), f64::NEG_INFINITY);
        assert_eq!(Smallest::number(Smallest::identity()), f64::INFINITY);
    }
}
