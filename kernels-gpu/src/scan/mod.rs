//! Scan, or prefix sum: each element becomes the sum, maximum or minimum of all elements up to it (inclusive) or before
//! it (exclusive, the first one being the identity).
//!
//! Each file holds one idea, whose main cost the next one removes. [`quadratic`], [`serial_per_thread`],
//! [`kogge_stone`], [`brent_kung`], [`blelloch`] and [`blelloch_padded`] scan *sections* of the array, by a block or a
//! thread each, and write the section's total to `sums`. For arrays of several sections the host scans the sums
//! likewise, exclusively, and adds the sum before each section to its elements ([`three_phase::scan_three_phase_add`]):
//! these rungs differ in how they scan a section. [`naive`] scans the whole array step by step, [`three_phase`] and
//! [`reduce_then_scan`] take several passes over it, [`look_back`] and [`best`] one.
//!
//! Sources: W. D. Hillis and G. L. Steele, "Data Parallel Algorithms" (1986); P. M. Kogge and H. S. Stone (1973); R. P.
//! Brent and H. T. Kung (1982); G. E. Blelloch, "Prefix Sums and Their Applications" (1990); M. Harris, S. Sengupta and
//! J. D. Owens, "Parallel Prefix Sum (Scan) with CUDA" (GPU Gems 3, 2007); D. Merrill and M. Garland, "Single-pass
//! Parallel Prefix Scan with Decoupled Look-back" (2016).
//!
//! Integer sums wrap; maximum and minimum are those of IEEE 754-2019, so that every element from the first NaN on is
//! NaN. Sums of floats depend on the order of additions: every rung but `look_back` adds in an order fixed by (length,
//! block), so its result is the same in every run. The error of an element that was computed by a chain of at most d
//! additions is at most about d * eps * sum(|x|) over its prefix.

use crate::reduce::collective::element_or_identity;

pub mod best;
#[cfg(feature = "scan")]
pub mod blelloch;
#[cfg(feature = "scan")]
pub mod blelloch_padded;
#[cfg(feature = "scan")]
pub mod brent_kung;
#[cfg(feature = "scan")]
pub mod kogge_stone;
#[cfg(feature = "scan")]
pub mod look_back;
#[cfg(feature = "scan")]
pub mod naive;
#[cfg(feature = "scan")]
pub mod quadratic;
#[cfg(feature = "scan")]
pub mod reduce_then_scan;
#[cfg(feature = "scan")]
pub mod serial_per_thread;
#[cfg(feature = "scan")]
pub mod three_phase;

mod collective;
