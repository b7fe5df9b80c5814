//! Reduction: one value from many, by sum, maximum or minimum.
//!
//! Each file holds one idea. The first seven rungs are M. Harris' ladder: what one costs is what the next one removes.
//! [`interleaved`], [`interleaved_strided`], [`sequential`], [`first_add`], [`unroll_last_warp`], [`unrolled`],
//! [`many_per_thread`].
//!
//! The slides' list of other forms, each of which is one way to cut a reduction into pieces: [`pairwise`],
//! [`divide_and_conquer`], [`kogge_stone`], [`grid_stride`] (`VecMax`; [`many_per_thread`] in its plainest form),
//! [`hierarchical`].
//!
//! Sums of floats with a smaller error, otherwise as [`warp_shuffle`]: [`double_accumulator`], [`compensated`].
//!
//! What hardware since Kepler offers, up to the one to use: [`warp_shuffle`], [`warp_intrinsic`], [`atomic`], [`best`].
//!
//! A sequential reduction is any grid-stride rung with one thread: `--block 1 --grid 1`.
//!
//! `argmax` and `argmin` give the index of the first maximum or minimum; the first NaN counts as both, +0 is above -0.
//! Every rung finds the value, and [`find`] its place in a second pass; [`arg`] does both in one.
//!
//! The highest bit that is set in any number needs no operation of its own. The larger of two unsigned numbers has no
//! lower highest bit, so the highest bit of the maximum is the maximum of the highest bits: `--op max`, then 31 minus
//! `clz` (`leading_zeros`) of one number, instead of a `clz` for each. (For the lowest bit that is set, the minimum
//! does not help, as 8 and 7 show. A bitwise or keeps every bit that anyone has: `clz` of it gives the highest, `ctz`
//! the lowest; `redux.sync.or` does that for a warp.)
//!
//! Sources: M. Harris, "Optimizing Parallel Reduction in CUDA" (the first seven rungs); J. Luitjens, "Faster Parallel
//! Reductions on Kepler" (shuffles); D. Merrill's CUB (`DeviceReduce`) for what to beat.
//!
//! Sums of floats depend on the order of additions. Every rung but `atomic` adds in an order fixed by (length, block,
//! grid), so its result is the same on every run; with a tree of depth d over f-bit partial sums the error is at most
//! about d * eps * sum(|x|), where d is the elements per thread plus log2 of the threads. Of `double_accumulator` (for
//! f32) and `compensated` it is at most eps * |sum| + (d * eps)^2 * sum(|x|): as small as the result can be written,
//! unless nearly everything cancels.

use crate::number::Number;
use cuda_std::{
    atomic::{Atomic, Ordering},
    launch::Instance,
};

pub mod arg;
pub mod atomic;
pub mod best;
pub mod compensated;
pub mod divide_and_conquer;
pub mod double_accumulator;
pub mod find;
pub mod first_add;
pub mod grid_stride;
pub mod hierarchical;
pub mod interleaved;
pub mod interleaved_strided;
pub mod kogge_stone;
pub mod many_per_thread;
pub mod pairwise;
pub mod sequential;
pub mod unroll_last_warp;
pub mod unrolled;
pub mod warp_intrinsic;
pub mod warp_shuffle;

pub(crate) mod collective;

/// A way to make one value of two: associative and commutative, up to rounding.
pub trait Op<T>: Instance + 'static {
    /// `combine(identity(), x)` is `x`; also the result for an empty input.
    fn identity() -> T;
    /// One value of two.
    fn combine(a: T, b: T) -> T;
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

        impl<T: Number> Op<T> for $name {
            #[inline(always)]
            fn identity() -> T {
                T::$identity
            }
            #[inline(always)]
            fn combine(a: T, b: T) -> T {
                a.$combine(b)
            }
            #[inline(always)]
            unsafe fn combine_warp(value: T) -> T {
                // SAFETY: the caller's promise.
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
    /// IEEE 754-2019 `maximum`: NaN wins.
    Max "max" LOWEST maximum warp_maximum fetch_max
);
op!(
    /// IEEE 754-2019 `minimum`: NaN wins.
    Min "min" HIGHEST minimum warp_minimum fetch_min
);

/// Lanes of a warp.
pub const WARP: u32 = 32;
