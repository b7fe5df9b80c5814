//! How sums become elements of a vector, as BLAS has it: scaled, and added to what is there.

use crate::number::Number;
use crate::unroll::unroll;
use cuda_std::math::Float;
use cuda_std::memory::Vector;

/// Elements that become `alpha` times their sums plus `beta` times what they were. With a `beta` of 0, they are not
/// read.
#[derive(Clone, Copy)]
pub struct Output<S> {
    pub to: *mut S,
    pub alpha: S,
    pub beta: S,
}

impl<S: Number + Float> Output<S> {
    /// Writes an element.
    ///
    /// # Safety
    /// The element is there, and no other thread accesses it.
    #[inline(always)]
    pub unsafe fn write(self, at: usize, sum: S) {
        // SAFETY: the caller upholds this function's contract.
        unsafe {
            let at = self.to.add(at);
            let old = if self.beta == S::ZERO { S::ZERO } else { at.read() };
            at.write(self.beta.mul_add(old, self.times_alpha(sum)));
        }
    }

    /// Writes rows `row..row + W`, of those that there are.
    ///
    /// # Safety
    /// The product has `rows`, and no other thread accesses these.
    #[inline(always)]
    pub unsafe fn write_all<const W: usize>(self, rows: usize, row: usize, sums: [S; W]) {
        // SAFETY: each row is inside the result, and a vector lies on a boundary.
        unsafe {
            let to = self.to.wrapping_add(row);
            let whole = row + W <= rows && to.addr().is_multiple_of(16) && size_of::<[S; W]>() >= 16;
            if !whole || self.beta != S::ZERO {
                unroll!(i < W => { if row + i < rows { self.write(row + i, sums[i]) } });
                return;
            }
            let sums = sums.map(|sum| self.times_alpha(sum));
            if size_of::<S>() == 4 {
                unroll!(i < const { W / 4 } => {
                    let four: [S; 4] = core::array::from_fn(|j| sums[(i * 4 + j) % W]);
                    Vector::<S, 4>(four).store(to.add(i * 4).cast());
                });
            } else {
                unroll!(i < const { W / 2 } => {
                    let two: [S; 2] = core::array::from_fn(|j| sums[(i * 2 + j) % W]);
                    Vector::<S, 2>(two).store(to.add(i * 2).cast());
                });
            }
        }
    }

    #[inline(always)]
    fn times_alpha(self, sum: S) -> S {
        self.alpha.mul_add(sum, S::ZERO)
    }
}
