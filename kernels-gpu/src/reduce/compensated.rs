//! Compensated summation: the rounding error of every addition is computed exactly, and summed beside the sum.
//!
//! Of `s = a + b` the error is a number of the same type: `(a - (s - x)) + (b - x)` with `x = s - a` (Knuth). Threads,
//! lanes, warps and blocks carry pairs of a sum and its errors, and the block that gathers adds the two at the end. The
//! result is as precise as a sum in twice the precision that is rounded once, in f32 and f64 alike. It takes seven
//! additions in place of one, and two shuffles in place of one; a grid that waits for memory takes no longer.
//! Everything else is [`best`](super::best): the loads in flight, and one launch.
//!
//! Kahan's algorithm (1965) adds the error to the next addition instead, and loses it if the sum is small beside the
//! next element; Neumaier's (1974) and this one, which needs no comparison, do not.
//!
//! Operations other than sums of floats are exact, and have no errors to carry.
//!
//! - *Error bound*: `u * |sum| + (1 + u) * g(d) * g(2 * d) * sum(|x|)`, with `g(k) = k * u / (1 - k * u)`, `u` half the
//!   type's epsilon and `d` the longest chain of additions: the sum's own errors are at most `g(d) * sum(|x|)`, and
//!   adding them up takes at most `2 * d` additions.
//! - *Class*: bits fixed by length and grid.
//!
//! Source: T. Ogita, S. M. Rump, S. Oishi, "Accurate Sum and Dot Product" (2005), `Sum2`, here as a tree.

use super::{
    Max, Min, Op, Sum,
    best::{grid_value_by_columns, transform_reduce},
    two_sum::{Pair, TwoSum, rounded},
};
use crate::number::Number;
use crate::operator::Operator;
use cuda_std::kernel;

/// The idea in one line.
pub const IDEA: &str = "the rounding error of each addition is added up beside the sum: twice the precision";

/// Default number of threads per block; a multiple of 32, at most 1024.
pub const BLOCK: u32 = 256;

/// Blocks per multiprocessor, for which the registers leave room.
pub const BLOCKS_PER_SM: u32 = 3;

/// Reduces the input to `output[0]`.
///
/// # Safety
/// The block is a multiple of 32; `words` are those of [`Gather::start`](super::gather::Gather::start) for results of
/// type [`Pair`].
#[kernel(for O in [Sum, Max, Min], for T in [f32, f64, i32, u32, i64, u64])]
pub unsafe fn reduce_compensated<O: Compensate<T>, T: Number>(input: &[T], words: *mut u64, output: *mut T) {
    // SAFETY: the caller upholds this function's contract.
    unsafe { O::reduce(input, words, output) }
}

/// Sums of pairs, whose second numbers add up the rounding errors of the first.
struct Add;

impl<T: TwoSum> Operator<Pair<T>> for Add {
    const COMMUTATIVE: bool = true;

    #[inline(always)]
    fn identity() -> Pair<T> {
        Pair { high: T::ZERO, low: T::NOTHING }
    }
    #[inline(always)]
    fn combine(a: Pair<T>, b: Pair<T>) -> Pair<T> {
        let sum = T::two_sum(a.high, b.high);
        Pair { high: sum.high, low: a.low.add(b.low).add(sum.low) }
    }
}

/// Operations, of which some round.
pub trait Compensate<T: Number>: Op<T> + Sized {
    /// Reduces the input to `output[0]`, here without rounding.
    ///
    /// # Safety
    /// That of [`reduce_compensated()`].
    #[inline(always)]
    unsafe fn reduce(input: &[T], words: *mut u64, output: *mut T) {
        // SAFETY: the caller upholds this function's contract; half a pair takes fewer words.
        unsafe { transform_reduce::<Self, T, T>(input, |x| x, words, output) }
    }
}

impl<T: Number> Compensate<T> for Max {}
impl<T: Number> Compensate<T> for Min {}

impl<T: Summable> Compensate<T> for Sum {
    #[inline(always)]
    unsafe fn reduce(input: &[T], words: *mut u64, output: *mut T) {
        // SAFETY: the caller upholds this function's contract.
        unsafe { T::sum(input, words, output) }
    }
}

/// Numbers, of which some are rounded by an addition.
pub trait Summable: Number {
    /// Adds the input to `output[0]`, here without rounding.
    ///
    /// # Safety
    /// That of [`reduce_compensated()`].
    #[inline(always)]
    unsafe fn sum(input: &[Self], words: *mut u64, output: *mut Self) {
        // SAFETY: the caller upholds this function's contract; half a pair takes fewer words.
        unsafe { transform_reduce::<Sum, Self, Self>(input, |x| x, words, output) }
    }
}

macro_rules! float {
    ($($t:ty)*) => { $(
        impl Summable for $t {
            #[inline(always)]
            unsafe fn sum(input: &[$t], words: *mut u64, output: *mut $t) {
                let pair = |x| Pair { high: x, low: <$t>::NOTHING };
                // SAFETY: the caller upholds this function's contract.
                let sum = unsafe { grid_value_by_columns::<Add, $t, Pair<$t>>(input, pair, words) };
                if let Some(sum) = sum {
                    // SAFETY: only one thread of the grid takes this branch.
                    unsafe { output.write(rounded(sum)) };
                }
            }
        }
    )* };
}
float!(f32 f64);

impl Summable for i32 {}
impl Summable for u32 {}
impl Summable for i64 {}
impl Summable for u64 {}
