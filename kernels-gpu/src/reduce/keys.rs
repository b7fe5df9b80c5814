//! Maxima and minima of `f64` by integers of the same order.
//!
//! The maximum of IEEE 754-2019 of two `f64` takes about ten instructions, for NaN and for zeros of both signs, one
//! after the other. An `f64` becomes an integer of the same order once, in five instructions, and a maximum of integers
//! takes four.

use crate::operator::Operator;

/// What takes the place of a maximum or minimum of `f64`: an operator on their keys, which are integers of the same
/// order. They begin where every NaN, of either sign, lies on the side that wins.
pub trait Keys: Operator<u64> {
    /// The place of key 0 in the order of IEEE 754's `totalOrder`.
    const BEGIN: i64;

    /// The key of a number.
    #[inline(always)]
    fn key(x: f64) -> u64 {
        flip(x.to_bits().cast_signed()).wrapping_sub(Self::BEGIN).cast_unsigned()
    }

    /// The number of a key.
    #[inline(always)]
    fn number(key: u64) -> f64 {
        f64::from_bits(flip(key.cast_signed().wrapping_add(Self::BEGIN)).cast_unsigned())
    }

    /// Whether a key is that of a NaN.
    fn is_nan(key: u64) -> bool;
}

/// Inverts the bits below the sign if that is set, which gives floats the order of integers; and undoes that.
#[inline(always)]
const fn flip(bits: i64) -> i64 {
    bits ^ ((bits >> 63).cast_unsigned() >> 1).cast_signed()
}

/// The maximum.
pub struct Largest;

impl Operator<u64> for Largest {
    const COMMUTATIVE: bool = true;

    /// The key of negative infinity.
    #[inline(always)]
    fn identity() -> u64 {
        0
    }
    #[inline(always)]
    fn combine(a: u64, b: u64) -> u64 {
        Ord::max(a, b)
    }
}

impl Keys for Largest {
    /// At negative infinity. What lies below it, NaN with a sign, is above all others.
    const BEGIN: i64 = flip(f64::NEG_INFINITY.to_bits().cast_signed());

    #[inline(always)]
    fn is_nan(key: u64) -> bool {
        key > Self::key(f64::INFINITY)
    }
}

/// The minimum.
pub struct Smallest;

impl Operator<u64> for Smallest {
    const COMMUTATIVE: bool = true;

    /// The key of infinity.
    #[inline(always)]
    fn identity() -> u64 {
        u64::MAX
    }
    #[inline(always)]
    fn combine(a: u64, b: u64) -> u64 {
        Ord::min(a, b)
    }
}

impl Keys for Smallest {
    /// Above infinity. What lies there, NaN without a sign, is below all others, and NaN with a sign follows it.
    const BEGIN: i64 = flip(f64::INFINITY.to_bits().cast_signed()) + 1;

    #[inline(always)]
    fn is_nan(key: u64) -> bool {
        key < Self::key(f64::NEG_INFINITY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_the_order_of_numbers_and_nan_wins() {
        let ascending =
            [f64::NEG_INFINITY, f64::MIN, -1.0, -f64::MIN_POSITIVE, -5e-324, -0.0, 0.0, 5e-324, 1.0, f64::MAX];
        let maxima = ascending.map(Largest::key);
        let minima = ascending.map(Smallest::key);
        for keys in [maxima, minima] {
            assert!(keys.is_sorted() && keys.windows(2).all(|pair| pair[0] < pair[1]));
        }
        for x in ascending.into_iter().chain([f64::INFINITY]) {
            assert!(!Largest::is_nan(Largest::key(x)) && !Smallest::is_nan(Smallest::key(x)), "{x}");
        }
        for (x, (max, min)) in ascending.into_iter().zip(maxima.into_iter().zip(minima)) {
            assert_eq!((Largest::number(max).to_bits(), Smallest::number(min).to_bits()), (x.to_bits(), x.to_bits()));
        }
        // Those next to the infinities, and those with all bits.
        for bits in [0x7ff0_0000_0000_0001, i64::MAX.cast_unsigned(), 0xfff0_0000_0000_0001, u64::MAX] {
            let nan = f64::from_bits(bits);
            assert!(Largest::is_nan(Largest::key(nan)) && Smallest::is_nan(Smallest::key(nan)), "{bits:x}");
            for x in ascending.into_iter().chain([f64::INFINITY]) {
                assert!(Largest::number(Largest::combine(Largest::key(nan), Largest::key(x))).is_nan(), "{bits:x} {x}");
                assert!(
                    Smallest::number(Smallest::combine(Smallest::key(x), Smallest::key(nan))).is_nan(),
                    "{bits:x} {x}"
                );
            }
        }
        assert_eq!(Largest::number(Largest::identity()), f64::NEG_INFINITY);
        assert_eq!(Smallest::number(Smallest::identity()), f64::INFINITY);
    }
}
