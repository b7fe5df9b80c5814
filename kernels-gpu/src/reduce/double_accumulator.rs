//! A wider accumulator: sums of f32 are kept in f64 from the first element to the result, and rounded once.
//!
//! A sum in f32, with 24 bits, no longer changes by the addition of 1 once it has reached 2^24. In f64 the error of the
//! additions is 2^29 times smaller, and only the rounding of the result remains. The cost is a conversion and an f64
//! addition per element: negligible beside the loads on GPUs with an f64 unit for every second lane (compute capability
//! 8.0, 9.0, 10.0), and more than the loads on those with one for every 64 lanes. Everything else is
//! [`best`](super::best): the loads in flight, and one launch.
//!
//! Sums of f32 are the only ones with a wider type that they need: integers wrap, and a maximum is one of the elements.
//!
//! - *Error bound* (f32): `u * |sum| + (1 + u) * d * w / (1 - d * w) * sum(|x|)`, with `w = 2^-53`, `u` half of f32's
//!   epsilon and `d` the longest chain of additions.
//! - *Class*: bits fixed by length and grid.

use super::{Max, Min, Op, Sum, best::grid_value_by_columns};
use crate::number::Number;
use cuda_std::kernel;

/// The idea in one line.
pub const IDEA: &str = "f32 is added in f64 and rounded once: 29 bits more";

/// Default number of threads per block; a multiple of 32, at most 1024.
pub const BLOCK: u32 = 256;

/// Blocks per multiprocessor, for which the registers leave room.
pub const BLOCKS_PER_SM: u32 = 3;

/// Reduces the input to `output[0]`.
///
/// # Safety
/// The block is a multiple of 32; `words` are those of [`Gather::start`](super::gather::Gather::start) for results of
/// type [`Widen::Wide`].
#[kernel(for O in [Sum, Max, Min], for T in [f32, f64, i32, u32, i64, u64])]
pub unsafe fn reduce_double_accumulator<O: Accumulate<T>, T: Widen>(input: &[T], words: *mut u64, output: *mut T) {
    // SAFETY: the caller upholds this function's contract.
    if let Some(value) = unsafe { grid_value_by_columns::<O::Wide, T, T::Wide>(input, T::widen, words) } {
        // SAFETY: only one thread of the grid takes this branch.
        unsafe { output.write(T::narrow(value)) };
    }
}

/// Operations that also exist for the wider type.
pub trait Accumulate<T: Widen>: Op<T> {
    /// The operation of the wider type.
    type Wide: Op<T::Wide>;
}

impl<T: Widen, O: Op<T> + Op<T::Wide>> Accumulate<T> for O {
    type Wide = O;
}

/// Numbers, with a type in which they can be added more precisely, or their own type if there is none.
pub trait Widen: Number {
    /// A type that represents every number of this type.
    type Wide: Number;
    /// Converts to the wider type.
    fn widen(self) -> Self::Wide;
    /// Rounds to the nearest number of this type.
    fn narrow(wide: Self::Wide) -> Self;
}

impl Widen for f32 {
    type Wide = f64;

    #[inline(always)]
    fn widen(self) -> f64 {
        self.into()
    }
    #[inline(always)]
    fn narrow(wide: f64) -> f32 {
        wide as f32
    }
}

macro_rules! widest {
    ($($t:ty)*) => { $(
        impl Widen for $t {
            type Wide = $t;

            #[inline(always)]
            fn widen(self) -> $t {
                self
            }
            #[inline(always)]
            fn narrow(wide: $t) -> $t {
                wide
            }
        }
    )* };
}
widest!(f64 i32 u32 i64 u64);
