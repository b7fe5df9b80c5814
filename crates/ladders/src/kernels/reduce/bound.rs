//! The error bounds of sums of floats that the documentation of the kernels states, as text and as numbers.

use rustwarp::element::Dtype;

/// How a sum of floats is rounded, from which its error bound follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Each addition is rounded (Higham, "Accuracy and Stability of Numerical Algorithms", section 4.2).
    Plain,
    /// The same, one by one from the smallest magnitude on: `kernels_gpu::reduce::sorted`.
    Sorted,
    /// f32 is added in f64 and rounded once: `kernels_gpu::reduce::double_accumulator`.
    Wider,
    /// The errors of the additions are added up, too: `kernels_gpu::reduce::compensated`.
    Compensated,
    /// Each addition has about twice the precision of its own result: `kernels_gpu::reduce::double_float`.
    Doubled,
    /// The exact sum is rounded once: `kernels_gpu::exact_sum`.
    Rounded,
}

/// The quantities that a bound depends on.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// Type of the sum.
    pub dtype: Dtype,
    /// `d`: largest number of additions in a chain from an element to the result; of [`Bound::Sorted`] one less than
    /// the number of elements.
    pub depth: u64,
    /// The exact sum.
    pub sum: f64,
    /// The sum of absolute values.
    pub magnitude: f64,
}

impl Bound {
    /// The formula, with `g(k) = k * u / (1 - k * u)`, `g64` the same for the `u` of f64, and `n = d + 1`.
    pub const fn formula(self) -> &'static str {
        match self {
            Self::Plain => "g(d) * sum(abs(x))",
            Self::Sorted => "(n + 1) / 2 * u / (1 - n * u) * sum(abs(x))",
            Self::Wider => "u * abs(sum) + (1 + u) * g64(d) * sum(abs(x))",
            Self::Compensated => "u * abs(sum) + (1 + u) * g(d) * g(2 * d) * sum(abs(x))",
            Self::Doubled => "u * abs(sum) + 3.01 * d * u^2 * sum(abs(x))",
            Self::Rounded => "u * abs(sum)",
        }
    }

    /// Largest distance of a sum from the exact one if nothing overflows and the result is not subnormal; an infinity
    /// where the chain is too long for the formula.
    pub fn error(self, terms: Terms) -> f64 {
        let Terms { dtype, depth, sum, magnitude } = terms;
        let (u, d) = (unit(dtype), depth as f64);
        let once = u * sum.abs();
        match self {
            Self::Plain => chain(d, u) * magnitude,
            Self::Sorted => (d + 2.0) / 2.0 * chain(d + 1.0, u) / (d + 1.0) * magnitude,
            Self::Wider => once + (1.0 + u) * chain(d, unit(Dtype::F64)) * magnitude,
            Self::Compensated => once + (1.0 + u) * chain(d, u) * chain(2.0 * d, u) * magnitude,
            Self::Doubled => once + 3.01 * d * u * u * magnitude,
            Self::Rounded => once,
        }
    }
}

/// Largest relative error of an addition in the type of the sum: half its epsilon.
pub fn unit(dtype: Dtype) -> f64 {
    if dtype == Dtype::F64 { f64::EPSILON / 2.0 } else { f64::from(f32::EPSILON) / 2.0 }
}

/// The factor of `k` additions in a chain, `k * u / (1 - k * u)`.
fn chain(k: f64, u: f64) -> f64 {
    if k * u < 1.0 { k * u / (1.0 - k * u) } else { f64::INFINITY }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether two numbers are equal but for a few roundings.
    fn same(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-14 * b.abs()
    }

    #[test]
    fn bounds_are_those_of_the_formulas() {
        let bound = |bound: Bound, dtype, depth| bound.error(Terms { dtype, depth, sum: -3.0, magnitude: 40.0 });
        let (single, double) = (f64::powi(2.0, -24), f64::powi(2.0, -53));
        assert_eq!((unit(Dtype::F32), unit(Dtype::F64)), (single, double));
        for (dtype, u) in [(Dtype::F32, single), (Dtype::F64, double)] {
            // Half the longest chain for which the formula of a tree means something.
            let half = (0.5 / u) as u64;
            assert!(same(bound(Bound::Plain, dtype, half), 40.0));
            assert!(same(bound(Bound::Plain, dtype, 7), 280.0 * u / (1.0 - 7.0 * u)));
            // Seven elements: the sums of the smallest 2 to 7 of them are at most 2/7 to 7/7 of all, 27/7 together.
            let sorted = bound(Bound::Sorted, dtype, 6);
            assert!(sorted >= 27.0 / 7.0 * u * 40.0 && same(sorted, 4.0 * u / (1.0 - 7.0 * u) * 40.0));
            assert!(same(
                bound(Bound::Compensated, dtype, 7),
                3.0 * u + 40.0 * (1.0 + u) * 98.0 * u * u / (1.0 - 7.0 * u) / (1.0 - 14.0 * u)
            ));
            assert!(same(bound(Bound::Doubled, dtype, 100), 3.0 * u + 301.0 * u * u * 40.0));
            assert!(same(bound(Bound::Rounded, dtype, 100), 3.0 * u));
            assert_eq!(bound(Bound::Plain, dtype, 2 * half), f64::INFINITY);
        }
        assert!(same(bound(Bound::Wider, Dtype::F32, 7), 3.0 * single + 280.0 * double * (1.0 + single)));
    }
}
