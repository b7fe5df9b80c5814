//! Compensated summation: the rounding error of every addition is computed exactly, and summed beside the sum.
//!
//! Of `s = a + b` the error is a number of the same type: `(a - (s - x)) + (b - x)` with `x = s - a` (Knuth). Threads,
//! lanes and warps carry pairs of a sum and its errors, and the block adds the two at last. The result is as precise as
//! a sum in twice the precision that is rounded once, in f32 and f64 alike. It takes seven additions in place of one,
//! and two shuffles in place of one; a grid that waits for memory takes no longer.
//!
//! Kahan's algorithm (1965) adds the error to the next addition instead, and loses it if the sum is small beside the
//! next element; Neumaier's (1974) and this one, which needs no comparison, do not.
//!
//! The next launch takes numbers of the input's type, so a block writes two of them: its result, and the rounding
//! error. Operations other than sums of floats are exact: for these the second number is the identity, which changes
//! no result.
//!
//! Source: T. Ogita, S. M. Rump, S. Oishi, "Accurate Sum and Dot Product" (2005), `Sum2`, here as a tree.

use super::{Max, Min, Op, Sum, WARP, collective::block_reduce_by};
use crate::number::Number;
use cuda_std::{kernel, thread, warp};

/// The idea in one line.
pub const IDEA: &str = "the rounding error of each addition is added up beside the sum: twice the precision";

/// Default number of threads per block; a multiple of 32, at most 1024.
pub const BLOCK: u32 = 256;

/// Numbers that each block writes.
pub const RESULTS: usize = 2;

/// A result, and its rounding error.
#[derive(Clone, Copy)]
struct Pair<T> {
    value: T,
    lost: T,
}

/// Reduces the input to two numbers per block, from `output[2 * block index]` on, whose reduction is the block's.
///
/// # Safety
/// The block is a multiple of 32; `output` has two elements per block.
#[kernel(for O in [Sum, Max, Min], for T in [f32, f64, i32, u32, i64, u64])]
pub unsafe fn reduce_compensated<O: Compensate<T>, T: Number>(input: &[T], output: *mut T) {
    let nothing = Pair { value: O::identity(), lost: T::ZERO };
    let mut pair = nothing;
    let mut i = thread::global_index();
    while i < input.len() {
        pair = combine::<O, T>(pair, Pair { value: input[i], lost: T::ZERO });
        i += thread::grid_stride();
    }
    // SAFETY: every thread of the block reaches this call, and the block consists of whole warps.
    let pair = unsafe { block_reduce_by(pair, nothing, |pair| warp_reduce::<O, T>(pair)) };
    if thread::thread_idx_x() == 0 {
        let (value, rest) = O::split(pair.value, pair.lost);
        // SAFETY: two outputs per block.
        unsafe {
            let output = output.add(RESULTS * thread::block_idx_x() as usize);
            output.write(value);
            output.add(1).write(rest.unwrap_or(O::identity()));
        }
    }
}

/// Combines two pairs.
#[inline(always)]
fn combine<O: Compensate<T>, T: Number>(a: Pair<T>, b: Pair<T>) -> Pair<T> {
    let value = O::combine(a.value, b.value);
    if !O::ROUNDS {
        return Pair { value, lost: T::ZERO };
    }
    Pair { value, lost: a.lost.add(b.lost).add(O::lost(a.value, b.value, value)) }
}

/// Reduces the pairs of a full warp; lane 0 holds the result.
///
/// # Safety
/// All 32 lanes of the warp call it together.
#[inline(always)]
unsafe fn warp_reduce<O: Compensate<T>, T: Number>(mut pair: Pair<T>) -> Pair<T> {
    let mut delta = WARP / 2;
    while delta > 0 {
        // SAFETY: by contract all lanes named by the mask reach this call.
        let other = unsafe {
            Pair {
                value: warp::shuffle_down(warp::ALL, pair.value, delta),
                lost: if O::ROUNDS { warp::shuffle_down(warp::ALL, pair.lost, delta) } else { T::ZERO },
            }
        };
        pair = combine::<O, T>(pair, other);
        delta /= 2;
    }
    pair
}

/// Operations whose rounding error can be computed.
pub trait Compensate<T>: Op<T> {
    /// Whether the operation rounds.
    const ROUNDS: bool;
    /// The rounding error of `combine(a, b)`, which returned `value`.
    fn lost(a: T, b: T, value: T) -> T;
    /// `value + lost` rounded to one number, and its rounding error, if any.
    fn split(value: T, lost: T) -> (T, Option<T>);
}

impl<T: Exact> Compensate<T> for Sum {
    const ROUNDS: bool = T::ROUNDS;

    #[inline(always)]
    fn lost(a: T, b: T, value: T) -> T {
        T::lost(a, b, value)
    }
    #[inline(always)]
    fn split(value: T, lost: T) -> (T, Option<T>) {
        T::split(value, lost)
    }
}

macro_rules! never_rounds {
    ($($op:ty)*) => { $(
        impl<T: Number> Compensate<T> for $op {
            const ROUNDS: bool = false;

            #[inline(always)]
            fn lost(_: T, _: T, _: T) -> T {
                T::ZERO
            }
            #[inline(always)]
            fn split(value: T, _: T) -> (T, Option<T>) {
                (value, None)
            }
        }
    )* };
}
never_rounds!(Max Min);

/// Numbers whose sums can be represented exactly, as two numbers or, where nothing is rounded, as one.
pub trait Exact: Number {
    /// Whether sums are rounded.
    const ROUNDS: bool;
    /// The rounding error of `value`, the rounded `a + b`.
    fn lost(a: Self, b: Self, value: Self) -> Self;
    /// `value + lost` rounded to one number, and its rounding error, if any.
    fn split(value: Self, lost: Self) -> (Self, Option<Self>);
}

macro_rules! float {
    ($($t:ty)*) => { $(
        impl Exact for $t {
            const ROUNDS: bool = true;

            #[inline(always)]
            fn lost(a: $t, b: $t, value: $t) -> $t {
                let from_b = value - a;
                (a - (value - from_b)) + (b - from_b)
            }
            #[inline(always)]
            fn split(value: $t, lost: $t) -> ($t, Option<$t>) {
                // If the sum is an infinity or NaN, its error is NaN and is dropped.
                let sum = value + lost;
                if !value.is_finite() || !sum.is_finite() {
                    return (value, None);
                }
                let rest = Self::lost(value, lost, sum);
                (sum, (rest != 0.0).then_some(rest))
            }
        }
    )* };
}
float!(f32 f64);

macro_rules! integer {
    ($($t:ty)*) => { $(
        impl Exact for $t {
            const ROUNDS: bool = false;

            #[inline(always)]
            fn lost(_: $t, _: $t, _: $t) -> $t {
                0
            }
            #[inline(always)]
            fn split(value: $t, _: $t) -> ($t, Option<$t>) {
                (value, None)
            }
        }
    )* };
}
integer!(i32 u32 i64 u64);
