//! Blelloch's scan with one empty slot after each row of banks, and with loads that run along the rows.
//!
//! Places that are a power of two apart, up to a row of banks and more, then have slots in different banks, and only
//! the highest levels of a sweep have conflicts. Each thread loads two elements half a section apart instead of two
//! neighbours: a warp's accesses touch neighbouring elements in device memory and neighbouring banks in shared memory.

use super::blelloch::scan_pairs;
pub use super::blelloch::{BLOCK, section};
use crate::number::Number;
use crate::reduce::{Max, Min, Op, Sum};
use cuda_std::{kernel, thread};

/// The idea in one line.
pub const IDEA: &str = "an empty slot after every row of banks: the sweeps no longer conflict";

/// Number of slots of a section of elements of `bytes` bytes, including the empty ones.
pub const fn slots(section: u32, bytes: usize) -> u32 {
    slot(section - 1, bytes) + 1
}

/// Slot of a place of the tree: one slot is left out after every 128 bytes.
#[inline(always)]
const fn slot(place: u32, bytes: usize) -> u32 {
    place + place / (128 / bytes as u32)
}

/// Scans each block's section of the input and writes its total to `sums[block index]`. `exclusive` is 0 or 1. The
/// result is the same in every run; [`scan`](crate::scan) states the error bound of float sums.
///
/// # Safety
/// One block per section, a power of two; dynamic shared memory holds [`slots()`] elements; `output` has as many
/// elements as `input` and does not overlap it; `sums` has one per block.
#[kernel(for O in [Sum, Max, Min], for T in [f32, f64, i32, u32, i64, u64])]
pub unsafe fn scan_blelloch_padded<O: Op<T>, T: Number>(input: &[T], exclusive: u32, output: *mut T, sums: *mut T) {
    let (tid, block) = (thread::thread_idx_x(), thread::block_dim_x());
    let slot = |place| slot(place, size_of::<T>());
    // SAFETY: two places per thread, half a section apart; the caller upholds the rest of the contract.
    unsafe { scan_pairs::<O, T>(input, exclusive, output, sums, [tid, tid + block], slot) };
}
