//! Three levels within a block (thread, warp and block) and three phases over the blocks: scan each block, scan the
//! blocks' sums, add.
//!
//! A thread scans four neighbouring elements in registers, a warp the threads' totals by shuffles, a block the warps'
//! totals: one barrier instead of one or two per step of a tree. Its cost is memory traffic: the scan reads and writes
//! the array, and the addition reads and writes it again, 4 n elements in all.

use super::collective::{block_scan, load_items, store_items};
use crate::number::Number;
use crate::reduce::{Max, Min, Op, Sum};
use cuda_std::{kernel, thread};

/// The idea in one line.
pub const IDEA: &str = "registers and shuffles, four elements per thread; scan the blocks, scan their sums, add";

/// Default number of threads per block; a power of two from 32 to 1024.
pub const BLOCK: u32 = 256;

/// Elements of a thread; a power of two.
pub const ITEMS: usize = 4;

/// Elements of a block's section.
pub const fn section(block: u32) -> u32 {
    block * ITEMS as u32
}

/// Scans each block's section of the input and writes its total to `sums[block index]`. `exclusive` is 0 or 1. The
/// result is the same in every run; [`scan`](crate::scan) states the error bound of float sums.
///
/// # Safety
/// One block per section, a multiple of 32 threads; `output` has as many elements as `input` and does not overlap it;
/// `sums` has one per block.
#[kernel(for O in [Sum, Max, Min], for T in [f32, f64, i32, u32, i64, u64])]
pub unsafe fn scan_three_phase<O: Op<T>, T: Number>(input: &[T], exclusive: u32, output: *mut T, sums: *mut T) {
    let tid = thread::thread_idx_x();
    let first = thread::global_index() * ITEMS;
    let (items, total) = load_items::<O, T, ITEMS>(input, first);
    // SAFETY: the whole block reaches this call, in whole warps.
    let (before, total) = unsafe { block_scan::<O, T>(total) };
    // SAFETY: `output` is as long as `input`, and these elements are this thread's; one total per block.
    unsafe {
        store_items::<O, T, ITEMS>(items, before, exclusive, output, first, input.len());
        if tid == 0 {
            sums.add(thread::block_idx_x() as usize).write(total);
        }
    }
}

/// Combines the sum before each section with each of its elements: the third phase of every rung that scans sections.
/// `offsets[s]` is the sum before the section that starts at element `s << log_section`.
///
/// # Safety
/// At least one thread for each of the `len` elements of `output`, which does not overlap `offsets`.
#[kernel(for O in [Sum, Max, Min], for T in [f32, f64, i32, u32, i64, u64])]
pub unsafe fn scan_three_phase_add<O: Op<T>, T: Number>(offsets: &[T], log_section: u32, len: usize, output: *mut T) {
    let i = thread::global_index();
    let section = i >> (log_section & 31);
    if i < len && section < offsets.len() {
        // SAFETY: `section` and `i` are below the lengths, and no other thread has this `i`.
        unsafe {
            let slot = output.add(i);
            slot.write(O::combine(*offsets.get_unchecked(section), slot.read()));
        }
    }
}
