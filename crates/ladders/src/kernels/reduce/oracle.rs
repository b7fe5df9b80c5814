//! References of reductions: the shortest correct code in a wider type, one element after the other.

use crate::compare::Expected;
use crate::kernels::generic::Reduction;
use rustwarp::element::{Dtype, Element, Scalar, Summand, Value};

/// The reference value, with the data for its error bound.
#[derive(Clone, Copy, Debug)]
pub struct Reference {
    /// The value: for integers exact before wrapping; for floats within about half an ulp of f64.
    pub value: Value,
    /// Sum of absolute values, for sums of floats. Everything else is exact.
    pub magnitude: Option<f64>,
    /// Whether an integer sum left the type's range.
    pub wrapped: bool,
}

/// Reduces sequentially.
pub fn reference<T: Summand>(op: Reduction, input: &[T]) -> Reference {
    let values = input.iter().map(|x| x.value());
    match (op, T::DTYPE.is_float()) {
        (Reduction::Sum, false) => {
            let sum = values.fold(0, |sum: i128, x| if let Value::Int(x) = x { sum + x } else { sum });
            let value = T::Sum::round(Value::Int(sum)).value();
            Reference { value, magnitude: None, wrapped: !matches!(value, Value::Int(wrapped) if wrapped == sum) }
        }
        (Reduction::Sum, true) => Reference::of_floats(values.map(float)),
        (Reduction::Max | Reduction::Min, _) => {
            let larger = op == Reduction::Max;
            let value = values.reduce(|best, x| if beats(x, best, larger) { x } else { best });
            Reference { value: value.unwrap_or_else(|| empty(T::DTYPE, larger)), magnitude: None, wrapped: false }
        }
    }
}

/// Index of the first maximum (`larger`) or minimum; `None` if there are no elements.
pub fn first_place<T: Element>(larger: bool, input: &[T]) -> Option<usize> {
    let values = input.iter().map(|x| x.value()).enumerate();
    values.reduce(|best, x| if beats(x.1, best.1, larger) { x } else { best }).map(|(index, _)| index)
}

impl Reference {
    /// The sum of floats.
    pub fn of_floats(values: impl Iterator<Item = f64>) -> Self {
        let (sum, magnitude) = float_sum(values);
        Self { value: Value::Float(sum), magnitude: Some(magnitude), wrapped: false }
    }

    /// The expected result of a kernel that adds at most `depth` numbers in a chain.
    ///
    /// A sum of floats in any order whose longest chain has `d` additions is within `d * u / (1 - d * u) * sum(|x|)` of
    /// the exact one, with `u` half the type's epsilon (Higham, "Accuracy and Stability of Numerical Algorithms",
    /// section 4.2). The bound here is `d * epsilon * sum(|x|)`, which is more as long as `d * epsilon < 1`. Everything
    /// else is exact.
    pub fn expected<T: Element>(&self, depth: u64) -> Expected {
        self.within::<T>(|epsilon, magnitude, _| (depth + 1) as f64 * epsilon * magnitude)
    }

    /// The expected result of a kernel that also adds up its rounding errors, or adds in a wider type.
    ///
    /// The error is that of a sum in twice the precision that is rounded once: about `u * |sum| + (d * u)^2 * sum(|x|)`
    /// (Ogita, Rump, Oishi, "Accurate Sum and Dot Product", 2005, section 4). The bound here uses epsilon for `u`.
    pub fn expected_precisely<T: Element>(&self, depth: u64) -> Expected {
        let square = |x: f64| x * x;
        self.within::<T>(|epsilon, magnitude, sum| {
            epsilon * sum.abs() + square((depth + 1) as f64 * epsilon) * magnitude
        })
    }

    /// The expected result of a kernel that adds pairs of floats, each addition in twice the precision of its result.
    ///
    /// The error is at most `u * |sum| + 3.01 * d * u^2 * sum(|x|)` (Joldes, Muller, Popescu, "Tight and Rigorous Error
    /// Bounds for Basic Building Blocks of Double-Word Arithmetic", 2017). The bound here uses epsilon for `u` and 1
    /// for 3.01, which is more.
    pub fn expected_doubled<T: Element>(&self, depth: u64) -> Expected {
        self.within::<T>(|epsilon, magnitude, sum| {
            epsilon * sum.abs() + (depth + 1) as f64 * epsilon * epsilon * magnitude
        })
    }

    /// The expectation with a tolerance computed from epsilon, the sum of absolute values, and the sum.
    fn within<T: Element>(&self, tolerance: impl Fn(f64, f64, f64) -> f64) -> Expected {
        let (epsilon, max) = match T::DTYPE {
            Dtype::F32 => (f64::from(f32::EPSILON), f64::from(f32::MAX)),
            _ => (f64::EPSILON, f64::MAX),
        };
        let (Some(magnitude), Value::Float(sum)) = (self.magnitude, self.value) else {
            return Expected::exactly(self.value);
        };
        Expected {
            // A value beyond the type's range is an infinity in the type.
            value: match self.value {
                Value::Float(sum) if sum.is_finite() && !T::round(self.value).value_is_finite() => {
                    T::round(self.value).value()
                }
                value => value,
            },
            // The tolerance is above 0, so that a sum of zeros may have either sign.
            tolerance: tolerance(epsilon, magnitude, sum).max(f64::from_bits(1)),
            may_overflow: magnitude > max,
        }
    }
}

/// Whether rounding to the type made a finite number infinite; needed for the bound.
trait Finite {
    fn value_is_finite(self) -> bool;
}

impl<T: Element> Finite for T {
    fn value_is_finite(self) -> bool {
        !matches!(self.value(), Value::Float(x) if !x.is_finite())
    }
}

fn float(value: Value) -> f64 {
    match value {
        Value::Float(x) => x,
        Value::Int(_) => f64::NAN,
    }
}

/// The sum by Neumaier's algorithm (1974), and the sum of absolute values. Infinities and NaN are added as in IEEE 754.
fn float_sum(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (mut sum, mut lost, mut magnitude, mut special) = (0.0_f64, 0.0, 0.0, 0.0);
    for x in values {
        if !x.is_finite() {
            special += x;
            continue;
        }
        let next = sum + x;
        // The part of the smaller number that the rounded sum does not contain.
        lost += if sum.abs() >= x.abs() { (sum - next) + x } else { (x - next) + sum };
        sum = next;
        magnitude += x.abs();
    }
    let finite = if sum.is_finite() { sum + lost } else { sum };
    if special == 0.0 { (finite, magnitude) } else { (special, 0.0) }
}

/// The sum by the definition of `kernels_gpu::reduce::fixed_tree`, step by step. It shares no code with the kernel.
pub fn fixed_tree<T: Element>(input: &[T]) -> T {
    const THREADS: usize = 256;
    let (n, chunk) = (input.len(), 16 / size_of::<T>());
    let leaf = n.div_ceil(4096).div_ceil(8192).max(1) * 8192;
    let leaves: Vec<T> = input
        .chunks(leaf)
        .map(|elements| {
            let at = |i: usize| elements.get(i).copied().unwrap_or(T::ZERO);
            let mut threads = [T::ZERO; THREADS];
            for (t, thread) in threads.iter_mut().enumerate() {
                let mut sums = vec![T::ZERO; chunk];
                for round in 0..elements.len().div_ceil(8 * THREADS * chunk) {
                    for (k, sum) in sums.iter_mut().enumerate() {
                        let of_round = |c: usize| at(((round * 8 + c) * THREADS + t) * chunk + k);
                        *sum = sum.add(from_far_to_near(&mut (0..8).map(of_round).collect::<Vec<_>>()));
                    }
                }
                *thread = sums[1..].iter().fold(sums[0], |sum, x| sum.add(*x));
            }
            of_block(&mut threads)
        })
        .collect();
    let mut threads = [T::ZERO; THREADS];
    leaves.iter().enumerate().for_each(|(i, sum)| threads[i % THREADS] = threads[i % THREADS].add(*sum));
    of_block(&mut threads)
}

/// The sum of a block's threads: in each warp, and then of the warps, of which there are zeros up to 32.
fn of_block<T: Element>(threads: &mut [T]) -> T {
    let mut warps: Vec<T> = threads.chunks_mut(32).map(from_far_to_near).collect();
    warps.resize(32, T::ZERO);
    from_far_to_near(&mut warps)
}

/// Adds the upper half to the lower half, until one number is left.
fn from_far_to_near<T: Element>(values: &mut [T]) -> T {
    let mut half = values.len() / 2;
    while half > 0 {
        (0..half).for_each(|i| values[i] = values[i].add(values[i + half]));
        half /= 2;
    }
    values[0]
}

/// Whether `x` replaces `best`. NaN wins over every number and stays; +0 is above -0 (IEEE 754-2019 `maximum` and
/// `minimum`).
pub fn beats(x: Value, best: Value, larger: bool) -> bool {
    match (x, best) {
        (Value::Int(x), Value::Int(best)) => (x > best) == larger && x != best,
        (Value::Float(x), Value::Float(best)) if x.is_nan() || best.is_nan() => x.is_nan() && !best.is_nan(),
        (Value::Float(x), Value::Float(best)) if x == best => {
            x.is_sign_negative() != best.is_sign_negative() && x.is_sign_positive() == larger
        }
        (Value::Float(x), Value::Float(best)) => (x > best) == larger,
        _ => false,
    }
}

/// The maximum (`larger`) or minimum of no elements: the identity.
pub fn empty(dtype: Dtype, larger: bool) -> Value {
    let (low, high) = match dtype {
        Dtype::I32 => (i128::from(i32::MIN), i128::from(i32::MAX)),
        Dtype::U32 => (0, i128::from(u32::MAX)),
        Dtype::I64 => (i128::from(i64::MIN), i128::from(i64::MAX)),
        Dtype::U64 => (0, i128::from(u64::MAX)),
        _ => return Value::Float(if larger { f64::NEG_INFINITY } else { f64::INFINITY }),
    };
    Value::Int(if larger { low } else { high })
}

#[cfg(test)]
mod tests {
    use super::*;
    use Reduction::{Max, Min, Sum};
    use rustwarp::element::Scalar;

    fn passes<T: Element>(op: Reduction, input: &[T], result: T, depth: u64) -> bool {
        reference(op, input).expected::<T>(depth).judge(result.value()).verified
    }

    #[test]
    fn integer_sums_wrap_and_say_so() {
        assert!(passes(Sum, &[i32::MAX, 1], i32::MIN, 1));
        assert!(reference(Sum, &[i32::MAX, 1]).wrapped);
        assert!(!reference(Sum, &[i32::MAX, 0]).wrapped);
        assert!(passes(Sum, &[u64::MAX, 2], 1, 1));
        assert!(!passes(Sum, &[1_u32, 2], 4, 1));
    }

    #[test]
    fn float_sums_are_exact_where_plain_addition_is_not() {
        let input = [1e16, 1.0, -1e16, 1.0];
        assert_eq!(float_sum(input.into_iter()).0, 2.0);
        assert!(passes(Sum, &[1e8_f32, 1.0, -1e8], 1.0, 2));
        assert!(
            passes(Sum, &[1e8_f32, 1.0, -1e8], 0.0, 2),
            "within the bound: f32 cannot be more precise in this order"
        );
        assert!(!passes(Sum, &[1.0_f32, 2.0], 3.1, 1));
    }

    #[test]
    fn precise_sums_have_less_room() {
        let input = [1e8_f32, 1.0, -1e8];
        let precise = |result: f32| reference(Sum, &input).expected_precisely::<f32>(2).judge(result.value()).verified;
        assert!(precise(1.0) && precise(1.0 + f32::EPSILON) && !precise(0.0) && !precise(0.9999));
        assert!(passes(Sum, &input, 0.0, 2), "a plain sum may be 0");
        // A result beyond the type's range, or a NaN, is the same for both.
        for input in [&[f32::MAX, f32::MAX][..], &[f32::INFINITY, 1.0], &[f32::NAN]] {
            let reference = reference(Sum, input);
            let result = input.iter().sum::<f32>().value();
            assert!(reference.expected_precisely::<f32>(1).judge(result).verified, "{input:?}");
        }
        assert!(reference(Max, &[1.0_f32, 2.0]).expected_precisely::<f32>(1).judge(2.0_f32.value()).verified);
    }

    #[test]
    fn special_values_in_sums() {
        let (inf, nan) = (f32::INFINITY, f32::NAN);
        assert!(passes(Sum, &[1.0, inf], inf, 1));
        assert!(passes(Sum, &[inf, -inf], nan, 1));
        assert!(passes(Sum, &[1.0, nan], nan, 1));
        assert!(!passes(Sum, &[1.0, nan], 1.0, 1));
        assert!(!passes(Sum, &[1.0, 2.0], nan, 1));
        assert!(passes(Sum, &[f32::MAX, f32::MAX], inf, 1), "beyond the type's range");
        assert!(passes(Sum, &[f32::MAX, f32::MAX, -f32::MAX], inf, 2), "some orders overflow on the way");
    }

    #[test]
    fn max_and_min_follow_ieee() {
        assert!(passes(Max, &[-0.0_f32, 0.0], 0.0, 1) && !passes(Max, &[-0.0_f32, 0.0], -0.0, 1));
        assert!(passes(Max, &[0.0_f32, -0.0], 0.0, 1) && !passes(Max, &[0.0_f32, -0.0], -0.0, 1));
        assert!(passes(Min, &[0.0_f64, -0.0], -0.0, 1) && !passes(Min, &[-0.0_f64, 0.0], 0.0, 1));
        assert!(passes(Max, &[1.0, f64::NAN, 2.0], f64::NAN, 1) && !passes(Max, &[1.0, f64::NAN, 2.0], 2.0, 1));
        assert!(passes(Min, &[3_i64, -7, 5], -7, 1) && passes(Max, &[3_u32, 7, 5], 7, 1));
        assert!(passes(Max, &[f32::NEG_INFINITY], f32::NEG_INFINITY, 1));
    }

    #[test]
    fn the_first_place_counts() {
        assert_eq!(first_place(true, &[3, 7, 7, 1]), Some(1));
        assert_eq!(first_place(false, &[3, 1, 7, 1]), Some(1));
        assert_eq!(first_place(true, &[-0.0_f32, 0.0, 0.0]), Some(1));
        assert_eq!(first_place(false, &[0.0_f64, -0.0]), Some(1));
        assert_eq!(first_place(true, &[1.0, f32::NAN, f32::INFINITY, f32::NAN]), Some(1));
        assert_eq!(first_place::<f32>(true, &[]), None);
    }

    #[test]
    fn nothing_gives_the_identity() {
        assert!(passes::<f32>(Sum, &[], 0.0, 0));
        assert!(passes::<f32>(Max, &[], f32::NEG_INFINITY, 0));
        assert!(passes::<f64>(Min, &[], f64::INFINITY, 0));
        assert!(passes::<i32>(Max, &[], i32::MIN, 0));
        assert!(passes::<u64>(Min, &[], u64::MAX, 0));
    }
}
