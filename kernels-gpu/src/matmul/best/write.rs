//! How sums become elements of the product.

use super::engine::Engine;
use crate::matmul::{factor::Factor, outer::place};
use crate::unroll::unroll;
use cuda_std::math::Float;

/// What a block writes.
#[derive(Clone, Copy)]
pub struct Block<T> {
    /// The product.
    pub c: *mut T,
    /// Elements from one of its rows to the next.
    pub pitch: u32,
    /// Its rows and columns.
    pub size: [usize; 2],
    /// The first row and column that is the block's; another writes those before.
    pub own: [usize; 2],
    /// An element becomes the first times its sum, and the second times what it was.
    pub scales: [T; 2],
}

impl<T: Factor> Block<T> {
    /// Writes a thread's sums, the first of which belongs to this row and column, as far as they are the block's. The
    /// thread has runs of this number of neighbouring rows and columns.
    ///
    /// # Safety
    /// There is room for the product, and no other thread accesses these elements.
    #[inline(always)]
    pub unsafe fn write<const TM: usize, const TN: usize>(
        &self,
        [row, column]: [usize; 2],
        neighbours: [usize; 2],
        sums: &[[T; TN]; TM],
    ) {
        let pitch = self.pitch as usize;
        let whole = self.size[1].is_multiple_of(T::WIDTH) && pitch.is_multiple_of(T::WIDTH);
        let wide = neighbours[1] == T::WIDTH && whole && self.c.addr().is_multiple_of(16);
        // Runs that are scaled would take as many instructions again, and the driver so much longer to compile them.
        let wide = wide && self.scales[0] == T::ONE && self.scales[1] == T::ZERO;
        unroll!(i < TM => {
            let row = place(row, Engine::<T>::LANES[0], neighbours[0], i);
            if self.own[0] <= row && row < self.size[0] {
                let to = self.c.wrapping_add(row * pitch);
                // SAFETY: the row is inside the product and, if `wide`, starts on a boundary, as do tiles; the caller
                // upholds the rest of the contract.
                unsafe {
                    if wide {
                        self.store_runs(to, column, &sums[i]);
                    } else {
                        self.store_elements(to, column, neighbours[1], &sums[i]);
                    }
                }
            }
        });
    }

    /// Writes runs of 16 bytes of a row whose length is a multiple of a run.
    ///
    /// # Safety
    /// The row is there and starts on a 16-byte boundary; no other thread accesses these columns.
    #[inline(always)]
    unsafe fn store_runs<const TN: usize>(&self, row: *mut T, column: usize, sums: &[T; TN]) {
        unroll!(run < TN / T::WIDTH => {
            let column = place(column, Engine::<T>::LANES[1], T::WIDTH, run * T::WIDTH);
            if self.is_own(column) {
                // SAFETY: the run is inside the row.
                unsafe { T::store_wide(row.add(column), sums, run * T::WIDTH) };
            }
        });
    }

    /// Scales and writes elements of a row, in runs of this number of neighbours.
    ///
    /// # Safety
    /// The row is there; no other thread accesses these columns.
    #[inline(always)]
    unsafe fn store_elements<const TN: usize>(&self, row: *mut T, column: usize, neighbours: usize, sums: &[T; TN]) {
        let [alpha, beta] = self.scales;
        unroll!(j < TN => {
            let column = place(column, Engine::<T>::LANES[1], neighbours, j);
            if self.is_own(column) {
                // SAFETY: the element is inside the row.
                unsafe {
                    let at = row.add(column);
                    let old = if beta == T::ZERO { T::ZERO } else { at.read() };
                    at.write(Float::mul_add(beta, old, alpha.times(sums[j])));
                }
            }
        });
    }

    #[inline(always)]
    fn is_own(&self, column: usize) -> bool {
        self.own[1] <= column && column < self.size[1]
    }
}
