//! Copies of panels by tensor maps.

use super::panels::{DEPTH, LINES, ROWS, Stage};
use cuda_std::memory::{Mbarrier, SharedAddress, TensorMap};

/// Columns and rows of the box of a factor, whichever way it is stored: a panel.
pub const BOX: [u32; 2] = [DEPTH, LINES];

/// A factor in device memory, stored across the depth if `ACROSS`. Panels are zeros beyond its edges.
#[derive(Clone, Copy)]
pub struct Source<const ACROSS: bool>(pub TensorMap);

impl<const ACROSS: bool> Source<ACROSS> {
    /// Column, row and matrix of the first element of a panel.
    #[inline(always)]
    fn place(line: u32, k: u32) -> [u32; 3] {
        if ACROSS { [line, k, 0] } else { [k, line, 0] }
    }

    /// Starts the copy of the panel of the lines from `line` on, with the depth from `k` on.
    ///
    /// # Safety
    /// As for [`TensorMap::copy_in`]; the map has boxes of [`BOX`] and swizzles of 128 bytes.
    #[inline(always)]
    pub unsafe fn copy(self, to: SharedAddress, [line, k]: [u32; 2], full: Mbarrier) {
        // SAFETY: the caller upholds this function's contract.
        unsafe { self.0.copy_in(to, Self::place(line, k), full) };
    }

    /// [`Source::copy`] to the same address in every block of the cluster whose bit is set in `blocks`.
    ///
    /// # Safety
    /// As for [`TensorMap::copy_in_to_blocks`]; the map has boxes of [`BOX`] and swizzles of 128 bytes.
    #[inline(always)]
    pub unsafe fn copy_to_blocks(self, to: SharedAddress, [line, k]: [u32; 2], full: Mbarrier, blocks: u16) {
        // SAFETY: the caller upholds this function's contract.
        unsafe { self.0.copy_in_to_blocks(to, Self::place(line, k), full, blocks) };
    }
}

/// Fills a stage: announces its bytes, and starts the copies of the panels from `row` of A and `column` of B on, with
/// the depth from `k` on.
///
/// # Safety
/// One thread calls it, and nothing has arrived at `full` in its phase. No thread reads the stage, nor will until it
/// has waited for `full`; the maps have boxes of [`BOX`] and swizzles of 128 bytes.
#[inline(always)]
pub unsafe fn fill<const A: bool, const B: bool, const COLUMNS: u32>(
    stage: Stage,
    (a, b): (Source<A>, Source<B>),
    [row, column, k]: [u32; 3],
    full: Mbarrier,
) {
    // SAFETY: the caller upholds this function's contract; the panels have the announced bytes.
    unsafe {
        full.arrive_expecting(Stage::bytes(COLUMNS));
        let mut panel = 0;
        while panel < ROWS / LINES {
            a.copy(stage.a(panel), [row + panel * LINES, k], full);
            panel += 1;
        }
        let mut panel = 0;
        while panel < COLUMNS / LINES {
            b.copy(stage.b(panel), [column + panel * LINES, k], full);
            panel += 1;
        }
    }
}
