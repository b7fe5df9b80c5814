//! Reduction: one value from many, by sum, maximum or minimum.
//!
//! Each file holds one idea. The first seven rungs are the kernels of Harris 2007 (`docs/sources.md`), each of which
//! removes a cost of the one before:
//! [`interleaved`], [`interleaved_strided`], [`sequential`], [`first_add`], [`unroll_last_warp`], [`unrolled`],
//! [`many_per_thread`].
//!
//! Other forms, each of which is one way to divide a reduction: [`pairwise`], [`divide_and_conquer`], [`kogge_stone`],
//! [`grid_stride`] (`VecMax` of the max-reduction notes; [`many_per_thread`] in its plainest form), [`hierarchical`].
//!
//! Sums of floats with a smaller error, otherwise as [`best`]: [`double_accumulator`], [`compensated`],
//! [`double_float`]; with a tree that no device changes: [`fixed_tree`]; for a lesson: [`sorted`].
//!
//! Rungs for hardware since Kepler, up to the one to use: [`warp_shuffle`], [`warp_intrinsic`], [`atomic`], [`best`].
//!
//! A sequential reduction is any rung with a grid stride and one thread: `--block 1 --grid 1`.
//!
//! `argmax` and `argmin` return the index of the first maximum or minimum; the first NaN counts as both, +0 is above
//! -0. Every rung finds the value, and [`find`] its index in a second pass; [`arg`] finds both in one.
//!
//! `highest_bit` and `lowest_bit` return the number of the highest or lowest bit that is set in any integer, from 0 on,
//! or 2^32 - 1 if none is: [`bits`] reads the numbers once and combines them by OR, and then one `clz` or `ctz` is
//! enough. Only `best` has these operations. For the highest bit of unsigned numbers `max` serves as well: of two
//! numbers the larger one has the higher or an equally high bit. For the lowest bit `min` does not: of 8 and 9 it is 8,
//! whose lowest set bit is bit 3, although 9 has bit 0.
//!
//! `summary` is the sum, the mean, the variance, the minimum and the maximum in one read ([`mod@summary`]), by `best`
//! alone.
//!
//! Sources: M. Harris, "Optimizing Parallel Reduction in CUDA" (the first seven rungs); J. Luitjens, "Faster Parallel
//! Reductions on Kepler" (shuffles); D. Merrill's CUB (`DeviceReduce`) to compare with.
//!
//! Elements of f16 and bf16 are added and compared as f32, by `best` alone.
//!
//! A user's operator over values of their own is reduced by the functions below `best`; one that does not commute, by
//! [`ordered`].
//!
//! Sums of floats depend on the order of additions. With a tree of depth d over partial sums in a type with rounding
//! unit u (half of its epsilon) the error is at most about d * u * sum(|x|), where d is the elements per thread plus
//! log2 of the threads. What fixes the order, and so the bits, and the bound where it is another:
//!
//! | rungs | class of their float sums | error bound beside about d * u * sum(abs(x)) |
//! |---|---|---|
//! | `fixed_tree`, `pairwise` | bits fixed by length only | |
//! | `sorted` | bits fixed by length only, and by no order of the elements | (n + 1) / 2 * u * sum(abs(x)) |
//! | the trees that are launched until one value is left: `interleaved` to `unrolled`, `kogge_stone`, `hierarchical` | bits fixed by length and block | |
//! | those that fill the device: `many_per_thread`, `divide_and_conquer`, `grid_stride`, `warp_shuffle`, `warp_intrinsic` | bits fixed by length and grid | |
//! | `best` | bits fixed by length and grid, and by the first element's place between 16-byte boundaries | |
//! | `double_accumulator` (f32) | as `best` | u * abs(sum) + d * 2^-53 * sum(abs(x)) |
//! | `compensated` | as `best` | u * abs(sum) + 2 * (d * u)^2 * sum(abs(x)) |
//! | `double_float` | as `best` | u * abs(sum) + 3.01 * d * u^2 * sum(abs(x)) |
//! | `atomic` | any order | d also counts the blocks |
//!
//! A grid follows from the length and the number of multiprocessors, unless it is given. Integer sums wrap and have the
//! same bits in any order.

use crate::number::Number;
use crate::operator::Operator;
use cuda_std::{
    atomic::{Atomic, Ordering},
    launch::Instance,
};

#[cfg(feature = "reduce")]
pub mod arg;
#[cfg(feature = "reduce")]
pub mod atomic;
pub mod best;
#[cfg(feature = "reduce")]
pub mod bits;
#[cfg(feature = "reduce")]
pub mod compensated;
#[cfg(feature = "reduce")]
pub mod divide_and_conquer;
#[cfg(feature = "reduce")]
pub mod double_accumulator;
#[cfg(feature = "reduce")]
pub mod double_float;
#[cfg(feature = "reduce")]
pub mod find;
#[cfg(feature = "reduce")]
pub mod first_add;
#[cfg(feature = "reduce")]
pub mod fixed_tree;
pub mod gather;
#[cfg(feature = "reduce")]
pub mod grid_stride;
#[cfg(feature = "reduce")]
pub mod hierarchical;
#[cfg(feature = "reduce")]
pub mod interleaved;
#[cfg(feature = "reduce")]
pub mod interleaved_strided;
#[cfg(feature = "reduce")]
pub mod kogge_stone;
#[cfg(feature = "reduce")]
pub mod many_per_thread;
pub mod ordered;
#[cfg(feature = "reduce")]
pub mod pairwise;
#[cfg(any(feature = "reduce", feature = "dot"))]
pub mod sequential;
#[cfg(feature = "reduce")]
pub mod sorted;
#[cfg(feature = "reduce")]
pub mod summary;
#[cfg(feature = "reduce")]
pub mod two_sum;
#[cfg(feature = "reduce")]
pub mod unroll_last_warp;
#[cfg(feature = "reduce")]
pub mod unrolled;
#[cfg(feature = "reduce")]
pub mod warp_intrinsic;
#[cfg(feature = "reduce")]
pub mod warp_shuffle;

pub(crate) mod collective;
pub(crate) mod form;
pub(crate) mod keys;

/// An operation of the ladders: an operator that commutes and has a name, and that warps and memory have instructions
/// for.
pub trait Op<T>: Instance + Operator<T> {
    /// Combines the values of a warp's lanes by the warp's own instruction where it can; every lane gets the result.
    ///
    /// # Safety
    /// All 32 lanes of the warp call it together.
    unsafe fn combine_warp(value: T) -> T;
    /// Combines `value` into memory that the whole grid shares.
    fn combine_atomic(at: &Atomic<T>, value: T);
}

macro_rules! op {
    ($(#[$doc:meta])* $name:ident $entry:literal $identity:ident $combine:ident $warp:ident $atomic:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;

        impl Instance for $name {
            const NAME: &'static str = $entry;
        }

        impl<T: Number> Operator<T> for $name {
            const COMMUTATIVE: bool = true;

            #[inline(always)]
            fn identity() -> T {
                T::$identity
            }
            #[inline(always)]
            fn combine(a: T, b: T) -> T {
                a.$combine(b)
            }
        }

        impl<T: Number> Op<T> for $name {
            #[inline(always)]
            unsafe fn combine_warp(value: T) -> T {
                // SAFETY: the caller upholds this function's contract.
                unsafe { value.$warp() }
            }
            #[inline(always)]
            fn combine_atomic(at: &Atomic<T>, value: T) {
                at.$atomic(value, Ordering::Relaxed);
            }
        }
    };
}
op!(
    /// `+`; integers wrap.
    Sum "sum" ZERO add warp_add fetch_add
);
op!(
    /// IEEE 754-2019 `maximum`: NaN if any value is NaN.
    Max "max" LOWEST maximum warp_maximum fetch_max
);
op!(
    /// IEEE 754-2019 `minimum`: NaN if any value is NaN.
    Min "min" HIGHEST minimum warp_minimum fetch_min
);

/// Lanes of a warp.
pub const WARP: u32 = 32;
