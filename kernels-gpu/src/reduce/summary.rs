//! Sum, mean, variance, minimum and maximum in one read, at the speed of `best`: a reduction of values of 24 or 32
//! bytes, to which each element is converted as it is read.
//!
//! The variance is a difference of sums, which cancels if the mean is large beside it. So distances from the first
//! element are added, in f64: cancellation then depends on how unusual that element is, and not on the mean. (T. Chan,
//! G. Golub, R. LeVeque, "Algorithms for Computing the Sample Variance", 1983, section 3.)

use super::best::{ANY_BLOCK, grid_value};
use super::keys::{Keys, Largest, Smallest};
use super::{Max, Min};
use crate::number::Number;
use crate::operator::{Operator, Pod, Zeroable};
use core::marker::PhantomData;
use cuda_std::{kernel, launch::is_one_of};

/// Default number of threads per block; a multiple of 32, at most 1024.
pub const BLOCK: u32 = ANY_BLOCK;

/// Blocks per multiprocessor for elements of this size: as many as have registers.
pub const fn blocks_per_sm(bytes: usize) -> u32 {
    if bytes == 4 { 3 } else { 2 }
}

/// The results, as they lie in memory.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Summary<T> {
    /// The sum, in f64.
    pub sum: f64,
    /// The mean.
    pub mean: f64,
    /// The mean square distance from the mean.
    pub variance: f64,
    /// The minimum.
    pub min: T,
    /// The maximum.
    pub max: T,
}

// SAFETY: two numbers of 4 or 8 bytes after three of 8: there is no padding.
unsafe impl<T: Number> Pod for Summary<T> {}
// SAFETY: numbers.
unsafe impl<T: Number> Zeroable for Summary<T> {}

impl<T: Number> Summary<T> {
    /// That of no elements: NaN, and extremes that no element has exceeded.
    pub const NONE: Self = Self { sum: f64::NAN, mean: f64::NAN, variance: f64::NAN, min: T::HIGHEST, max: T::LOWEST };
}

/// What is known of some elements: sums of distances and of their squares, and the extremes.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Known<T> {
    first: f64,
    second: f64,
    least: T,
    most: T,
}

// SAFETY: two numbers of 4 or 8 bytes after two of 8: there is no padding.
unsafe impl<T: Number> Pod for Known<T> {}
// SAFETY: numbers.
unsafe impl<T: Number> Zeroable for Known<T> {}

/// Joins what is known, extremes by the operators `L` and `M`.
struct Join<L, M>(PhantomData<(L, M)>);

impl<V: Number, L: Operator<V>, M: Operator<V>> Operator<Known<V>> for Join<L, M> {
    const COMMUTATIVE: bool = true;

    #[inline(always)]
    fn identity() -> Known<V> {
        Known { first: 0.0, second: 0.0, least: L::identity(), most: M::identity() }
    }
    #[inline(always)]
    fn combine(a: Known<V>, b: Known<V>) -> Known<V> {
        Known {
            first: a.first + b.first,
            second: a.second + b.second,
            least: L::combine(a.least, b.least),
            most: M::combine(a.most, b.most),
        }
    }
}

/// Writes the summary. NaN or an infinity among the elements gives NaN for the sum, the mean and the variance.
///
/// # Safety
/// The block is a multiple of 32; `input` has an element; `partials` has one element per block and is used by this
/// launch only; `ticket` is 0; `output` has an element.
#[kernel(for T in [f32, f64, i32, u32, i64, u64])]
pub unsafe fn reduce_summary<T: Number>(
    input: &[T],
    partials: *mut Known<T>,
    ticket: *mut u32,
    output: *mut Summary<T>,
) {
    // SAFETY: the caller upholds this function's contract; a key has the size and the alignment of f64.
    unsafe {
        if const { is_one_of(T::NAME, &["f64"]) } {
            // Extremes of f64 by their keys: `keys` says why.
            let extremes = |x: T| (Smallest::key(x.to_f64()), Largest::key(x.to_f64()));
            let partials = partials.cast::<Known<u64>>();
            if let Some(known) = known::<Smallest, Largest, T, u64>(input, extremes, partials, ticket) {
                let (min, max) = (Smallest::number(known.least), Largest::number(known.most));
                output.cast::<Summary<f64>>().write(known.summary(input, [min, max]));
            }
        } else if let Some(known) = known::<Min, Max, T, T>(input, |x| (x, x), partials, ticket) {
            output.write(known.summary(input, [known.least, known.most]));
        }
    }
}

/// What is known of all elements, in one thread of the grid; `extremes` makes of an element what `L` and `M` compare.
///
/// # Safety
/// That of [`reduce_summary()`].
#[inline(always)]
unsafe fn known<L: Operator<V>, M: Operator<V>, T: Number, V: Number>(
    input: &[T],
    extremes: impl Fn(T) -> (V, V) + Copy,
    partials: *mut Known<V>,
    ticket: *mut u32,
) -> Option<Known<V>> {
    let origin = origin(input);
    let known_of = |x: T| {
        let distance = x.to_f64() - origin;
        let (least, most) = extremes(x);
        Known { first: distance, second: distance * distance, least, most }
    };
    // SAFETY: every thread of the grid reaches this call; the caller upholds the rest of the contract.
    unsafe { grid_value::<Join<L, M>, T, Known<V>>(input, known_of, partials, ticket) }
}

/// The first element, of which there is one.
#[inline(always)]
fn origin<T: Number>(input: &[T]) -> f64 {
    // SAFETY: the kernel's contract.
    unsafe { *input.get_unchecked(0) }.to_f64()
}

impl<V: Number> Known<V> {
    /// The summary of all elements of the input, with these extremes.
    #[inline(always)]
    fn summary<T: Number, E>(&self, input: &[T], [min, max]: [E; 2]) -> Summary<E> {
        let (origin, n) = (origin(input), input.len() as f64);
        let distance = self.first / n;
        let variance = self.second / n - distance * distance;
        // With an infinity, the distance is infinite or NaN, depending on whether it is the first element.
        let finite = |x: f64| if distance.is_finite() { x } else { f64::NAN };
        let (sum, mean) = (finite(n * origin + self.first), finite(origin + distance));
        // Rounding may leave less than 0. NaN stays.
        let variance = if variance < 0.0 { 0.0 } else { variance };
        Summary { sum, mean, variance, min, max }
    }
}
