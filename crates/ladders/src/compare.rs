//! Comparison of results with references. Every test is written as the condition to pass, so that a NaN, which compares
//! false with everything, never passes by accident.

use rustwarp::element::Value;

/// The expected value of a result.
#[derive(Clone, Copy, Debug)]
pub struct Expected {
    /// The reference.
    pub value: Value,
    /// Largest absolute error that passes; 0 is exact.
    pub tolerance: f64,
    /// Whether partial sums may leave the type's range although the result does not: an infinity or NaN passes too,
    /// because another order of the additions gives it.
    pub may_overflow: bool,
}

/// The outcome of a comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verdict {
    /// Whether the result passes.
    pub verified: bool,
    /// Absolute difference from the reference; 0 when both are the same infinity or both NaN, NaN when one of them is.
    pub error: f64,
}

impl Expected {
    /// Expects exactly this value.
    pub fn exactly(value: Value) -> Self {
        Self { value, tolerance: 0.0, may_overflow: false }
    }

    /// Compares a result with the expectation.
    ///
    /// A NaN is equal to any NaN, and to nothing else. With tolerance 0, +0 and -0 differ.
    pub fn judge(&self, result: Value) -> Verdict {
        match (self.value, result) {
            (Value::Int(expected), Value::Int(result)) => {
                let error = expected.abs_diff(result) as f64;
                Verdict { verified: error <= self.tolerance, error }
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

impl Verdict {
    /// The verdict of several comparisons: all must pass, and the error is the largest one. The verdict of none passes
    /// with error 0.
    pub fn of_all(verdicts: impl IntoIterator<Item = Self>) -> Self {
        let mut all = Self { verified: true, error: 0.0 };
        for Self { verified, error } in verdicts {
            all.verified &= verified;
            // `f64::max` would drop a NaN, which is to count as the largest error.
            let keep = all.error.is_nan() || error <= all.error;
            all.error = if keep { all.error } else { error };
        }
        all
    }
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
    fn integers_are_exact_unless_they_are_rounded() {
        let verdict = Expected::exactly(Int(i128::from(u64::MAX))).judge(Int(i128::from(u64::MAX) - 1));
        assert_eq!(verdict, Verdict { verified: false, error: 1.0 });
        assert!(!Expected::exactly(Int(1)).judge(Float(1.0)).verified);
        let rounded = Expected { value: Int(7), tolerance: 1.0, may_overflow: false };
        assert_eq!([5, 6, 8, 9].map(|x| rounded.judge(Int(x)).verified), [false, true, true, false]);
    }

    #[test]
    fn overflow_passes_only_where_it_may_happen() {
        let expected = Expected { value: Float(1.0), tolerance: 0.1, may_overflow: true };
        assert!(expected.judge(Float(f64::INFINITY)).verified);
        assert!(expected.judge(Float(f64::NAN)).verified);
        assert!(!expected.judge(Float(2.0)).verified);
    }

    #[test]
    fn one_that_fails_fails_all() {
        let verdict = |verified, error| Verdict { verified, error };
        assert_eq!(Verdict::of_all([]), verdict(true, 0.0));
        assert_eq!(Verdict::of_all([verdict(true, 1.0), verdict(false, 0.5)]), verdict(false, 1.0));
        assert!(
            Verdict::of_all([verdict(true, f64::NAN), verdict(true, 0.5)]).error.is_nan(),
            "NaN is the largest error"
        );
    }
}
