//! Panels of a factor in shared memory: 64 lines with 64 of the depth.

use cuda_std::memory::SharedAddress;
use cuda_std::warpgroup;

/// Rows of a block's tile: 64 for each of two warpgroups.
pub const ROWS: u32 = 128;

/// Elements of the depth in a stage.
pub const DEPTH: u32 = 64;

/// Lines of a panel: rows of A, or columns of B.
pub const LINES: u32 = 64;

/// Bytes of its rows, which lie along the depth, or across it.
pub const ROW: u32 = warpgroup::ROW;

/// Bytes of a panel.
pub const PANEL: u32 = LINES * ROW;

/// Where the panels of a stage lie: two of A, then those of B.
#[derive(Clone, Copy)]
pub struct Stage(pub SharedAddress);

impl Stage {
    /// Bytes of a stage for tiles with this number of columns.
    pub const fn bytes(columns: u32) -> u32 {
        (ROWS + columns) / LINES * PANEL
    }

    /// A panel of A, which one warpgroup multiplies.
    #[inline(always)]
    pub fn a(self, panel: u32) -> SharedAddress {
        self.0.add(panel * PANEL)
    }

    /// A panel of B.
    #[inline(always)]
    pub fn b(self, panel: u32) -> SharedAddress {
        self.a(ROWS / LINES + panel)
    }
}
