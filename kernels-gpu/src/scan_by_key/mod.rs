//! Scan by key: the scan of each run of equal neighbouring keys. Each element becomes the sum, maximum or minimum of
//! the elements of its run up to it (inclusive) or before it (exclusive, the first one being the identity).
//!
//! A run ends where a key differs from the one before; the same key may come again later, as another run. The textbook
//! turns keys into *heads*, one bit for the first element of each run, and scans pairs of a head and a value by an
//! operator that is associative whenever the one for values is:
//!
//! ```text
//! (head a, a) then (head b, b)  =  (head a or head b,  b if head b, else a combined with b)
//! ```
//!
//! The rungs: [`thread_per_run`] needs no such operator, and is as slow as the longest run; [`pairs`] is the textbook,
//! in three launches; [`best`] reads keys and values once, and keeps heads as bits.
//!
//! Every rung combines in an order fixed by the keys and the length, so the result has the same bits in every run. What
//! [`scan`](crate::scan) says of wrapping, NaN and signed zeros is true of each run; the error of a float sum is at
//! most about `d * eps * sum(|x|)` over the elements of the run up to it, for a chain of at most `d` additions.
//!
//! Sources: J. T. Schwartz, "Ultracomputers" (1980), for the operator on pairs; G. E. Blelloch, "Prefix Sums and Their
//! Applications" (1990), for segmented scans; S. Sengupta, M. Harris, Y. Zhang and J. D. Owens, "Scan Primitives for
//! GPU Computing" (2007), for their use on GPUs.

pub mod best;
#[cfg(feature = "scan_by_key")]
pub mod pairs;
#[cfg(feature = "scan_by_key")]
pub mod thread_per_run;

mod keys;

/// Whether element `i` is the first of its run: its key differs from the one before, or there is none.
///
/// # Safety
/// There is an element `i`.
#[cfg(feature = "scan_by_key")]
#[inline(always)]
unsafe fn is_head(keys: &[u32], i: usize) -> bool {
    // SAFETY: the caller upholds this function's contract.
    i == 0 || unsafe { keys.get_unchecked(i) != keys.get_unchecked(i - 1) }
}
