//! Double-float: every sum is a pair of floats, rounded to twice the precision after each addition.
//!
//! [`compensated`](super::compensated) adds up the errors of the sum, and rounds each of these additions to one float:
//! where the sum cancels, so that its errors are what is left, those count. Here the error of the second addition is
//! kept, too, and the pair is normalised: its first number is the whole, rounded, and its second number less than half
//! a unit of the first one's last place. It takes 20 additions in place of one. On a GPU with many f64 units
//! [`double_accumulator`](super::double_accumulator) does the same for f32 in one addition; the pair is for GPUs with
//! few, and for f64.
//!
//! - *Error bound*: `u * |sum| + 3.01 * d * u^2 * sum(|x|)`, with `u` half the type's epsilon and `d` the longest chain
//!   of additions: each is within `3 * u^2 / (1 - 4 * u)` of its own result, and the pair is rounded once at the end.
//! - *Class*: bits fixed by length and grid.
//!
//! Sources: T. J. Dekker, "A Floating-Point Technique for Extending the Available Precision" (1971); the addition and
//! its bound are `AccurateDWPlusDW` of M. Joldes, J.-M. Muller, V. Popescu, "Tight and Rigorous Error Bounds for Basic
//! Building Blocks of Double-Word Arithmetic" (2017), theorem 3.1.

use super::{
    best::grid_value_by_columns,
    fixed_tree::Rounded,
    two_sum::{Pair, TwoSum, rounded},
};
use crate::operator::Operator;
use cuda_std::kernel;

/// The idea in one line.
pub const IDEA: &str = "a float and its remainder after every addition: about twice the digits, also where sums cancel";

/// Default number of threads per block; a multiple of 32, at most 1024.
pub const BLOCK: u32 = 256;

/// Blocks per multiprocessor for elements of this size, for which the registers leave room: f64 takes more than 80.
/// (H200, 2^28 f64: 764 us with two, 978 with three, of which only two run at once.)
pub const fn blocks_per_sm(bytes: usize) -> u32 {
    if bytes == 4 { 3 } else { 2 }
}

/// Adds the input to `output[0]`.
///
/// # Safety
/// The block is a multiple of 32; `words` are those of [`Gather::start`](super::gather::Gather::start) for results of
/// type [`Pair`].
#[kernel(for T in [f32, f64])]
pub unsafe fn reduce_double_float<T: Rounded + TwoSum>(input: &[T], words: *mut u64, output: *mut T) {
    let pair = |x| Pair { high: x, low: T::NOTHING };
    // SAFETY: the caller upholds this function's contract.
    if let Some(sum) = unsafe { grid_value_by_columns::<Add, T, Pair<T>>(input, pair, words) } {
        // SAFETY: only one thread of the grid takes this branch.
        unsafe { output.write(rounded(sum)) };
    }
}

/// Sums of normalised pairs.
struct Add;

impl<T: TwoSum> Operator<Pair<T>> for Add {
    const COMMUTATIVE: bool = true;

    #[inline(always)]
    fn identity() -> Pair<T> {
        Pair { high: T::ZERO, low: T::ZERO }
    }
    #[inline(always)]
    fn combine(a: Pair<T>, b: Pair<T>) -> Pair<T> {
        let (high, low) = (T::two_sum(a.high, b.high), T::two_sum(a.low, b.low));
        let first = T::fast_two_sum(high.high, high.low.add(low.high));
        let sum = T::fast_two_sum(first.high, first.low.add(low.low));
        // The errors of an infinity are NaN, which must not become the sum. Each of the three sums can be the first one
        // that is infinite.
        if !high.high.finite() {
            Pair { high: high.high, low: T::ZERO }
        } else if !first.high.finite() {
            Pair { high: first.high, low: T::ZERO }
        } else if !sum.high.finite() {
            Pair { high: sum.high, low: T::ZERO }
        } else {
            sum
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_added_as_in_twice_the_precision() {
        let pair = |x: f64| Pair { high: x as f32, low: (x - f64::from(x as f32)) as f32 };
        let exact = |pair: Pair<f32>| f64::from(pair.high) + f64::from(pair.low);
        for (a, b) in [(1.0 / 3.0, 2e-9), (1e9 + 0.3, -1e9), (0.1, 0.2), (-5.5e-7, 1.0 / 7.0), (1.0, -1.0)] {
            let (a, b) = (pair(a), pair(b));
            let (sum, right) = (Add::combine(a, b), exact(a) + exact(b));
            let u = f64::from(f32::EPSILON) / 2.0;
            assert!((exact(sum) - right).abs() <= 3.01 * u * u * right.abs(), "{a:?} + {b:?} = {sum:?}, not {right}");
            assert_eq!(sum.high, sum.high + sum.low, "{sum:?} is normalised");
        }
        let infinite = Add::combine(pair(f64::INFINITY), pair(1.0));
        assert_eq!((infinite.high, rounded(infinite)), (f32::INFINITY, f32::INFINITY));
        // Half a unit in the last place beyond the largest number, as a sum of low parts.
        let of = |x| Pair { high: x, low: 0.0 };
        let sum = Add::combine(Add::combine(of(f32::MAX), of(f32::powi(2.0, 102) * 1.25)), of(f32::powi(2.0, 102)));
        assert_eq!(rounded(sum), f32::INFINITY);
    }
}
