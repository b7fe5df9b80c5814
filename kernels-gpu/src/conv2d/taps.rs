//! The taps of a mask, as a thread applies them that marches down an image, and what such a thread holds in registers.

use crate::filter::Sample;

/// Rows of sums: the incomplete ones, and those that become complete while the rows in flight are added.
pub const GROUPS: usize = 18;

/// Maximum number of elements of a row that the outputs of a thread need, rounded up to whole vectors on both sides.
pub const WINDOW: usize = 28;

/// The taps of a K x K mask, for `W` elements of a row in which pixels have `C` channels.
pub trait Taps<T: Sample, const K: usize, const W: usize, const C: usize> {
    /// Rows that a thread loads before it uses the first, at most four.
    const ROWS: usize;

    /// Adds a row of the image, the `u`-th in flight, to the sums of all outputs whose masks it is under: to
    /// `sums[u + K - 1 - i]` the products with row `i` of the mask.
    fn add(&self, window: &[T; WINDOW], sums: &mut [[T; W]; GROUPS], u: usize);
}

/// Elements that a window has on either side of the thread's own: half a mask, rounded up to whole vectors.
pub const fn reach(mask: usize, vector: usize, channels: usize) -> usize {
    (mask / 2 * channels).div_ceil(vector) * vector
}
