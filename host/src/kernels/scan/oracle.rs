//! What a scan must give: the serial algorithm in a wider type, and its error bound.

use crate::compare::{Expected, Verdict};
use crate::element::{Element, Value};
use crate::error::Result;
use crate::kernels::Oracle;
use crate::kernels::reduce::oracle::{Reference, beats, empty};

/// Judges scans of this input.
///
/// Sums of integers are exact before they wrap, and so are maxima and minima. A sum of floats is known within half an ulp of `f64`
/// or so (Neumaier, 1974); see [`Reference::expected`] for how far from it a result may be.
pub fn oracle<'a, T: Element>(op: &'a str, exclusive: bool, input: &'a [T]) -> Result<Oracle<'a>> {
    let mut all = Prefix::new::<T>(op);
    let wrapped = op == "sum"
        && !T::DTYPE.is_float()
        && input.iter().any(|x| {
            all.append(op, x.value());
            all.reference::<T>().wrapped
        });
    let judge = move |result: &crate::Tensor, depth: u64| {
        let (&[len], Some(elements)) = (result.shape(), T::view(result.data())) else {
            return Verdict { verified: false, error: f64::NAN };
        };
        if len != input.len() {
            return Verdict { verified: false, error: f64::NAN };
        }
        let mut prefix = Prefix::new::<T>(op);
        Verdict::of_all(input.iter().zip(elements).map(|(x, element)| {
            let before = prefix.expected::<T>(depth);
            prefix.append(op, x.value());
            if exclusive { before } else { prefix.expected::<T>(depth) }.judge(element.value())
        }))
    };
    Ok(Oracle::new(judge).with_wrapped(wrapped))
}

/// The reduction of the first elements.
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

    fn reference<T: Element>(&self) -> Reference {
        match self.value {
            Value::Int(exact) => {
                let value = T::round(self.value).value();
                Reference { value, magnitude: None, wrapped: !matches!(value, Value::Int(wrapped) if wrapped == exact) }
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

    fn expected<T: Element>(&self, depth: u64) -> Expected {
        self.reference::<T>().expected::<T>(depth)
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
