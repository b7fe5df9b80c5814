//! What counts as equal. Only what is proven close passes: every test is written as the condition to pass, so that a NaN, which
//! compares false with everything, never passes by accident.

use crate::element::{Element, Value};

/// What a result must be.
#[derive(Clone, Copy, Debug)]
pub struct Expected {
    /// The reference.
    pub value: Value,
    /// Largest absolute error that passes; 0 is exact.
    pub tolerance: f64,
    /// Partial sums may leave the type's range although the result does not: an infinity or NaN passes too, because another
    /// order of the additions gives it.
    pub may_overflow: bool,
}

/// The outcome of a comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verdict {
    /// It passes.
    pub verified: bool,
    /// Absolute difference from the reference; 0 when both are the same infinity or both NaN, NaN when one of them is.
    pub error: f64,
}

impl Expected {
    /// Must be this value.
    pub fn exactly(value: Value) -> Self {
        Self { value, tolerance: 0.0, may_overflow: false }
    }

    /// Compares a result.
    ///
    /// A NaN is equal to any NaN, and to nothing else. With tolerance 0, +0 and -0 differ.
    pub fn judge(&self, result: Value) -> Verdict {
        match (self.value, result) {
            (Value::Int(expected), Value::Int(result)) => {
                Verdict { verified: expected == result, error: expected.abs_diff(result) as f64 }
            }
            (Value::Float(expected), Value::Float(result)) => self.judge_float(expected, result),
            _ => Verdict { verified: false, error: f64::NAN },
        }
    }

    fn judge_float(&self, expected: f64, result: f64) -> Verdict {
        if expected.is_nan() && result.is_nan() || expected.is_infinite() && expected == result {
            return Verdict { verified: true, error: 0.0 };
        }
        let error = (expected - result).abs();
        let exact = self.tolerance > 0.0 || expected.is_sign_negative() == result.is_sign_negative();
        let close = expected.is_finite() && result.is_finite() && error <= self.tolerance && exact;
        Verdict { verified: close || self.may_overflow && !result.is_finite(), error }
    }
}

/// Compares element by element, exactly: the number of wrong ones, the largest error, and the first wrong index. A missing or
/// additional element is a wrong one.
pub fn elementwise<T: Element>(expected: impl ExactSizeIterator<Item = Value>, results: &[T]) -> Mismatches {
    let mut found = Mismatches { count: expected.len().abs_diff(results.len()), largest: 0.0, first: None };
    if found.count > 0 {
        found.first = Some(expected.len().min(results.len()));
        found.largest = f64::NAN;
    }
    for (i, (expected, result)) in expected.zip(results).enumerate() {
        let verdict = Expected::exactly(expected).judge(result.value());
        if !verdict.verified {
            found.count += 1;
            found.first = Some(found.first.map_or(i, |first| first.min(i)));
            // `f64::max` would drop a NaN, and a NaN is the largest error there is.
            let keep = found.largest.is_nan() || verdict.error <= found.largest;
            found.largest = if keep { found.largest } else { verdict.error };
        }
    }
    found
}

/// See [`elementwise`].
#[derive(Clone, Copy, Debug)]
pub struct Mismatches {
    /// How many elements differ.
    pub count: usize,
    /// Largest absolute difference.
    pub largest: f64,
    /// Index of the first that differs.
    pub first: Option<usize>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use Value::{Float, Int};

    fn within(expected: f64, tolerance: f64, result: f64) -> bool {
        Expected { value: Float(expected), tolerance, may_overflow: false }.judge(Float(result)).verified
    }

    #[test]
    fn nan_is_equal_to_nan_only() {
        let nan = f64::NAN;
        for tolerance in [0.0, 1.0, f64::INFINITY] {
            assert!(within(nan, tolerance, nan));
            for x in [0.0, 1.0, f64::INFINITY] {
                assert!(!within(nan, tolerance, x), "{x}");
                assert!(!within(x, tolerance, nan), "{x}");
            }
        }
        assert!(!within(1.0, nan, 1.0 + 1e-9), "a tolerance of NaN passes nothing");
    }

    #[test]
    fn infinities_are_equal_to_themselves_only() {
        let inf = f64::INFINITY;
        assert!(within(inf, 0.0, inf));
        assert!(!within(inf, inf, -inf));
        assert!(!within(inf, inf, f64::MAX));
        assert!(!within(f64::MAX, inf, inf));
    }

    #[test]
    fn the_tolerance_is_a_bound() {
        assert!(within(1.0, 0.5, 1.5));
        assert!(!within(1.0, 0.5, 1.5000001));
        assert!(within(1.0, 0.5, 0.5));
        assert!(within(0.0, 0.5, -0.0));
    }

    #[test]
    fn exact_tells_the_zeros_apart() {
        assert!(within(0.0, 0.0, 0.0));
        assert!(!within(0.0, 0.0, -0.0));
        assert!(!within(1.0, 0.0, 1.0 + f64::EPSILON));
    }

    #[test]
    fn integers_are_exact() {
        let verdict = Expected::exactly(Int(i128::from(u64::MAX))).judge(Int(i128::from(u64::MAX) - 1));
        assert_eq!(verdict, Verdict { verified: false, error: 1.0 });
        assert!(!Expected::exactly(Int(1)).judge(Float(1.0)).verified);
    }

    #[test]
    fn overflow_passes_only_where_it_may_happen() {
        let expected = Expected { value: Float(1.0), tolerance: 0.1, may_overflow: true };
        assert!(expected.judge(Float(f64::INFINITY)).verified);
        assert!(expected.judge(Float(f64::NAN)).verified);
        assert!(!expected.judge(Float(2.0)).verified);
    }

    #[test]
    fn elementwise_counts_and_places() {
        let expected = [1.0, f64::NAN, 3.0].map(Float);
        assert_eq!(elementwise(expected.into_iter(), &[1.0, f64::NAN, 3.0]).count, 0);
        let wrong = elementwise(expected.into_iter(), &[1.0, 2.0, 5.0]);
        assert_eq!((wrong.count, wrong.first), (2, Some(1)));
        assert!(wrong.largest.is_nan(), "NaN against a number is the largest error");
        assert_eq!(elementwise(expected.into_iter(), &[1.0, f64::NAN]).count, 1);
    }
}
