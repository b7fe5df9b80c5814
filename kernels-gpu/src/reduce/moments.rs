//! Mean and variance in one pass, at the speed of `best`: a reduction of values of 16 bytes, to which each element is
//! converted as it is read.
//!
//! The variance is a difference of sums, which cancels if the mean is large beside it. So distances from the first
//! element are added, in f64: cancellation then depends on how unusual that element is, and not on the mean. (T. Chan,
//! G. Golub, R. LeVeque, "Algorithms for Computing the Sample Variance", 1983, section 3.)

use super::best::{ANY_BLOCK, grid_value};
use crate::number::Number;
use crate::operator::{Operator, Pod, Zeroable};
use cuda_std::kernel;

/// Default number of threads per block; a multiple of 32, at most 1024.
pub const BLOCK: u32 = ANY_BLOCK;

/// Blocks per multiprocessor, for which 66 registers leave room.
pub const BLOCKS_PER_SM: u32 = 3;

/// Sums of distances and of their squares.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C, align(16))]
pub struct Sums {
    first: f64,
    second: f64,
}

struct Add;

impl Operator<Sums> for Add {
    const COMMUTATIVE: bool = true;

    #[inline(always)]
    fn identity() -> Sums {
        Sums { first: 0.0, second: 0.0 }
    }
    #[inline(always)]
    fn combine(a: Sums, b: Sums) -> Sums {
        Sums { first: a.first + b.first, second: a.second + b.second }
    }
}

/// Writes the mean to `output[0]` and the variance, which is the mean square distance from it, to `output[1]`. NaN or
/// an infinity among the elements gives NaN.
///
/// # Safety
/// The block is a multiple of 32; `input` has an element; `partials` has one element per block and is used by this
/// launch only; `ticket` is 0; `output` has two elements.
#[kernel(for T in [f32, f64, i32, u32, i64, u64])]
pub unsafe fn reduce_mean_variance<T: Number>(input: &[T], partials: *mut Sums, ticket: *mut u32, output: *mut f64) {
    // SAFETY: there is an element.
    let origin = unsafe { *input.get_unchecked(0) }.to_f64();
    let sums_of = |x: T| {
        let distance = x.to_f64() - origin;
        Sums { first: distance, second: distance * distance }
    };
    // SAFETY: every thread of the grid reaches this call; the caller upholds the rest of the contract.
    if let Some(sums) = unsafe { grid_value::<Add, T, Sums>(input, sums_of, partials, ticket) } {
        let n = input.len() as f64;
        let distance = sums.first / n;
        let variance = sums.second / n - distance * distance;
        // Rounding may leave less than 0. NaN stays.
        let variance = if variance < 0.0 { 0.0 } else { variance };
        // SAFETY: only one thread of the grid takes this branch.
        unsafe {
            // With an infinity, the distance is infinite or NaN, depending on whether it is the first element.
            output.write(if distance.is_finite() { origin + distance } else { f64::NAN });
            output.add(1).write(variance);
        }
    }
}
