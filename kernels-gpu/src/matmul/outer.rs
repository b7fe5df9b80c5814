//! A thread's part of a tile: a grid of sums in its registers, to which each step adds the outer product of a column of
//! A and a row of B. `TM + TN` elements are loaded for `TM * TN` multiplications.

use super::factor::Factor;
use crate::unroll::unroll;

/// `N` elements of one step, in runs of 16 bytes, `lanes` runs apart.
///
/// # Safety
/// The elements exist, on 16-byte boundaries, and are not written meanwhile.
#[inline(always)]
pub unsafe fn runs<T: Factor, const N: usize>(from: *const T, lanes: usize) -> [T; N] {
    let mut values = [T::ZERO; N];
    unroll!(run < N / T::WIDTH => {
        // SAFETY: the caller upholds this function's contract.
        unsafe { T::load_wide(from.add(run * lanes * T::WIDTH), &mut values, run * T::WIDTH) };
    });
    values
}

/// The row or column of the tile of a thread's element `i`, for runs of `width` elements that are `lanes` runs apart
/// and start at `first`.
#[inline(always)]
pub fn place(first: usize, lanes: usize, width: usize, i: usize) -> usize {
    first + i / width * lanes * width + i % width
}

/// `N` elements of one step that are neighbours, one by one.
///
/// # Safety
/// The elements exist and are not written meanwhile.
#[inline(always)]
pub unsafe fn neighbours<T: Factor, const N: usize>(from: *const T) -> [T; N] {
    let mut values = [T::ZERO; N];
    unroll!(i < N => {
        // SAFETY: the caller upholds this function's contract.
        values[i] = unsafe { from.add(i).read() };
    });
    values
}

/// Adds the products of one step, in serpentines: each multiplication shares a factor with the one before, which the
/// GPU then need not read from its registers again.
#[inline(always)]
pub fn multiply_add<T: Factor, const TM: usize, const TN: usize>(sums: &mut [[T; TN]; TM], a: &[T; TM], b: &[T; TN]) {
    unroll!(i < TM => {
        row(&mut sums[i], a[i], b, i % 2 == 1);
    });
}

#[inline(always)]
fn row<T: Factor, const TN: usize>(sums: &mut [T; TN], a: T, b: &[T; TN], back: bool) {
    unroll!(turn < TN => {
        let j = if back { TN - 1 - turn } else { turn };
        sums[j] = a.mul_add(b[j], sums[j]);
    });
}
