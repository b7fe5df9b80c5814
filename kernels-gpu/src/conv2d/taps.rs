//! The taps of a mask, as a thread applies them that marches down an image, and what such a thread holds in registers.

use crate::filter::Sample;
use crate::unroll::unroll;

/// Rows of sums: the incomplete ones, and those that become complete while the rows in flight are added.
pub const GROUPS: usize = 18;

/// Maximum number of elements of a row that the outputs of a thread need, rounded up to whole vectors on both sides.
pub const WINDOW: usize = 28;

/// The taps of a K x K mask, for `W` elements of a row in which pixels have `C` channels.
pub trait Taps<T: Sample, const K: usize, const W: usize, const C: usize> {
    /// Rows that a thread loads before it uses the first, at most four.
    const ROWS: usize;

    /// What a row of the image contributes, before it is multiplied by any row of the mask.
    type Row;

    /// What the part of a row in this window contributes.
    fn row(&self, window: [T; WINDOW]) -> Self::Row;

    /// Adds the products of a row of the image with row `i` of the mask.
    fn add(&self, row: &Self::Row, i: usize, sums: &mut [T; W]);
}

/// Adds a row of the image, the `u`-th in flight, to the sums of all outputs whose masks it is under: to
/// `sums[u + K - 1 - i]` the products with row `i` of the mask.
#[inline(always)]
pub fn add_row<T: Sample, M: Taps<T, K, W, C>, const K: usize, const W: usize, const C: usize>(
    mask: &M,
    row: &M::Row,
    sums: &mut [[T; W]; GROUPS],
    u: usize,
) {
    unroll!(i < K => { mask.add(row, i, &mut sums[u + K - 1 - i]) });
}

/// Elements that a window has on either side of the thread's own: half a mask, rounded up to whole vectors.
pub const fn reach(mask: usize, vector: usize, channels: usize) -> usize {
    (mask / 2 * channels).div_ceil(vector) * vector
}
