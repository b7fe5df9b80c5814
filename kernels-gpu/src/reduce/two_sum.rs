//! Sums of two floats without an error: the rounded sum, and what rounding took away, which is a float of the same
//! type.
//!
//! Source: D. E. Knuth, "The Art of Computer Programming", volume 2, 4.2.2, theorems B and C (the second is Dekker's,
//! 1971). Both hold with subnormal numbers, too: a sum of floats is a multiple of the smallest one.

use crate::number::Number;
use crate::operator::{Pod, Zeroable};

/// A number as the unevaluated sum of two.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Pair<T> {
    /// The number, rounded.
    pub high: T,
    /// What `high` lacks.
    pub low: T,
}

// SAFETY: two numbers of one type have no padding, and zeros are numbers.
unsafe impl<T: Zeroable> Zeroable for Pair<T> {}
// SAFETY: as above, and every bit pattern is a number.
unsafe impl<T: Pod> Pod for Pair<T> {}

/// The floats that are added.
pub trait TwoSum: Number {
    /// What added to any number, -0 too, does not change it, so that the compiler drops the addition.
    const NOTHING: Self;

    /// `a + b` as a rounded sum and its error, for any two numbers whose sum does not overflow.
    fn two_sum(a: Self, b: Self) -> Pair<Self>;
    /// The same where `a` is 0 or the exponent of `a` is at least that of `b`.
    fn fast_two_sum(a: Self, b: Self) -> Pair<Self>;
    /// Whether the number is neither an infinity nor NaN.
    fn finite(self) -> bool;
}

macro_rules! float {
    ($($t:ty)*) => { $(
        impl TwoSum for $t {
            const NOTHING: $t = -0.0;

            #[inline(always)]
            fn two_sum(a: $t, b: $t) -> Pair<$t> {
                let high = a + b;
                let from_b = high - a;
                Pair { high, low: (a - (high - from_b)) + (b - from_b) }
            }
            #[inline(always)]
            fn fast_two_sum(a: $t, b: $t) -> Pair<$t> {
                let high = a + b;
                Pair { high, low: b - (high - a) }
            }
            #[inline(always)]
            fn finite(self) -> bool {
                self.is_finite()
            }
        }
    )* };
}
float!(f32 f64);

/// The one number nearest to a pair: `high` alone if that is an infinity or NaN, whose error is NaN.
#[inline(always)]
pub fn rounded<T: TwoSum>(pair: Pair<T>) -> T {
    let sum = pair.high.add(pair.low);
    if pair.high.finite() && sum.finite() { sum } else { pair.high }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost() {
        let exact = |pair: Pair<f32>| f64::from(pair.high) + f64::from(pair.low);
        let numbers = [1.0_f32, -1.0, 3e7, -3e7, 1e-8, 16_777_217.0, f32::MIN_POSITIVE, 1e-45, -0.0, 0.1];
        for a in numbers {
            for b in numbers {
                let sum = f64::from(a) + f64::from(b);
                let pair = TwoSum::two_sum(a, b);
                assert_eq!((pair.high, exact(pair)), (a + b, sum), "{a} + {b}");
                let (large, small) = if a.abs() >= b.abs() { (a, b) } else { (b, a) };
                assert_eq!(exact(TwoSum::fast_two_sum(large, small)), sum, "{large} + {small}");
            }
        }
    }

    #[test]
    fn infinities_stay() {
        let infinite = TwoSum::two_sum(f32::INFINITY, 1.0);
        assert!(infinite.low.is_nan() && rounded(infinite) == f32::INFINITY);
        assert!(rounded(TwoSum::two_sum(f32::INFINITY, f32::NEG_INFINITY)).is_nan());
        assert_eq!(rounded(Pair { high: 1.0_f64, low: f64::EPSILON }), 1.0 + f64::EPSILON);
        assert!((-0.0_f32 + f32::NOTHING).is_sign_negative());
    }
}
