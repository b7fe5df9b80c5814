//! Where the matrices of a batch lie.

use crate::epilogue::Epilogue;
use crate::matmul::{factor::Factor, side::Side};
use core::slice;

/// Products of one size, at equal distances.
#[derive(Clone, Copy)]
pub struct Matrices {
    /// `m`, `n` and `k`.
    pub sizes: [u32; 3],
    /// Elements from one A, B and product to the next.
    pub steps: [u64; 3],
    /// Elements from one row in memory of A, of B and of the product to the next.
    pub pitches: [u32; 3],
}

impl Matrices {
    /// The factors of product `number`; `turned`: neighbours of A, and of B, are neighbours in `k`.
    ///
    /// # Safety
    /// `a` and `b` have the elements of this product's factors.
    #[inline(always)]
    pub unsafe fn factors<'a, T: Factor>(
        &self,
        [a, b]: [&'a [T]; 2],
        number: usize,
        turned: [bool; 2],
    ) -> [Side<'a, T>; 2] {
        let [m, n, k] = self.sizes;
        // SAFETY: the caller upholds this function's contract.
        unsafe { [self.side(a, 0, number, [m, k], turned[0]), self.side(b, 1, number, [n, k], turned[1])] }
    }

    /// # Safety
    /// As for [`Matrices::factors`].
    #[inline(always)]
    unsafe fn side<'a, T: Factor>(
        &self,
        batch: &'a [T],
        factor: usize,
        number: usize,
        [x, k]: [u32; 2],
        turned: bool,
    ) -> Side<'a, T> {
        let (start, pitch) = (number * self.steps[factor] as usize, self.pitches[factor]);
        let [rows, columns] = if turned { [x, k] } else { [k, x] }.map(|n| n as usize);
        let len = if rows == 0 || columns == 0 { 0 } else { (rows - 1) * pitch as usize + columns };
        // SAFETY: the caller upholds this function's contract; a matrix without elements may start anywhere.
        let elements = unsafe { slice::from_raw_parts(batch.as_ptr().wrapping_add(start), len) };
        Side::new(elements, x, k, turned, pitch)
    }

    /// The memory of product `number`.
    #[inline(always)]
    pub fn product<T>(&self, c: *mut T, number: usize) -> *mut T {
        c.wrapping_add(number * self.steps[2] as usize)
    }

    /// The epilogue of product `number`, whose addend lies as the product does.
    #[inline(always)]
    pub fn epilogue<T>(&self, mut of_first: Epilogue<T>, number: usize) -> Epilogue<T> {
        if !of_first.addend.is_null() {
            of_first.addend = self.product(of_first.addend.cast_mut().cast::<T>(), number).cast_const().cast();
        }
        of_first
    }
}
