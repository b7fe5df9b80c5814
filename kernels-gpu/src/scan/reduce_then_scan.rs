//! Reduce, then scan: the first pass sums the sections and only reads.
//!
//! Scan-then-add moves 4 n elements: the scanned sections have to be read and written a second time. Here the first
//! kernel writes only a total per section; once these are scanned, the second kernel scans each section starting from
//! the sum before it. The first pass reads n elements, and the second reads n and writes n: 3 n in all.

use super::collective::{block_scan, load_items, store_items};
pub use super::three_phase::{BLOCK, ITEMS, section};
use crate::number::Number;
use crate::reduce::{Max, Min, Op, Sum, collective::block_reduce};
use cuda_std::{kernel, thread};

/// The idea in one line.
pub const IDEA: &str = "the first pass only sums the blocks: 3 n elements moved instead of 4 n";

/// Writes the total of each block's section to `sums[block index]`.
///
/// # Safety
/// One block per section, a multiple of 32 threads; `sums` has one element per block.
#[kernel(for O in [Sum, Max, Min], for T in [f32, f64, i32, u32, i64, u64])]
pub unsafe fn scan_reduce_then_scan_totals<O: Op<T>, T: Number>(input: &[T], sums: *mut T) {
    let (_, total) = load_items::<O, T, ITEMS>(input, thread::global_index() * ITEMS);
    // SAFETY: the whole block reaches this call, in whole warps.
    let total = unsafe { block_reduce::<O, T>(total) };
    if thread::thread_idx_x() == 0 {
        // SAFETY: each block writes its own total only.
        unsafe { sums.add(thread::block_idx_x() as usize).write(total) };
    }
}

/// Scans each block's section of the input, starting from `offsets[block index]`, or from the identity if there is no
/// such element. `exclusive` is 0 or 1. The result is the same in every run.
///
/// # Safety
/// One block per section, a multiple of 32 threads; `output` has as many elements as `input` and does not overlap it.
#[kernel(for O in [Sum, Max, Min], for T in [f32, f64, i32, u32, i64, u64])]
pub unsafe fn scan_reduce_then_scan<O: Op<T>, T: Number>(input: &[T], exclusive: u32, offsets: &[T], output: *mut T) {
    let first = thread::global_index() * ITEMS;
    let (items, total) = load_items::<O, T, ITEMS>(input, first);
    let offset = super::element_or_identity::<O, T>(offsets, thread::block_idx_x() as usize);
    // SAFETY: the whole block reaches this call, in whole warps.
    let (before, _) = unsafe { block_scan::<O, T>(total) };
    // SAFETY: `output` is as long as `input`, and these elements are this thread's.
    unsafe {
        store_items::<O, T, ITEMS>(items, O::combine(offset, before), exclusive, output, first, input.len());
    }
}
