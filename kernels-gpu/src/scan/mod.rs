//! Scan, or prefix sum: each element becomes the sum, maximum or minimum of all elements up to it (inclusive) or before
//! it (exclusive, the first one being the identity).
//!
//! The rungs. Each file holds one idea; what it costs is what the next one removes.
//!
//! | rung | idea |
//! |---|---|
//! | [`quadratic`] | each thread adds up everything before its own element: n^2 / 2 additions per block |
//! | [`serial_per_thread`] | each thread scans a run of elements: n additions, but a warp's accesses lie far apart |
//! | [`naive`] | Hillis and Steele over the whole array: a launch per step, log n trips through memory |
//! | [`kogge_stone`] | the same steps inside a block, in shared memory; two buffers, one barrier per step |
//! | [`brent_kung`] | a tree up and a tree down: 2 n additions instead of n log n |
//! | [`blelloch`] | up-sweep, identity at the root, down-sweep: the exclusive scan of the balanced tree |
//! | [`blelloch_padded`] | one empty slot per 32 banks: the tree's strides no longer meet in one bank |
//! | [`three_phase`] | registers and shuffles, four elements per thread: scan blocks, scan their sums, add |
//! | [`reduce_then_scan`] | blocks are only summed at first: 3 n elements moved instead of 4 n |
//! | [`look_back`] | one pass, 2 n elements moved: each block looks back at what its predecessors have published; a cost per tile |
//! | [`best`] | 16-byte accesses, two levels of look-back in constant time, no reset, the same bits on every run |
//!
//! The rungs from `quadratic` to `blelloch_padded` (but for `naive`) scan *sections* of the array, by a block or a
//! thread each, and write the section's total to `sums`. For arrays of several sections the host scans the sums
//! likewise, exclusively, and adds to each section what lies before it ([`three_phase::scan_three_phase_add`]): rungs
//! differ in how they scan a section.
//!
//! Sources: W. D. Hillis and G. L. Steele, "Data Parallel Algorithms" (1986); P. M. Kogge and H. S. Stone (1973); R. P.
//! Brent and H. T. Kung (1982); G. E. Blelloch, "Prefix Sums and Their Applications" (1990); M. Harris, S. Sengupta and
//! J. D. Owens, "Parallel Prefix Sum (Scan) with CUDA" (GPU Gems 3, 2007); D. Merrill and M. Garland, "Single-pass
//! Parallel Prefix Scan with Decoupled Look-back" (2016).
//!
//! Integer sums wrap; maximum and minimum are IEEE 754-2019's, so from the first NaN on every element is NaN. Sums of
//! floats depend on the order of additions: every rung but `look_back` adds in an order fixed by (length, block), so
//! its result is the same on every run. An element that a chain of at most d additions led to is off by at most about
//! d * eps * sum(|x|) over its prefix.

use crate::reduce::collective::element_or_identity;

pub mod best;
pub mod blelloch;
pub mod blelloch_padded;
pub mod brent_kung;
pub mod kogge_stone;
pub mod look_back;
pub mod naive;
pub mod quadratic;
pub mod reduce_then_scan;
pub mod serial_per_thread;
pub mod three_phase;

mod collective;
mod record;
