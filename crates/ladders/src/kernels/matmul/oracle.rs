//! Reference products, computed in wider arithmetic on all cores.
//!
//! - f32, and types of 16 and 8 bits: products are exact in f64, and added in f64.
//! - f64: products and sums keep their rounding errors in a second f64 (Ogita, Rump and Oishi, "Accurate Sum and Dot
//!   Product", 2005: Dot2), as if computed in twice the precision.
//!
//! An element passes if it is within `K * epsilon * sum of |a| |b|` of the reference (f32's epsilon for narrower
//! floats, whose results may be rounded once more), plus the reference's own error bound. Up to 2^33 multiplications,
//! every element is compared. For larger products, which would take a host too long, two checks replace the comparison:
//! - every 32 neighbours of a row are added up, and the sum is compared with the row of A times the sum of the 32
//!   columns of B, within the sum of the elements' bounds (after Freivalds, 1977). Thus every element is covered: each
//!   must be finite, and none may differ by more than about 32 bounds;
//! - one element of each part of 64 by 64 elements is compared.
//!
//! Of a batch, every product is checked; the limit counts the multiplications of all.

use super::dots::{dot, dot_precise};
use super::products::Products;
use super::reference::{GROUP, Groups, Term, Terms, float, in_line, lines, reference_error, relative, samples};
use crate::compare::{Expected, Verdict};
use crate::error::Result;
use crate::kernels::{Oracle, Problem, Wrong};
use rayon::prelude::*;
use rustwarp::element::{Scalar, Value};
use rustwarp::matmul::Sizes;
use rustwarp::tensor::Tensor;
use std::marker::PhantomData;
use std::ops::Range;
use std::rc::Rc;

/// Number of multiplications up to which every element is compared.
pub(crate) const ALL: u128 = 1 << 33;

/// The element of a product that a row of A and a column of B give, where the result has `depth` additions.
pub(crate) fn element<T: Scalar>(row: &[f64], column: &[f64], depth: u64) -> Expected {
    let precise = size_of::<T>() == 8;
    let (value, magnitude) = if precise { dot_precise(row, column) } else { dot(row, column) };
    let relative = relative::<T>(depth) + reference_error(precise, row.len());
    Term { row: 0, column: 0, value, magnitude }.expect::<T>(relative, 1)
}

/// Prepares the comparison of one product or of a batch.
///
/// # Errors
/// [`Error`](crate::Error) for operands of another type.
pub(crate) fn oracle<T: Scalar, O: Scalar>(problem: Problem<'_>, products: impl Into<Products>) -> Result<Oracle<'_>> {
    let products = products.into();
    let Sizes { m, n, k, .. } = products.sizes;
    let multiplications = [products.batch.count, m, n, k].iter().fold(1_u128, |all, &x| all.saturating_mul(x as u128));
    prepared::<T, O>(problem, products, multiplications <= ALL)
}

fn prepared<T: Scalar, O: Scalar>(problem: Problem<'_>, products: Products, all: bool) -> Result<Oracle<'_>> {
    let (a, b) = (problem.view::<T>(0)?, problem.view::<T>(1)?);
    let Products { sizes: sizes @ Sizes { m, n, k, .. }, batch, .. } = products;
    // Products without elements need no judgement.
    let count = if m == 0 || n == 0 { 0 } else { batch.count };
    let [step_a, step_b, _] = batch.steps;
    let product = |i: usize| Product::new(&a[i * step_a..][..m * k], &b[i * step_b..][..k * n], sizes, all);
    let judged = Rc::new(Judged::<T, O> { products: (0..count).map(product).collect(), shape: products.result() });
    let same = judged.clone();
    let oracle = Oracle::new(move |result, depth| judged.judge(result, depth));
    Ok(oracle.with_search(move |result, depth| same.first_wrong(result, depth)).with_size(&products.size()))
}

/// The data for judging all products.
struct Judged<'a, T, O> {
    products: Vec<Product<'a, T, O>>,
    /// Shape of the result.
    shape: Vec<usize>,
}

impl<T: Scalar, O: Scalar> Judged<'_, T, O> {
    fn judge(&self, result: &Tensor, depth: u64) -> Verdict {
        match self.elements(result) {
            Some(elements) => Verdict::of_all(self.each(elements).map(|(_, product, own)| product.judge(own, depth))),
            None => Verdict { verified: false, error: f64::NAN },
        }
    }

    /// The first wrong element of the first wrong product.
    fn first_wrong(&self, result: &Tensor, depth: u64) -> Option<Wrong> {
        self.each(self.elements(result)?).find_map(|(before, product, own)| {
            let wrong = product.first_wrong(own, depth)?;
            Some(Wrong { index: before + wrong.index, ..wrong })
        })
    }

    /// The elements of a result of the right type and shape.
    fn elements<'r>(&self, result: &'r Tensor) -> Option<&'r [O]> {
        // A product with one column may be a vector.
        let is_column = matches!(*self.shape, [m, 1] if result.shape() == [m]);
        O::view(result.data()).filter(|_| result.shape() == self.shape || is_column)
    }

    /// The products with their elements, and the number of elements before these.
    fn each<'e>(&'e self, elements: &'e [O]) -> impl Iterator<Item = (u64, &'e Product<'e, T, O>, &'e [O])> {
        self.products.iter().enumerate().map(move |(i, product)| {
            let len = product.sizes.m * product.sizes.n;
            ((i * len) as u64, product, &elements[i * len..][..len])
        })
    }
}

/// The data for judging one product.
struct Product<'a, T, O> {
    a: &'a [T],
    b: &'a [T],
    sizes: Sizes,
    /// Whether dot products are computed in twice the precision of f64.
    precise: bool,
    references: Terms,
    /// Sums of groups, for a product of which not every element is compared.
    groups: Option<Groups>,
    result: PhantomData<fn() -> O>,
}

impl<'a, T: Scalar, O: Scalar> Product<'a, T, O> {
    /// Computes the references of all elements, or of samples and groups.
    fn new(a: &'a [T], b: &'a [T], sizes: Sizes, all: bool) -> Self {
        let Sizes { m, n, k, transposed, .. } = sizes;
        let (rows, columns) = (lines(a, m, k, !transposed[0]), lines(b, n, k, transposed[1]));
        let precise = size_of::<T>() == 8;
        let references = if all {
            let dots = |i: usize| (0..n).map(move |j| (i, j));
            Terms::new(&rows, &columns, k, (0..m).into_par_iter().flat_map_iter(dots), precise)
        } else {
            Terms::new(&rows, &columns, k, samples(m, n).into_par_iter(), precise)
        };
        let groups = (!all).then(|| Groups::new(&rows, &columns, sizes));
        Self { a, b, sizes, precise, references, groups, result: PhantomData }
    }

    fn judge(&self, elements: &[O], depth: u64) -> Verdict {
        let compared = self.compared(elements, &self.references.0, depth);
        let elements_close = Verdict::of_all(compared.map(|(_, have, expected)| expected.judge(have)));
        match &self.groups {
            Some(groups) if elements_close.verified => {
                let verdicts = groups.compared(elements, self.sizes.n, relative::<T>(depth));
                let Verdict { verified, error } = Verdict::of_all(verdicts.map(|(_, verdict)| verdict));
                if verified { elements_close } else { Verdict { verified, error } }
            }
            _ => elements_close,
        }
    }

    /// The first wrong element of those that are compared, or of a group whose sum is wrong.
    fn first_wrong(&self, elements: &[O], depth: u64) -> Option<Wrong> {
        let of_group = || {
            let n = self.sizes.n;
            let mut sums = self.groups.as_ref()?.compared(elements, n, relative::<T>(depth));
            let (group, _) = sums.find(|(_, verdict)| !verdict.verified)?;
            let terms = self.terms(group.row, group.column..n.min(group.column + GROUP));
            Wrong::first(self.compared(elements, &terms, depth))
        };
        let compared = Wrong::first(self.compared(elements, &self.references.0, depth));
        compared.into_iter().chain(of_group()).min_by_key(|wrong| wrong.index)
    }

    /// The compared elements: their indices, values, and expected values.
    fn compared(&self, elements: &[O], terms: &[Term], depth: u64) -> impl Iterator<Item = (usize, Value, Expected)> {
        let Sizes { n, k, .. } = self.sizes;
        let relative = relative::<T>(depth) + reference_error(self.precise, k);
        terms.iter().map(move |term| {
            let index = term.row * n + term.column;
            (index, Value::Float(float(elements[index])), term.expect::<O>(relative, 1))
        })
    }

    /// Expected values of neighbours in a row.
    fn terms(&self, row: usize, columns: Range<usize>) -> Vec<Term> {
        let Sizes { m, n, k, transposed, .. } = self.sizes;
        let a: Vec<f64> = (0..k).map(|at| in_line(self.a, m, k, !transposed[0], row * k + at)).collect();
        let term = |column: usize| {
            let b: Vec<f64> = (0..k).map(|at| in_line(self.b, n, k, transposed[1], column * k + at)).collect();
            let (value, magnitude) = if self.precise { dot_precise(&a, &b) } else { dot(&a, &b) };
            Term { row, column, value, magnitude }
        };
        columns.map(term).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::products::problem_of;
    use super::*;
    use crate::kernels::Settings;
    use rustwarp::element::Array;

    fn problem<'a>(inputs: &'a [Tensor; 2], settings: &'a Settings) -> Problem<'a> {
        Problem { inputs, dtype: inputs[0].dtype(), op: "", settings }
    }

    /// Every wrong element is detected in a small product, and in a large one if its error exceeds the bounds of its
    /// group.
    #[test]
    fn wrong_elements_are_found_by_both_ways_of_checking() {
        let (m, n, k) = (70, 67, 40);
        let numbers = |len, seed| Array::F32(crate::input::generate::generate(len, seed));
        let inputs = [
            Tensor::new(&[m, k], numbers(m * k, 1)).expect("a matrix"),
            Tensor::new(&[k, n], numbers(k * n, 2)).expect("a matrix"),
        ];
        let (Array::F32(a), Array::F32(b)) = (inputs[0].data(), inputs[1].data()) else { panic!("f32") };
        let right: Vec<f32> =
            (0..m * n).map(|i| (0..k).map(|at| a[i / n * k + at] * b[at * n + i % n]).sum()).collect();
        let settings = Settings::default();
        let sizes = Sizes { m, n, k, ..Sizes::default() };
        let judge = |oracle: &Oracle<'_>, elements: &[f32]| {
            let result = Tensor::new(&[m, n], Array::F32(elements.to_vec())).expect("a matrix");
            let verified = oracle.judge(&result, k as u64).verified;
            let first = oracle.first_wrong(&result, k as u64).map(|wrong| wrong.index as usize);
            assert_eq!(first.is_none(), verified, "a wrong element is named");
            (verified, first)
        };
        for all in [true, false] {
            let oracle = prepared::<f32, f32>(problem(&inputs, &settings), sizes.into(), all).expect("an oracle");
            assert!(judge(&oracle, &right).0, "all {all}");
            for at in [0, 1, n, 33 * n + 31, 33 * n + 32, m * n - 1] {
                for wrong in [right[at] + 0.1, f32::NAN, f32::INFINITY] {
                    let mut elements = right.clone();
                    elements[at] = wrong;
                    assert_eq!(judge(&oracle, &elements).1, Some(at), "all {all}, element {at} is {wrong}");
                }
            }
            let other = Tensor::new(&[n, m], Array::F32(right.clone())).expect("a matrix");
            assert!(!oracle.judge(&other, k as u64).verified, "another shape");
        }
    }

    #[test]
    fn transposed_factors_give_the_same_product() {
        let a = Tensor::new(&[2, 3], Array::F64(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0])).expect("a matrix");
        let turned = Tensor::new(&[3, 2], Array::F64(vec![1.0, 4.0, 2.0, 5.0, 3.0, 6.0])).expect("a matrix");
        let product = Tensor::new(&[2, 2], Array::F64(vec![14.0, 32.0, 32.0, 77.0])).expect("a matrix");
        let settings = Settings::default();
        for (inputs, transposed) in [([a.clone(), turned.clone()], [false, false]), ([turned, a], [true, true])] {
            let sizes = Sizes { m: 2, n: 2, k: 3, transposed, ..Sizes::default() };
            let oracle = oracle::<f64, f64>(problem(&inputs, &settings), sizes).expect("an oracle");
            assert!(oracle.judge(&product, 3).verified, "{transposed:?}");
        }
    }

    /// A wrong element is found in every product of a batch, whose B is shared.
    #[test]
    fn every_product_of_a_batch_is_checked() {
        let (count, m, n, k) = (3, 5, 34, 7);
        let numbers = |len, seed| Array::F32(crate::input::generate::generate(len, seed));
        let inputs = [
            Tensor::new(&[count, m, k], numbers(count * m * k, 1)).expect("a batch"),
            Tensor::new(&[k, n], numbers(k * n, 2)).expect("a matrix"),
        ];
        let (Array::F32(a), Array::F32(b)) = (inputs[0].data(), inputs[1].data()) else { panic!("f32") };
        let right: Vec<f32> =
            (0..count * m * n).map(|i| (0..k).map(|at| a[i / n * k + at] * b[at * n + i % n]).sum()).collect();
        let settings = Settings::default();
        let problem = problem(&inputs, &settings);
        let result = |shape: &[usize], elements: Vec<f32>| Tensor::new(shape, Array::F32(elements)).expect("a batch");
        for all in [true, false] {
            let products = problem_of(&problem).expect("they fit");
            let oracle = prepared::<f32, f32>(problem, products, all).expect("an oracle");
            assert_eq!(oracle.size, Some(vec![count, m, n, k]));
            assert!(oracle.judge(&result(&[count, m, n], right.clone()), k as u64).verified, "all {all}");
            assert!(!oracle.judge(&result(&[count * m, n], right.clone()), k as u64).verified, "another shape");
            for at in [0, m * n - 1, m * n, 2 * m * n + 33, count * m * n - 1] {
                let mut elements = right.clone();
                elements[at] += 0.1;
                let wrong = result(&[count, m, n], elements);
                assert!(!oracle.judge(&wrong, k as u64).verified, "all {all}, element {at}");
                let first = oracle.first_wrong(&wrong, k as u64).map(|wrong| wrong.index);
                assert_eq!(first, Some(at as u64), "all {all}");
            }
        }
    }
}
