//! Segmented reduction: one value from each segment of a vector, by sum, maximum or minimum.
//!
//! Segment `k` has the elements `offsets[k]..offsets[k + 1]`; `offsets` ascends and has one entry more than there are
//! segments. An empty segment gives the identity. What is hard is balance: there may be one segment or millions, and
//! long ones beside short ones.
//!
//! | rung | idea |
//! |---|---|
//! | [`block_per_segment`] | a block for each segment, and its tree: most threads of short segments have nothing to do |
//! | [`warp_per_segment`] | a warp for each segment, and shuffles: no barriers, 32 elements at once |
//! | [`thread_per_segment`] | a thread for each segment: nothing to combine, but lanes walk apart, and the longest walks alone |
//! | [`best`] | equal parts of the work for all blocks and threads, wherever segments end: any mix of lengths, at two thirds of the speed of memory or more where there are enough |
//!
//! Every rung combines in an order fixed by the offsets, the block and the grid: the same bits on every run.
//!
//! Sources: S. Sengupta, M. Harris, Y. Zhang, J. Owens, "Scan Primitives for GPU Computing" (2007) for segmented scans;
//! D. Merrill and M. Garland, "Merge-based Parallel Sparse Matrix-Vector Multiplication" (2016) for splitting elements
//! and segment ends together.

pub mod best;
pub mod block_per_segment;
pub mod thread_per_segment;
pub mod warp_per_segment;

mod scan;

/// First element of a segment, and the one behind its last.
///
/// # Safety
/// There is a segment `k`.
#[inline(always)]
unsafe fn bounds(offsets: &[u64], k: usize) -> (usize, usize) {
    // SAFETY: a segment has two entries.
    unsafe { (*offsets.get_unchecked(k) as usize, *offsets.get_unchecked(k + 1) as usize) }
}
