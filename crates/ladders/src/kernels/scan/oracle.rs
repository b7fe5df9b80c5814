//! References of scans: the serial algorithm in a wider type, and its error bound.

use crate::compare::{Expected, Verdict};
use crate::kernels::generic::Reduction;
use crate::kernels::problem::{PIECE, of_pieces};
use crate::kernels::reduce::oracle::{Reference, beats, empty};
use crate::kernels::{Oracle, Wrong};
use rustwarp::element::{Element, Value};
use rustwarp::tensor::Tensor;
use std::rc::Rc;

/// Makes the oracle for scans of this input.
///
/// Sums of integers are exact before they wrap, and so are maxima and minima. Sums of floats are accurate to about half
/// an ulp of `f64` (Neumaier, 1974); [`Reference::expected`] has the bound for results.
pub fn oracle<'a, T: Element>(op: Reduction, exclusive: bool, input: &'a [T]) -> Oracle<'a> {
    of_runs(op, exclusive, &[], input)
}

/// The same for scans of each run of equal keys: one for each element, or none if all are one run.
pub fn of_runs<'a, T: Element>(op: Reduction, exclusive: bool, keys: &'a [u32], input: &'a [T]) -> Oracle<'a> {
    let mut scan = Scan { op, exclusive, keys, input, starts: Vec::new() };
    let (mut all, mut wrapped) = (Prefix::new::<T>(op), false);
    for (i, x) in input.iter().enumerate() {
        if i.is_multiple_of(PIECE) {
            scan.starts.push(all);
        }
        all = scan.before(all, i);
        all.append(op, x.value());
        wrapped |= all.wrapped::<T>();
    }
    let scan = Rc::new(scan);
    let same_scan = scan.clone();
    let judge = move |result: &Tensor, depth| {
        let (Some(elements), scan) = (scan.elements(result), &*scan) else {
            return Verdict { verified: false, error: f64::NAN };
        };
        of_pieces(elements, |first, piece| {
            let expected = scan.expected(first, depth).zip(piece);
            Verdict::of_all(expected.map(|(expected, x)| expected.judge(x.value())))
        })
    };
    let find = move |result: &Tensor, depth| {
        let expected = same_scan.expected(0, depth).zip(same_scan.elements(result)?).enumerate();
        Wrong::first(expected.map(|(i, (expected, x))| (i, x.value(), expected)))
    };
    Oracle::new(judge).with_search(find).with_wrapped(wrapped)
}

/// The data for judging a scan.
struct Scan<'a, T> {
    op: Reduction,
    exclusive: bool,
    /// The keys that end runs, or none.
    keys: &'a [u32],
    input: &'a [T],
    /// The prefix before each part, so that the parts can be judged in parallel.
    starts: Vec<Prefix>,
}

impl<T: Element> Scan<'_, T> {
    /// The elements of a result of the right type and length.
    fn elements<'r>(&self, result: &'r Tensor) -> Option<&'r [T]> {
        T::view(result.data()).filter(|_| result.shape() == [self.input.len()])
    }

    /// What counts of the prefix before element `i`: nothing if a run begins there.
    fn before(&self, prefix: Prefix, i: usize) -> Prefix {
        let begins = i > 0 && self.keys.get(i).is_some_and(|&key| key != self.keys[i - 1]);
        if begins { Prefix::new::<T>(self.op) } else { prefix }
    }

    /// Expected values of the elements from the first one of a part on.
    fn expected(&self, first: usize, depth: u64) -> impl Iterator<Item = Expected> {
        let start = self.starts.get(first / PIECE).copied().unwrap_or_else(|| Prefix::new::<T>(self.op));
        self.input.iter().enumerate().skip(first).scan(start, move |prefix, (i, x)| {
            let before = self.before(*prefix, i);
            *prefix = before;
            prefix.append(self.op, x.value());
            let prefix = if self.exclusive { before } else { *prefix };
            Some(prefix.reference::<T>().expected::<T>(depth))
        })
    }
}

/// The reduction of some elements: of the first ones for a scan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prefix {
    /// The exact integer; the rounded float sum; or the maximum or minimum so far.
    value: Value,
    /// For float sums: the sum of the rounding errors.
    lost: f64,
    /// For float sums: the sum of absolute values.
    magnitude: Option<f64>,
    /// For float sums: the sum of infinities and NaN.
    special: f64,
}

impl Prefix {
    /// The prefix of no elements.
    pub fn new<T: Element>(op: Reduction) -> Self {
        let float = T::DTYPE.is_float();
        let value = match (op, float) {
            (Reduction::Sum, true) => Value::Float(0.0),
            (Reduction::Sum, false) => Value::Int(0),
            _ => empty(T::DTYPE, op == Reduction::Max),
        };
        Self { value, lost: 0.0, magnitude: (op == Reduction::Sum && float).then_some(0.0), special: 0.0 }
    }

    /// Appends an element.
    pub fn append(&mut self, op: Reduction, x: Value) {
        match (op, self.value, x) {
            (Reduction::Sum, Value::Int(sum), Value::Int(x)) => self.value = Value::Int(sum + x),
            (Reduction::Sum, Value::Float(_), Value::Float(x)) if !x.is_finite() => self.special += x,
            (Reduction::Sum, Value::Float(sum), Value::Float(x)) => {
                let next = sum + x;
                self.lost += if sum.abs() >= x.abs() { (sum - next) + x } else { (x - next) + sum };
                self.value = Value::Float(next);
                self.magnitude = self.magnitude.map(|magnitude| magnitude + x.abs());
            }
            (_, best, x) => self.value = if beats(x, best, op == Reduction::Max) { x } else { best },
        }
    }

    /// Appends the elements of another prefix.
    pub fn merge(&mut self, op: Reduction, other: &Self) {
        let magnitude = self.magnitude.zip(other.magnitude).map(|(own, other)| own + other);
        match other.value {
            // A sum beyond f64 is an infinity that no element is.
            Value::Float(sum) if self.magnitude.is_some() && !sum.is_finite() => self.value = Value::Float(sum),
            value => self.append(op, value),
        }
        self.lost += other.lost;
        self.special += other.special;
        self.magnitude = magnitude;
    }

    /// Whether the value is an integer beyond the type's range.
    pub fn wrapped<T: Element>(&self) -> bool {
        matches!(self.value, Value::Int(exact) if !matches!(T::round(self.value).value(), Value::Int(x) if x == exact))
    }

    /// The value, with the data for its error bound.
    pub fn reference<T: Element>(&self) -> Reference {
        match self.value {
            Value::Int(_) => {
                Reference { value: T::round(self.value).value(), magnitude: None, wrapped: self.wrapped::<T>() }
            }
            Value::Float(_) if self.special != 0.0 => {
                Reference { value: Value::Float(self.special), magnitude: Some(0.0), wrapped: false }
            }
            // This must not be added to a maximum: -0 + 0 is 0.
            Value::Float(sum) if self.magnitude.is_some() && sum.is_finite() => {
                Reference { value: Value::Float(sum + self.lost), magnitude: self.magnitude, wrapped: false }
            }
            value => Reference { value, magnitude: self.magnitude, wrapped: false },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Reduction::{Max, Min, Sum};
    use rustwarp::element::Array;

    fn passes<T: Element>(op: Reduction, exclusive: bool, input: &[T], result: &[T]) -> bool {
        let oracle = oracle::<T>(op, exclusive, input);
        oracle.judge(&T::wrap(result.to_vec()).into(), 4).verified
    }

    #[test]
    fn inclusive_and_exclusive() {
        assert!(passes(Sum, false, &[1, 2, 3], &[1, 3, 6]) && !passes(Sum, false, &[1, 2, 3], &[0, 1, 3]));
        assert!(passes(Sum, true, &[1, 2, 3], &[0, 1, 3]) && !passes(Sum, true, &[1, 2, 3], &[1, 3, 6]));
        assert!(passes(Max, true, &[4_i64, 9, 2], &[i64::MIN, 4, 9]));
        assert!(passes(Min, true, &[4_f32, 9.0, 2.0], &[f32::INFINITY, 4.0, 4.0]));
        assert!(!passes(Sum, false, &[1, 2, 3], &[1, 3]) && passes::<f32>(Max, false, &[], &[]));
    }

    #[test]
    fn runs_begin_anew() {
        let passes = |exclusive, result: &[i32]| {
            let (keys, values) = ([7, 7, 3, 7, 7], [1, 2, 4, 8, 16]);
            of_runs::<i32>(Sum, exclusive, &keys, &values).judge(&Array::I32(result.to_vec()).into(), 4).verified
        };
        assert!(passes(false, &[1, 3, 4, 8, 24]) && passes(true, &[0, 1, 0, 0, 8]));
        assert!(!passes(false, &[1, 3, 7, 8, 24]) && !passes(true, &[0, 1, 0, 4, 8]));
        assert!(!passes(false, &[1, 3, 4, 8]), "another length");
        let nan = of_runs::<f32>(Sum, false, &[1, 1, 2], &[f32::NAN, 1.0, 2.0]);
        assert!(nan.judge(&Array::F32(vec![f32::NAN, f32::NAN, 2.0]).into(), 4).verified);
        assert!(!nan.judge(&Array::F32(vec![f32::NAN; 3]).into(), 4).verified);
    }

    #[test]
    fn the_first_wrong_element_is_named() {
        let input: Vec<i64> = (0..PIECE as i64 + 5).collect();
        let right: Vec<i64> = input.iter().map(|i| i * (i + 1) / 2).collect();
        let oracle = oracle::<i64>(Sum, false, &input);
        assert!(oracle.first_wrong(&Array::I64(right.clone()).into(), 4).is_none());
        for place in [0, 1, PIECE - 1, PIECE, PIECE + 4] {
            let mut wrong = right.clone();
            (wrong[place], wrong[PIECE + 4]) = (-1, -2);
            let found = oracle.first_wrong(&Array::I64(wrong.clone()).into(), 4).expect("a wrong one");
            assert_eq!(found.index, place as u64);
            assert_eq!(found.got.to_string(), wrong[place].to_string());
            assert_eq!(found.expected.to_string(), right[place].to_string());
        }
        assert!(oracle.first_wrong(&Array::I64(vec![0]).into(), 4).is_none(), "another length");
    }

    #[test]
    fn integers_wrap_and_say_so() {
        assert!(passes(Sum, false, &[i32::MAX, 1, 1], &[i32::MAX, i32::MIN, i32::MIN + 1]));
        assert!(oracle(Sum, false, &[i32::MAX, 1, -1]).wrapped, "on the way");
        assert!(!oracle(Sum, false, &[u64::MAX, 0]).wrapped);
    }

    #[test]
    fn every_prefix_has_a_bound_of_its_own() {
        let input = [1e8_f32, 1.0, -1e8];
        assert!(passes(Sum, false, &input, &[1e8, 1e8, 0.0]) && passes(Sum, false, &input, &[1e8, 1e8, 1.0]));
        assert!(!passes(Sum, false, &[1.0_f32, 1e8], &[1.5, 1e8]), "a small prefix before a large one");
        let (inf, nan) = (f64::INFINITY, f64::NAN);
        assert!(passes(Sum, false, &[1.0, inf, -inf, 1.0], &[1.0, inf, nan, nan]));
        assert!(passes(Sum, true, &[1.0, nan, 1.0], &[0.0, 1.0, nan]));
        assert!(!passes(Sum, true, &[1.0, nan, 1.0], &[0.0, nan, nan]));
        assert!(passes(Max, false, &[-0.0, 0.0, nan], &[-0.0, 0.0, nan]));
        assert!(!passes(Max, false, &[-0.0, 0.0, 1.0], &[0.0, 0.0, 1.0]));
        assert!(passes(Sum, false, &[f32::MAX, f32::MAX, -f32::MAX], &[f32::MAX, f32::INFINITY, f32::MAX]));
    }
}
