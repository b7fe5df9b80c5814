//! A wider accumulator: sums of f32 are kept in f64 from the first element to the block's result, and rounded once.
//!
//! A sum in f32, with 24 bits, no longer changes by the addition of 1 once it has reached 2^24. In f64 the error of the
//! additions is 2^29 times smaller, and only the rounding of the result remains. The cost is a conversion and an f64
//! addition per element: negligible beside the loads on GPUs with an f64 unit for every second lane (compute capability
//! 8.0, 9.0, 10.0), and more than the loads on those with one for every 64 lanes.
//!
//! The next launch takes numbers of the input's type, so a block writes two: its result, and the rounding error. Sums
//! of f32 are the only ones with a wider type that they need: integers wrap, and a maximum is one of the elements.
//!
//! Sorting the elements from the smallest magnitude to the largest, which is often advised, helps one thread that adds
//! them all: small numbers grow before they meet large ones. It costs a sort, which moves memory at least ten times as
//! often as the sum, and where both signs occur, it does not help (Higham, "Accuracy and Stability of Numerical
//! Algorithms", 4.2 and 4.3).

use super::{Max, Min, Op, Sum, collective::block_reduce};
use crate::{number::Number, operator::Operator};
use cuda_std::{kernel, thread};

/// The idea in one line.
pub const IDEA: &str = "f32 is added in f64 and rounded once: 29 bits more";

/// Default number of threads per block; a multiple of 32, at most 1024.
pub const BLOCK: u32 = 256;

/// Numbers that each block writes.
pub const RESULTS: usize = 2;

/// Reduces the input to two numbers per block, from `output[2 * block index]` on, whose reduction is the block's.
///
/// # Safety
/// The block is a multiple of 32; `output` has two elements per block.
#[kernel(for O in [Sum, Max, Min], for T in [f32, f64, i32, u32, i64, u64])]
pub unsafe fn reduce_double_accumulator<O: Accumulate<T>, T: Widen>(input: &[T], output: *mut T) {
    let mut value = O::Wide::identity();
    let mut i = thread::global_index();
    while i < input.len() {
        value = O::Wide::combine(value, input[i].widen());
        i += thread::grid_stride();
    }
    // SAFETY: every thread of the block reaches this call, and the block consists of whole warps.
    let value = unsafe { block_reduce::<O::Wide, T::Wide>(value) };
    if thread::thread_idx_x() == 0 {
        let (value, rest) = T::split(value);
        // SAFETY: two outputs per block.
        unsafe {
            let output = output.add(RESULTS * thread::block_idx_x() as usize);
            output.write(value);
            output.add(1).write(rest.unwrap_or(O::identity()));
        }
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
    /// Rounds to the nearest number of this type, and returns it with the rounding error, if any.
    fn split(wide: Self::Wide) -> (Self, Option<Self>);
}

impl Widen for f32 {
    type Wide = f64;

    #[inline(always)]
    fn widen(self) -> f64 {
        self.into()
    }
    #[inline(always)]
    fn split(wide: f64) -> (f32, Option<f32>) {
        let value = wide as f32;
        // The error of an infinity or NaN would be NaN, and is dropped.
        let rest = (wide - f64::from(value)) as f32;
        (value, (rest.is_finite() && rest != 0.0).then_some(rest))
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
            fn split(wide: $t) -> ($t, Option<$t>) {
                (wide, None)
            }
        }
    )* };
}
widest!(f64 i32 u32 i64 u64);
