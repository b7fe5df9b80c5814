//! Copies of panels by tensor maps.

use super::panels::{LINES, PANEL, ROWS, Stage};
use core::ops::Range;
use cuda_std::memory::{Mbarrier, SharedAddress, TensorMap};

/// A factor of `P` in device memory, stored across the depth if `ACROSS`. Panels are zeros beyond its edges.
///
/// Its map has boxes of [`LINES`] rows of 128 bytes, a panel whichever way the factor is stored, and swizzles of 128
/// bytes.
#[derive(Clone, Copy)]
pub struct Source<P, const ACROSS: bool>(pub TensorMap<P>);

impl<P: Copy, const ACROSS: bool> Source<P, ACROSS> {
    /// Starts the copies of these panels of a tile, of the lines from `line` on with the depth from `k` on. The first
    /// panel of the tile has its place at `to`.
    ///
    /// # Safety
    /// As for [`TensorMap::copy_in`].
    #[inline(always)]
    pub unsafe fn copy(self, to: SharedAddress, panels: Range<u32>, [line, k]: [u32; 2], full: Mbarrier) {
        // SAFETY: the caller upholds this function's contract.
        Self::each(panels, |panel| unsafe {
            self.0.copy_in(to.add(panel * PANEL), Self::place(line + panel * LINES, k), full);
        });
    }

    /// [`Source::copy`] to the same address in every block of the cluster whose bit is set in `blocks`.
    ///
    /// # Safety
    /// As for [`TensorMap::copy_in_to_blocks`].
    #[inline(always)]
    pub unsafe fn copy_to_blocks(
        self,
        to: SharedAddress,
        panels: Range<u32>,
        [line, k]: [u32; 2],
        full: Mbarrier,
        blocks: u16,
    ) {
        // SAFETY: the caller upholds this function's contract.
        Self::each(panels, |panel| unsafe {
            self.0.copy_in_to_blocks(to.add(panel * PANEL), Self::place(line + panel * LINES, k), full, blocks);
        });
    }

    /// Column, row and matrix of the first element of a panel.
    #[inline(always)]
    fn place(line: u32, k: u32) -> [u32; 3] {
        if ACROSS { [line, k, 0] } else { [k, line, 0] }
    }

    #[inline(always)]
    fn each(panels: Range<u32>, copy: impl Fn(u32)) {
        let mut panel = panels.start;
        while panel < panels.end {
            copy(panel);
            panel += 1;
        }
    }
}

/// Fills a stage: announces its bytes, and starts the copies of the panels from `row` of A and `column` of B on, with
/// the depth from `k` on.
///
/// # Safety
/// One thread calls it, and nothing has arrived at `full` in its phase. No thread reads the stage, nor will until it
/// has waited for `full`.
#[inline(always)]
pub unsafe fn fill<P: Copy, const A: bool, const B: bool, const COLUMNS: u32>(
    stage: Stage,
    (a, b): (Source<P, A>, Source<P, B>),
    [row, column, k]: [u32; 3],
    full: Mbarrier,
) {
    // SAFETY: the caller upholds this function's contract; the panels have the announced bytes.
    unsafe {
        full.arrive_expecting(Stage::bytes(COLUMNS));
        a.copy(stage.a(0), 0..ROWS / LINES, [row, k], full);
        b.copy(stage.b(0), 0..COLUMNS / LINES, [column, k], full);
    }
}
