//! A problem (operands, operation, settings), its right result, and the minimum work to compute it.

use super::settings::Settings;
use crate::compare::{Expected, Verdict};
use crate::error::{Error, Result};
use rayon::prelude::*;
use rustwarp::element::{Dtype, Scalar, Value};
use rustwarp::tensor::Tensor;
use serde::Serialize;
use std::rc::Rc;

/// A computation for any device and any variant.
#[derive(Clone, Copy, Debug)]
pub struct Problem<'a> {
    /// The operands, as many as the family has.
    pub inputs: &'a [Tensor],
    /// Type of the elements: that of the first operand.
    pub dtype: Dtype,
    /// One of the family's operations; empty if it has none.
    pub op: &'a str,
    /// The family's settings.
    pub settings: &'a Settings,
}

impl<'a> Problem<'a> {
    /// The elements of an operand.
    ///
    /// # Errors
    /// [`Error::Usage`] when the operand is missing or has another type.
    pub fn view<T: Scalar>(&self, operand: usize) -> Result<&'a [T]> {
        let input = self.inputs.get(operand);
        input.and_then(|tensor| T::view(tensor.data())).ok_or_else(|| {
            let have = input.map_or("missing".to_owned(), |tensor| format!("of {}", tensor.dtype()));
            Error::Usage(format!("operand {operand} must be of {}, but it is {have}", T::DTYPE))
        })
    }
}

/// An operand of a family.
#[derive(Clone, Copy, Debug)]
pub struct Operand {
    /// Name in messages and `--help`.
    pub name: &'static str,
    /// Its type, if that is not the job's.
    pub dtype: Option<Dtype>,
    /// Element type assumed for an untyped file when `--dtype` is absent.
    pub raw: Option<Dtype>,
    /// Whether it has the type in which elements of the job's are added.
    pub widened: bool,
}

impl Operand {
    /// An operand of the job's element type.
    pub const fn of_elements(name: &'static str) -> Self {
        Self { name, dtype: None, raw: None, widened: false }
    }

    /// An operand of the type in which elements of the job's are added: f32 for those narrower than it.
    pub const fn of_sums(name: &'static str) -> Self {
        Self { widened: true, ..Self::of_elements(name) }
    }

    /// An operand that always has this type.
    pub const fn of(name: &'static str, dtype: Dtype) -> Self {
        Self { dtype: Some(dtype), ..Self::of_elements(name) }
    }

    /// An operand of the job's element type from any file: one without a type, such as a text, is read as `raw`.
    pub const fn of_any_file(name: &'static str, raw: Dtype) -> Self {
        Self { raw: Some(raw), ..Self::of_elements(name) }
    }

    /// The operand's type in a job of this type.
    pub fn dtype_in(&self, job: Dtype) -> Dtype {
        match self.dtype {
            None if self.widened && job.size() < Dtype::F32.size() => Dtype::F32,
            own => own.unwrap_or(job),
        }
    }
}

/// A problem size with settings that differ from the defaults, for tests and benchmarks.
#[derive(Clone, Debug)]
pub struct Case {
    /// Size as in `--n` (one number) or `--shape`.
    pub size: Vec<u64>,
    /// Settings by name, each with its text.
    pub settings: Vec<(&'static str, String)>,
    /// The element types to which it applies; empty for all.
    pub dtypes: &'static [Dtype],
}

impl Case {
    /// Creates a case with the default settings for all types.
    pub fn new(size: &[u64]) -> Self {
        Self { size: size.to_vec(), settings: Vec::new(), dtypes: &[] }
    }

    /// Restricts the case to these types, for settings that the others refuse.
    pub fn only(self, dtypes: &'static [Dtype]) -> Self {
        Self { dtypes, ..self }
    }

    /// Whether the case applies to this type.
    pub fn is_for(&self, dtype: Dtype) -> bool {
        self.dtypes.is_empty() || self.dtypes.contains(&dtype)
    }

    /// Adds a setting.
    pub fn with(mut self, name: &'static str, value: &str) -> Self {
        self.settings.push((name, value.to_owned()));
        self
    }
}

/// Lengths around the sizes of warps, blocks and tiles, and a prime above each tile: for families of vectors.
pub fn awkward_lengths() -> Vec<Case> {
    [0, 1, 2, 31, 32, 33, 127, 255, 256, 257, 1009, 4099, 20011].into_iter().map(|n| Case::new(&[n])).collect()
}

/// Lengths that are measured by default.
pub fn bench_lengths() -> Vec<Case> {
    [20, 22, 24, 26, 28].into_iter().map(|power| Case::new(&[1 << power])).collect()
}

/// The minimum work of every algorithm, with which times are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Number of bytes moved to and from device memory.
    pub bytes: u64,
    /// Number of arithmetic operations on floats; a fused multiply-add is two. 0 if only memory counts.
    pub flops: u64,
}

impl Work {
    /// Creates work that moves memory only.
    pub fn bytes(bytes: u64) -> Self {
        Self { bytes, flops: 0 }
    }
}

/// The right result of a problem, computed once for all variants.
pub struct Oracle<'a> {
    /// The result, if it is a single value.
    pub value: Option<Value>,
    /// Whether an integer left its type's range and wrapped, as documented.
    pub wrapped: bool,
    /// The problem's size as in `--shape`, if it is not the shape of the first operand.
    pub size: Option<Vec<usize>>,
    /// The comparison; `None` if nothing is judged.
    judge: Option<Box<Judge<'a>>>,
    /// The search for a wrong element, if results are compared element by element.
    find: Option<Box<Find<'a>>>,
}

/// A wrong element of a result.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Wrong {
    /// Index in row-major order.
    pub index: u64,
    /// The element.
    pub got: Value,
    /// The expected value.
    pub expected: Value,
}

impl Wrong {
    /// Returns the first wrong one of these elements, each of which has its index.
    pub(crate) fn first(elements: impl IntoIterator<Item = (usize, Value, Expected)>) -> Option<Self> {
        let mut wrong = elements.into_iter().filter(|(_, got, expected)| !expected.judge(*got).verified);
        wrong.next().map(|(index, got, Expected { value: expected, .. })| Self { index: index as u64, got, expected })
    }
}

/// See [`Oracle::judge`].
type Judge<'a> = dyn Fn(&Tensor, u64) -> Verdict + 'a;

/// See [`Oracle::first_wrong`].
type Find<'a> = dyn Fn(&Tensor, u64) -> Option<Wrong> + 'a;

impl<'a> Oracle<'a> {
    /// Creates an oracle from a comparison, which takes a result and the largest number of additions in a chain.
    pub fn new(judge: impl Fn(&Tensor, u64) -> Verdict + 'a) -> Self {
        Self { judge: Some(Box::new(judge)), ..Self::none() }
    }

    /// Creates an oracle that judges nothing, for kernels without a defined result. Rows report that: see
    /// [`Row::verified`](super::Row::verified).
    pub fn none() -> Self {
        Self { value: None, wrapped: false, size: None, judge: None, find: None }
    }

    /// Whether results are compared at all.
    pub fn judges(&self) -> bool {
        self.judge.is_some()
    }

    /// Creates an oracle that compares every element with `expected(index, depth)`, and the shape with `shape`.
    pub fn elements<T: Scalar>(shape: Vec<usize>, expected: impl Fn(usize, u64) -> Expected + Sync + 'a) -> Self {
        let (shape, expected) = (Rc::new(shape), Rc::new(expected));
        let (same_shape, same_expected) = (shape.clone(), expected.clone());
        let judge = move |result: &Tensor, depth| {
            let (true, Some(elements)) = (*result.shape() == **shape, T::view(result.data())) else {
                return Verdict { verified: false, error: f64::NAN };
            };
            let expected = &*expected;
            of_pieces(elements, |first, piece| {
                Verdict::of_all(piece.iter().zip(first..).map(|(x, i)| expected(i, depth).judge(x.value())))
            })
        };
        let find = move |result: &Tensor, depth| {
            let elements = T::view(result.data()).filter(|_| *result.shape() == **same_shape)?;
            Wrong::first(elements.iter().enumerate().map(|(i, x)| (i, x.value(), same_expected(i, depth))))
        };
        Self::new(judge).with_search(find)
    }

    /// Sets the search for the first wrong element: see [`Oracle::first_wrong`].
    pub fn with_search(self, find: impl Fn(&Tensor, u64) -> Option<Wrong> + 'a) -> Self {
        Self { find: Some(Box::new(find)), ..self }
    }

    /// Sets the problem's size.
    pub fn with_size(self, size: &[usize]) -> Self {
        Self { size: Some(size.to_vec()), ..self }
    }

    /// Sets the result, which is a single value.
    pub fn with_value(self, value: Value) -> Self {
        Self { value: Some(value), ..self }
    }

    /// Sets whether an integer wrapped.
    pub fn with_wrapped(self, wrapped: bool) -> Self {
        Self { wrapped, ..self }
    }

    /// Returns the first element of a result that does not pass; `None` also if elements are not compared one by one,
    /// and for a result of another shape.
    pub fn first_wrong(&self, result: &Tensor, depth: u64) -> Option<Wrong> {
        self.find.as_ref().and_then(|find| find(result, depth))
    }

    /// Compares a result; an oracle that [judges](Self::judges) nothing passes no result. `depth` is the largest number
    /// of additions in a chain from an element to the result.
    pub fn judge(&self, result: &Tensor, depth: u64) -> Verdict {
        match &self.judge {
            Some(judge) => judge(result, depth),
            None => Verdict { verified: false, error: f64::NAN },
        }
    }
}

/// Number of elements that one processor judges at a time.
pub(super) const PIECE: usize = 1 << 16;

/// Judges all pieces of a result, which must all pass; `judge` takes the index of a piece's first element, and its
/// elements. The pieces are judged on all processors, with the same verdict on every run.
pub(super) fn of_pieces<T: Sync>(elements: &[T], judge: impl Fn(usize, &[T]) -> Verdict + Sync) -> Verdict {
    let pieces = elements.par_chunks(PIECE).enumerate();
    let verdicts: Vec<_> = pieces.map(|(k, piece)| judge(k * PIECE, piece)).collect();
    Verdict::of_all(verdicts)
}

/// Relative rounding error of one operation: half the distance between 1 and the next number, doubled so that
/// `depth * epsilon` covers Higham's `depth * u / (1 - depth * u)` (Accuracy and Stability of Numerical Algorithms,
/// 4.2) as long as it is below 1. 0 for integers.
pub fn epsilon(dtype: Dtype) -> f64 {
    match dtype {
        Dtype::F32 => f64::from(f32::EPSILON),
        Dtype::F64 => f64::EPSILON,
        Dtype::F16 => f64::powi(2.0, -10),
        Dtype::Bf16 => f64::powi(2.0, -7),
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustwarp::element::Array;

    #[test]
    fn every_element_counts_and_so_does_the_shape() {
        let oracle = Oracle::elements::<i32>(vec![3], |i, _| Expected::exactly(Value::Int(i as i128)));
        let judge = |values: Vec<i32>| oracle.judge(&Array::I32(values).into(), 0);
        assert!(judge(vec![0, 1, 2]).verified);
        assert_eq!(judge(vec![0, 1, 7]), Verdict { verified: false, error: 5.0 });
        assert!(!judge(vec![0, 1]).verified && !judge(vec![0, 1, 2, 3]).verified);
        assert!(!oracle.judge(&Array::F32(vec![0.0, 1.0, 2.0]).into(), 0).verified, "another type");
        let first = |values: Vec<i32>| oracle.first_wrong(&Array::I32(values).into(), 0).map(|wrong| wrong.index);
        assert_eq!((first(vec![0, 1, 2]), first(vec![0, 5, 7]), first(vec![0, 5])), (None, Some(1), None));
    }

    #[test]
    fn what_is_not_judged_does_not_pass() {
        let none = Oracle::none();
        assert!(!none.judges() && !none.judge(&Array::I32(vec![0]).into(), 0).verified);
        assert!(Oracle::elements::<i32>(vec![0], |_, _| Expected::exactly(Value::Int(0))).judges());
    }

    #[test]
    fn a_nan_among_the_errors_is_the_largest() {
        let oracle = Oracle::elements::<f32>(vec![2], |_, _| Expected::exactly(Value::Float(1.0)));
        assert!(oracle.judge(&Array::F32(vec![f32::NAN, 9.0]).into(), 0).error.is_nan());
    }

    #[test]
    fn elements_of_every_piece_are_judged_with_their_index() {
        let n = 2 * PIECE + 5;
        let oracle = Oracle::elements::<i32>(vec![n], |i, _| Expected::exactly(Value::Int(i as i128)));
        let values: Vec<i32> = (0..n as i32).collect();
        assert!(oracle.judge(&Array::I32(values.clone()).into(), 0).verified);
        for wrong in [0, PIECE - 1, PIECE, 2 * PIECE, n - 1] {
            let mut values = values.clone();
            values[wrong] += 3;
            assert_eq!(oracle.judge(&Array::I32(values).into(), 0), Verdict { verified: false, error: 3.0 }, "{wrong}");
        }
    }
}
