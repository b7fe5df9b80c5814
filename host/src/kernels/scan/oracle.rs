//! What a scan must give: the serial algorithm in a wider type, and its error bound.

use crate::compare::Verdict;
use crate::element::{Element, Value};
use crate::error::Result;
use crate::kernels::Oracle;
use crate::kernels::problem::{PIECE, of_pieces};
use crate::kernels::reduce::oracle::{Reference, beats, empty};

/// Judges scans of this input.
///
/// Sums of integers are exact before they wrap, and so are maxima and minima. A sum of floats is known within half an ulp of `f64`
/// or so (Neumaier, 1974); see [`Reference::expected`] for how far from it a result may be.
pub fn oracle<'a, T: Element>(op: &'a str, exclusive: bool, input: &'a [T]) -> Result<Oracle<'a>> {
    // The prefix before each piece, so that the pieces can be judged side by side.
    let (mut starts, mut all, mut wrapped) = (Vec::new(), Prefix::new::<T>(op), false);
    for piece in input.chunks(PIECE) {
        starts.push(all);
        for x in piece {
            all.append(op, x.value());
            wrapped |= all.wrapped::<T>();
        }
    }
    let judge = move |result: &crate::Tensor, depth: u64| {
        let (&[len], Some(elements)) = (result.shape(), T::view(result.data())) else {
            return Verdict { verified: false, error: f64::NAN };
        };
        if len != input.len() {
            return Verdict { verified: false, error: f64::NAN };
        }
        of_pieces(elements, |first, piece| {
            let mut prefix = starts[first / PIECE];
            Verdict::of_all(input[first..].iter().zip(piece).map(|(x, element)| {
                let before = prefix;
                prefix.append(op, x.value());
                let prefix = if exclusive { before } else { prefix };
                prefix.reference::<T>().expected::<T>(depth).judge(element.value())
            }))
        })
    };
    Ok(Oracle::new(judge).with_wrapped(wrapped))
}

/// The reduction of the first elements.
#[derive(Clone, Copy)]
struct Prefix {
    /// Exact integer; the larger part of a float sum; the winner so far.
    value: Value,
    /// Of float sums: what the value had no room for.
    lost: f64,
    /// Of float sums: the sum of absolute values.
    magnitude: Option<f64>,
    /// Of float sums: the sum of infinities and NaN.
    special: f64,
}

impl Prefix {
    /// Of no elements.
    fn new<T: Element>(op: &str) -> Self {
        let float = T::DTYPE.is_float();
        let value = match (op, float) {
            ("sum", true) => Value::Float(0.0),
            ("sum", false) => Value::Int(0),
            _ => empty(T::DTYPE, op == "max"),
        };
        Self { value, lost: 0.0, magnitude: (op == "sum" && float).then_some(0.0), special: 0.0 }
    }

    /// One element more.
    fn append(&mut self, op: &str, x: Value) {
        match (op, self.value, x) {
            ("sum", Value::Int(sum), Value::Int(x)) => self.value = Value::Int(sum + x),
            ("sum", Value::Float(_), Value::Float(x)) if !x.is_finite() => self.special += x,
            ("sum", Value::Float(sum), Value::Float(x)) => {
                let next = sum + x;
                self.lost += if sum.abs() >= x.abs() { (sum - next) + x } else { (x - next) + sum };
                self.value = Value::Float(next);
                self.magnitude = self.magnitude.map(|magnitude| magnitude + x.abs());
            }
            (_, best, x) => self.value = if beats(x, best, op == "max") { x } else { best },
        }
    }

    /// An integer that the type can't hold.
    fn wrapped<T: Element>(&self) -> bool {
        matches!(self.value, Value::Int(exact) if !matches!(T::round(self.value).value(), Value::Int(x) if x == exact))
    }

    fn reference<T: Element>(&self) -> Reference {
        match self.value {
            Value::Int(_) => {
                Reference { value: T::round(self.value).value(), magnitude: None, wrapped: self.wrapped::<T>() }
            }
            Value::Float(_) if self.special != 0.0 => {
                Reference { value: Value::Float(self.special), magnitude: Some(0.0), wrapped: false }
            }
            // Not to the winner of a maximum: -0 + 0 is 0.
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

    fn passes<T: Element>(op: &str, exclusive: bool, input: &[T], result: &[T]) -> bool {
        let oracle = oracle::<T>(op, exclusive, input).expect("an oracle");
        oracle.judge(&T::wrap(result.to_vec()).into(), 4).verified
    }

    #[test]
    fn inclusive_and_exclusive() {
        assert!(passes("sum", false, &[1, 2, 3], &[1, 3, 6]) && !passes("sum", false, &[1, 2, 3], &[0, 1, 3]));
        assert!(passes("sum", true, &[1, 2, 3], &[0, 1, 3]) && !passes("sum", true, &[1, 2, 3], &[1, 3, 6]));
        assert!(passes("max", true, &[4_i64, 9, 2], &[i64::MIN, 4, 9]));
        assert!(passes("min", true, &[4_f32, 9.0, 2.0], &[f32::INFINITY, 4.0, 4.0]));
        assert!(!passes("sum", false, &[1, 2, 3], &[1, 3]) && passes::<f32>("max", false, &[], &[]));
    }

    #[test]
    fn integers_wrap_and_say_so() {
        assert!(passes("sum", false, &[i32::MAX, 1, 1], &[i32::MAX, i32::MIN, i32::MIN + 1]));
        assert!(oracle("sum", false, &[i32::MAX, 1, -1]).expect("an oracle").wrapped, "on the way");
        assert!(!oracle("sum", false, &[u64::MAX, 0]).expect("an oracle").wrapped);
    }

    #[test]
    fn every_prefix_has_a_bound_of_its_own() {
        let input = [1e8_f32, 1.0, -1e8];
        assert!(passes("sum", false, &input, &[1e8, 1e8, 0.0]) && passes("sum", false, &input, &[1e8, 1e8, 1.0]));
        assert!(!passes("sum", false, &[1.0_f32, 1e8], &[1.5, 1e8]), "a small prefix before a large one");
        let (inf, nan) = (f64::INFINITY, f64::NAN);
        assert!(passes("sum", false, &[1.0, inf, -inf, 1.0], &[1.0, inf, nan, nan]));
        assert!(passes("sum", true, &[1.0, nan, 1.0], &[0.0, 1.0, nan]));
        assert!(!passes("sum", true, &[1.0, nan, 1.0], &[0.0, nan, nan]));
        assert!(passes("max", false, &[-0.0, 0.0, nan], &[-0.0, 0.0, nan]));
        assert!(!passes("max", false, &[-0.0, 0.0, 1.0], &[0.0, 0.0, 1.0]));
        assert!(passes("sum", false, &[f32::MAX, f32::MAX, -f32::MAX], &[f32::MAX, f32::INFINITY, f32::MAX]));
    }
}
