//! A factor in device memory, element by element: lines of a length, whichever way they are stored.

use super::{A_TRANSPOSED, B_TRANSPOSED, Factor};
use crate::unroll::unroll;
use core::marker::PhantomData;

/// A factor.
#[derive(Clone, Copy)]
pub struct Lines<P> {
    at: *const u8,
    lines: u32,
    depth: u32,
    across: bool,
    precision: PhantomData<P>,
}

impl<P: Factor> Lines<P> {
    /// Both factors of a product of `m` rows, `n` columns and `k` of the depth, stored as `stored` says.
    #[inline(always)]
    pub fn of([a, b]: [*const u8; 2], [m, n, k]: [u32; 3], stored: u32) -> [Self; 2] {
        let factor = |at, lines, across| Self { at, lines, depth: k, across, precision: PhantomData };
        [factor(a, m, stored & A_TRANSPOSED != 0), factor(b, n, stored & B_TRANSPOSED == 0)]
    }

    /// Whether neighbours in memory belong to different lines.
    #[inline(always)]
    pub fn across(self) -> bool {
        self.across
    }

    /// An element; zero beyond the edges.
    ///
    /// # Safety
    /// The factor has its elements.
    #[inline(always)]
    unsafe fn element(self, line: u32, k: u32) -> u32 {
        if line >= self.lines || k >= self.depth {
            return 0;
        }
        let (line, k) = (line as usize, k as usize);
        let index = if self.across { k * self.lines as usize + line } else { line * self.depth as usize + k };
        // SAFETY: the element is inside the factor.
        unsafe { *self.at.cast::<P::Bits>().add(index) }.into()
    }

    /// Four bytes of the depth of a line, from element `k` on.
    ///
    /// # Safety
    /// The factor has its elements.
    #[inline(always)]
    pub unsafe fn word(self, line: u32, k: u32) -> u32 {
        let mut word = 0;
        unroll!(i < (4 / P::SIZE) as usize => {
            // SAFETY: the caller upholds this function's contract.
            word |= unsafe { self.element(line, k + i as u32) } << (i as u32 * P::SIZE * 8);
        });
        word
    }
}
