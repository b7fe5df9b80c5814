//! The expected elements of one product, and sums of its neighbours, with their error bounds.

use super::dots::{dot, dot_precise};
use crate::compare::{Expected, Verdict};
use crate::kernels::problem::epsilon;
use rayon::prelude::*;
use rustwarp::element::{Dtype, Scalar, Value};
use rustwarp::matmul::Sizes;

/// Rows and columns of the parts of a large product; one element of each part is compared.
pub(crate) const PATCH: usize = 64;

/// Number of neighbours that are compared by their sum.
pub(super) const GROUP: usize = 32;

/// Rounding error of one operation in f64.
pub(super) const U: f64 = f64::EPSILON / 2.0;

/// Error bound of an element relative to its sum of magnitudes.
pub(super) fn relative<T: Scalar>(depth: u64) -> f64 {
    // Sums of narrow floats are f32.
    let sums = if T::DTYPE.is_float() && size_of::<T>() <= 2 { Dtype::F32 } else { T::DTYPE };
    depth as f64 * epsilon(sums)
}

/// Error bound of a reference with `k` products, relative to its sum of magnitudes.
pub(super) fn reference_error(precise: bool, k: usize) -> f64 {
    if precise { 2.0 * U } else { (k as f64 + 1.0) * U }
}

/// Largest number of the type; partial sums beyond it may overflow.
fn largest<T: Scalar>() -> f64 {
    match T::DTYPE {
        Dtype::F16 => half::f16::MAX.into(),
        Dtype::Bf16 => half::bf16::MAX.into(),
        Dtype::F32 => f32::MAX.into(),
        _ => f64::MAX,
    }
}

/// Error of the rounding of a sum to the type of the result, relative to it and, for subnormal numbers, absolute. None
/// if the sum is of this type.
fn rounding<T: Scalar>() -> (f64, f64) {
    match T::DTYPE {
        Dtype::F16 => (epsilon(Dtype::F16) / 2.0, f64::powi(2.0, -25)),
        Dtype::Bf16 => (epsilon(Dtype::Bf16) / 2.0, f64::powi(2.0, -134)),
        _ => (0.0, 0.0),
    }
}

/// A factor in f64, with the `k` elements of a row of A, or a column of B, next to each other.
pub(super) fn lines<T: Scalar>(elements: &[T], x: usize, k: usize, contiguous: bool) -> Vec<f64> {
    (0..x * k).into_par_iter().map(|i| in_line(elements, x, k, contiguous, i)).collect()
}

/// An element of [`lines`].
pub(super) fn in_line<T: Scalar>(elements: &[T], x: usize, k: usize, contiguous: bool, i: usize) -> f64 {
    float(elements[if contiguous { i } else { i % k * x + i / k }])
}

/// The element as f64; exact for all types of factors and products, integers of at most 32 bits among them.
pub(crate) fn float<T: Scalar>(element: T) -> f64 {
    element.value().to_f64()
}

/// One element of every patch of `m` by `n` elements, and the last, in the order of memory.
pub(super) fn samples(m: usize, n: usize) -> Vec<(usize, usize)> {
    let patches = (0..m.div_ceil(PATCH)).flat_map(|down| (0..n.div_ceil(PATCH)).map(move |across| (down, across)));
    let place = |(down, across): (usize, usize)| {
        let random = mix((down * n.div_ceil(PATCH) + across) as u64);
        let (row, column) = (random as usize % PATCH, (random >> 32) as usize % PATCH);
        ((down * PATCH + row).min(m - 1), (across * PATCH + column).min(n - 1))
    };
    let mut places: Vec<_> = patches.map(place).chain([(m - 1, n - 1)]).collect();
    places.sort_unstable();
    places
}

/// SplitMix64's output function.
pub(crate) fn mix(i: u64) -> u64 {
    let z = (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Elements of the product that are compared.
pub(super) struct Terms(pub Vec<Term>);

pub(super) struct Term {
    pub row: usize,
    pub column: usize,
    pub value: f64,
    /// Sum of |a| |b|.
    pub magnitude: f64,
}

impl Terms {
    pub fn new(
        rows: &[f64],
        columns: &[f64],
        k: usize,
        places: impl ParallelIterator<Item = (usize, usize)>,
        precise: bool,
    ) -> Self {
        let term = |(row, column): (usize, usize)| {
            let (a, b) = (&rows[row * k..][..k], &columns[column * k..][..k]);
            let (value, magnitude) = if precise { dot_precise(a, b) } else { dot(a, b) };
            Term { row, column, value, magnitude }
        };
        Self(places.map(term).collect())
    }
}

impl Term {
    /// Expects the value, of this number of elements, within `relative` times the sum of magnitudes, plus the rounding
    /// to the type.
    pub fn expect<T: Scalar>(&self, relative: f64, elements: usize) -> Expected {
        let of_sums = relative * self.magnitude;
        let (of_value, smallest) = rounding::<T>();
        Expected {
            value: Value::Float(self.value),
            tolerance: of_sums + of_value * (self.value.abs() + of_sums) + smallest * elements as f64,
            may_overflow: self.magnitude > largest::<T>(),
        }
    }
}

/// Sums of neighbours in rows of a large product.
pub(super) struct Groups {
    /// Expected sums, for every row and every group of columns.
    terms: Vec<Term>,
    k: usize,
}

impl Groups {
    pub fn new(rows: &[f64], columns: &[f64], Sizes { m, n, k, .. }: Sizes) -> Self {
        let groups = n.div_ceil(GROUP);
        let summed = |map: fn(f64) -> f64| -> Vec<f64> {
            let sum = |i: usize| {
                let (group, at) = (i / k, i % k);
                (group * GROUP..n.min((group + 1) * GROUP)).map(|column| map(columns[column * k + at])).sum()
            };
            (0..groups * k).into_par_iter().map(sum).collect()
        };
        let (sums, magnitudes) = (summed(|x| x), summed(f64::abs));
        let term = |i: usize| {
            let (row, group) = (i / groups, i % groups);
            let a = &rows[row * k..][..k];
            let ((value, _), (_, magnitude)) = (dot(a, &sums[group * k..][..k]), dot(a, &magnitudes[group * k..][..k]));
            Term { row, column: group * GROUP, value, magnitude }
        };
        Self { terms: (0..m * groups).into_par_iter().map(term).collect(), k }
    }

    /// Each group with the verdict on its sum. `relative`: error bound of an element relative to its sum of magnitudes.
    pub fn compared<T: Scalar>(
        &self,
        elements: &[T],
        n: usize,
        relative: f64,
    ) -> impl Iterator<Item = (&Term, Verdict)> {
        // Sums of columns, of products and of results are rounded too, and so is every element.
        let relative = relative + (self.k + 2 * GROUP) as f64 * 2.0 * U + rounding::<T>().0;
        self.terms.iter().map(move |term| {
            let end = n.min(term.column + GROUP);
            let sum = elements[term.row * n + term.column..term.row * n + end].iter().map(|x| float(*x));
            (term, term.expect::<T>(relative, GROUP).judge(Value::Float(sum.sum())))
        })
    }
}
