//! The sums of a warpgroup's 64 rows, for tiles of four widths.

use cuda_std::warpgroup::{self, Sums};

/// A type of sums.
pub trait Sum: warpgroup::Sum + 'static {
    /// The sum of nothing.
    const ZERO: Self;

    /// The sum of both; of i32 it wraps.
    fn plus(self, other: Self) -> Self;

    /// The nearest f32.
    fn float(self) -> f32;

    /// Its bits.
    fn bits(self) -> u32;
}

impl Sum for f32 {
    const ZERO: Self = 0.0;

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self + other
    }
    #[inline(always)]
    fn float(self) -> f32 {
        self
    }
    #[inline(always)]
    fn bits(self) -> u32 {
        self.to_bits()
    }
}

impl Sum for i32 {
    const ZERO: Self = 0;

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
    }
    #[inline(always)]
    fn float(self) -> f32 {
        self as f32
    }
    #[inline(always)]
    fn bits(self) -> u32 {
        self as u32
    }
}

/// [`Sums`] of 64 rows and any number of columns.
pub trait Accumulator {
    /// A sum.
    type Sum: Sum;

    /// Columns of the tile.
    const COLUMNS: u32;

    /// Stages of the ring: as many as shared memory has room for.
    const STAGES: u32;

    /// Sums that are all 0.
    fn zero() -> Self;

    /// The thread's element.
    fn get(&self, element: usize) -> Self::Sum;

    /// [`Sums::fence`].
    ///
    /// # Safety
    /// As for the function.
    unsafe fn fence(&mut self);

    /// [`Sums::wait`].
    ///
    /// # Safety
    /// As for the function.
    unsafe fn wait(&mut self);
}

macro_rules! accumulator {
    ($registers:literal $columns:literal $stages:literal: $($t:ident)*) => { $(
        impl Accumulator for Sums<$registers, $t> {
            type Sum = $t;
            const COLUMNS: u32 = $columns;
            const STAGES: u32 = $stages;

            #[inline(always)]
            fn zero() -> Self {
                Self::zero()
            }
            #[inline(always)]
            fn get(&self, element: usize) -> $t {
                self.get()[element]
            }
            #[inline(always)]
            unsafe fn fence(&mut self) {
                // SAFETY: the caller upholds this function's contract.
                unsafe { Self::fence(self) };
            }
            #[inline(always)]
            unsafe fn wait(&mut self) {
                // SAFETY: the caller upholds this function's contract.
                unsafe { Self::wait(self) };
            }
        }
    )* };
}
accumulator!(128 256 4: f32 i32);
accumulator!(96 192 4: f32 i32);
accumulator!(64 128 6: f32 i32);
accumulator!(32 64 8: f32 i32);
