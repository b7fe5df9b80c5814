//! Segmented reduction: one value from each segment of a vector, by sum, maximum or minimum.
//!
//! Segment `k` has the elements `offsets[k]..offsets[k + 1]`; `offsets` ascends and has one entry more than there are
//! segments. The result of an empty segment is the identity. The difficulty is balance: there may be one segment or
//! millions, and long ones beside short ones.
//!
//! The rungs: [`block_per_segment`], [`warp_per_segment`] and [`thread_per_segment`] each fit one length of segment;
//! [`best`] fits all of them.
//!
//! Every rung combines in an order fixed by the offsets, the block and the grid, so the result has the same bits in
//! every run.
//!
//! Sources: S. Sengupta, M. Harris, Y. Zhang, J. Owens, "Scan Primitives for GPU Computing" (2007) for segmented scans;
//! D. Merrill and M. Garland, "Merge-based Parallel Sparse Matrix-Vector Multiplication" (2016) for splitting elements
//! and segment ends together.

pub mod best;
#[cfg(feature = "segreduce")]
pub mod block_per_segment;
#[cfg(feature = "segreduce")]
pub mod thread_per_segment;
#[cfg(feature = "segreduce")]
pub mod warp_per_segment;

mod scan;

/// First element of a segment, and the one after its last.
///
/// # Safety
/// There is a segment `k`.
#[inline(always)]
unsafe fn bounds(offsets: &[u64], k: usize) -> (usize, usize) {
    // SAFETY: segment `k` has the entries `k` and `k + 1`.
    unsafe { (*offsets.get_unchecked(k) as usize, *offsets.get_unchecked(k + 1) as usize) }
}
