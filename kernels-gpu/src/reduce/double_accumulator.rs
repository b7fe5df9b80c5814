//! A wider accumulator: sums of f32 are kept in f64 from the first element to the block's result, and rounded once.
//!
//! A float of 24 bits that has grown to 2^24 no longer notices a 1. In f64 the error of the additions is 2^29 times
//! smaller, and what is left is the rounding of the result itself. It costs a conversion and an f64 addition per
//! element: nothing beside the loads on GPUs with f64 units for every second lane (compute capability 8.0, 9.0, 10.0),
//! and on those with one in 64 more than the loads.
//!
//! The next launch takes numbers of the input's type, so a block leaves two: its result, and what rounding took from
//! it. Everything but sums of f32 has no wider type or needs none: integers wrap, and a maximum is one of the elements.
//!
//! Sorting the elements from the smallest magnitude to the largest, which is often advised, helps one thread that adds
//! them all: small numbers grow before they meet large ones. It costs a sort, which moves memory at least ten times as
//! often as the sum, and where both signs occur, it does not help (Higham, "Accuracy and Stability of Numerical
//! Algorithms", 4.2 and 4.3).

use super::{Max, Min, Op, Sum, collective::block_reduce};
use crate::number::Number;
use cuda_std::{kernel, thread};

/// The idea in one line.
pub const IDEA: &str = "f32 is added in f64 and rounded once: 29 bits more";

/// Threads per block unless the caller asks otherwise; a multiple of 32, at most 1024.
pub const BLOCK: u32 = 256;

/// Numbers that each block leaves.
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
    // SAFETY: every thread of the block is here, and the block is whole warps.
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

/// Operations that the wider type has, too.
pub trait Accumulate<T: Widen>: Op<T> {
    /// The same operation there.
    type Wide: Op<T::Wide>;
}

impl<T: Widen, O: Op<T> + Op<T::Wide>> Accumulate<T> for O {
    type Wide = O;
}

/// Numbers, and a type in which they can be added more precisely; their own where there is none.
pub trait Widen: Number {
    /// Holds every number of this type.
    type Wide: Number;
    /// The same number.
    fn widen(self) -> Self::Wide;
    /// The nearest number of this type, and what is left, if anything.
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
        // Of an infinity or NaN nothing is left, but the difference is one, too.
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
