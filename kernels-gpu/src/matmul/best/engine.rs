//! The engines that multiply: fused multiply-adds of each thread, or the tensor cores of each warp.
//!
//! Both add to sums in registers, `TM` rows by `TN` columns of a thread, and read tiles whose rows are `k`; they differ
//! in which rows and columns a thread has, and in how much of `k` a step takes. Tensor cores (f64, since sm_80)
//! multiply 16x4 by 4x8 matrices that a warp's lanes hold together, twice as fast as the other units on an H200, and
//! round as these do.

use crate::matmul::{
    factor::Factor,
    outer::{multiply_add, runs},
};
use crate::unroll::unroll;
use core::marker::PhantomData;

/// A thread's place in its warp's part of the tile.
#[derive(Clone, Copy)]
pub struct Engine<T> {
    lane: usize,
    factor: PhantomData<T>,
}

impl<T: Factor> Engine<T> {
    /// Lanes of a warp along the rows and the columns of its tile: each has `TM / ROWS` and `TN / T::WIDTH` runs there.
    pub const LANES: [usize; 2] = if T::TENSOR { [8, 4] } else { [4, 8] };
    /// Neighbouring rows of a thread.
    pub const ROWS: usize = if T::TENSOR { 1 } else { T::WIDTH };
    /// Rows of `k` in a step.
    pub const DEPTH: usize = if T::TENSOR { 4 } else { 1 };

    /// Creates the place of a lane.
    #[inline(always)]
    pub fn new(lane: usize) -> Self {
        const { assert!(!T::TENSOR || T::WIDTH == 2, "a lane has two neighbouring columns of the tensor cores' sums") };
        Self { lane, factor: PhantomData }
    }

    /// The lane's row and column of runs. Without tensor cores, lanes 2 apart have the same rows and neighbours the
    /// same columns: a 16-byte load of half a warp is then one wavefront.
    #[inline(always)]
    pub fn place(&self) -> [usize; 2] {
        let lane = self.lane;
        if T::TENSOR { [lane / 4, lane % 4] } else { [lane & 1 | lane >> 4 << 1, lane >> 1 & 7] }
    }

    /// Row and column of the thread's first sum, when those of the warp start at `first`.
    #[inline(always)]
    pub fn first_sum(&self, first: [usize; 2]) -> [usize; 2] {
        let [row, column] = self.place();
        [first[0] + row * Self::ROWS, first[1] + column * T::WIDTH]
    }

    /// Place in a tile of A from which the thread reads, relative to the warp's first element.
    #[inline(always)]
    pub fn first_of_a(&self, pitch: usize) -> usize {
        if T::TENSOR { self.lane % 4 * pitch + self.lane / 4 } else { self.place()[0] * T::WIDTH }
    }

    /// Place in a tile of B from which the thread reads, relative to the warp's first element.
    #[inline(always)]
    pub fn first_of_b(&self, pitch: usize) -> usize {
        if T::TENSOR { self.lane % 4 * pitch + self.lane / 4 } else { self.place()[1] * T::WIDTH }
    }

    /// The thread's elements of A for a step.
    ///
    /// # Safety
    /// The elements exist and are not written meanwhile.
    #[inline(always)]
    pub unsafe fn load_a<const TM: usize>(from: *const T) -> [T; TM] {
        // SAFETY: the caller upholds this function's contract.
        unsafe { if T::TENSOR { every_eighth::<T, TM>(from, TM) } else { runs(from, Self::LANES[0]) } }
    }

    /// The thread's elements of B for a step; with tensor cores half as many as it has columns of sums.
    ///
    /// # Safety
    /// The elements exist and are not written meanwhile.
    #[inline(always)]
    pub unsafe fn load_b<const TN: usize>(from: *const T) -> [T; TN] {
        // SAFETY: the caller upholds this function's contract.
        unsafe { if T::TENSOR { every_eighth::<T, TN>(from, TN / 2) } else { runs(from, Self::LANES[1]) } }
    }

    /// Adds the products of a step.
    ///
    /// # Safety
    /// All lanes of the warp call it together.
    #[inline(always)]
    pub unsafe fn multiply_add<const TM: usize, const TN: usize>(sums: &mut [[T; TN]; TM], a: &[T; TM], b: &[T; TN]) {
        if T::TENSOR {
            unroll!(pair < TM / 2 => {
                // SAFETY: the caller upholds this function's contract.
                unsafe { pair_of_rows(sums, pair, [a[2 * pair], a[2 * pair + 1]], b) };
            });
        } else {
            multiply_add(sums, a, b);
        }
    }
}

/// `count` elements that are eight apart; zeros after them.
///
/// # Safety
/// The elements exist and are not written meanwhile.
#[inline(always)]
unsafe fn every_eighth<T: Factor, const N: usize>(from: *const T, count: usize) -> [T; N] {
    let mut values = [T::ZERO; N];
    unroll!(i < N => {
        if i < count {
            // SAFETY: the caller upholds this function's contract.
            values[i] = unsafe { from.add(8 * i).read() };
        }
    });
    values
}

/// Two rows of a thread's sums, times all columns.
///
/// # Safety
/// All lanes of the warp call it together.
#[inline(always)]
unsafe fn pair_of_rows<T: Factor, const TM: usize, const TN: usize>(
    sums: &mut [[T; TN]; TM],
    pair: usize,
    a: [T; 2],
    b: &[T; TN],
) {
    let (upper, lower) = (2 * pair, 2 * pair + 1);
    unroll!(block < TN / 2 => {
        let (even, odd) = (2 * block, 2 * block + 1);
        let before = [sums[upper][even], sums[upper][odd], sums[lower][even], sums[lower][odd]];
        // SAFETY: the caller upholds this function's contract.
        let after = unsafe { T::multiply_add_tensor(before, a, b[block]) };
        (sums[upper][even], sums[upper][odd]) = (after[0], after[1]);
        (sums[lower][even], sums[lower][odd]) = (after[2], after[3]);
    });
}
