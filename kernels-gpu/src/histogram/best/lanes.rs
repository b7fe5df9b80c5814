//! The kernel for few bins, in which every lane has counters of its own.
//!
//! - Bin `b` of lane `l` is word `32 * b + l` of shared memory: lane `l` only accesses bank `l`. A warp's 32 additions
//!   go to 32 banks without conflicts, whether all elements are equal or all different. (With one copy for all lanes,
//!   three or four of 32 random bins share a bank, which limits CUB.)
//! - Each block adds its sums to totals in global memory; the block that draws the last ticket writes them to the
//!   result and resets totals and ticket to 0 for the next launch. So one launch suffices, and no memory has to be
//!   cleared before it.
//!
//! A column of counters per lane is from Ziganshin, "Fast 256-bin histogram" (NVIDIA forums); the last block is
//! NVIDIA's `threadFenceReduction`.

use super::{
    super::{Sample, add_shared},
    for_each,
};
use crate::reduce::collective::is_last_block;
use cuda_std::{
    atomic::{AtomicU64, Ordering},
    kernel,
    memory::{U32x4, Vector},
    shared::dynamic_shared_mem,
    thread, warp,
};

/// Default number of threads per block; a multiple of 32, at most 1024.
pub const BLOCK: u32 = 512;

/// 16-byte loads in flight per thread.
// tune: 4 8
pub const UNROLL: usize = 4;

/// Threads per multiprocessor, as far as their registers and counters fit.
pub const THREADS_PER_SM: u32 = 1024;

/// Lanes of a warp, and banks of shared memory.
const LANES: u32 = thread::warp_size();

/// Number of rows of counters: one per bin, or for bytes one per value. Bytes then need no range check, and letters are
/// selected at the end.
pub const fn rows<T: Sample>(bins: u32) -> u32 {
    match T::ROWS {
        Some(rows) => rows,
        None => bins,
    }
}

/// Bytes of dynamic shared memory.
pub const fn shared_bytes<T: Sample>(bins: u32) -> u32 {
    rows::<T>(bins) * LANES * size_of::<u32>() as u32
}

/// Writes the number of elements in each bin to `counts`. The result is exact, and the same in every run.
///
/// # Safety
/// The block is a multiple of 32, has `shared_bytes` of dynamic shared memory, and its threads get at most 2^32 - 1
/// elements; `counts` and `totals` have `bins` elements, of which those of `totals` are 0, and so is `ticket`; no other
/// thread uses the three meanwhile; for floats `range` is as [`Sample::rule`] requires.
#[kernel(for T in [u8, crate::histogram::Letter, u32, f32, f64])]
pub unsafe fn histogram_best_lanes<T: Sample>(
    input: &[T],
    bins: u32,
    range: [f64; 3],
    totals: *mut u64,
    ticket: *mut u32,
    counts: *mut u64,
) {
    let (rule, rows) = (T::rule(bins, range), rows::<T>(bins));
    let counters = dynamic_shared_mem::<u32>();
    // SAFETY: the block's own memory, and all its threads reach this call.
    unsafe { clear::<LANES>(counters, rows) };
    thread::sync_threads(); // separates the counters' initialisation from the first count

    const WORD: u32 = size_of::<u32>() as u32;
    let mine = warp::lane_id() * WORD;
    let visit = |element: T| {
        let row = element.row(rule);
        if T::ROWS.is_some() || row < rows {
            // `|` instead of `+` becomes part of the instruction that extracts the row from a word.
            let at = (row * (LANES * WORD)) | mine;
            // SAFETY: the address is that of one of the lane's counters, which other threads of the block change by
            // atomics only.
            unsafe { add_shared(counters.byte_add(at as usize), 0, 1) };
        }
    };
    // SAFETY: a block has at least 32 threads.
    unsafe { for_each::<T, UNROLL>(input, thread::global_index(), thread::grid_stride(), visit) };
    thread::sync_threads(); // separates the last count from the reads of the counters

    // SAFETY: all threads of the grid reach this call; the caller upholds the rest.
    unsafe { finish::<LANES>(counters, rows, T::bin_of, bins, totals, ticket, counts) };
}

/// Sets the block's counters to 0: `rows` of them, each with `COLUMNS` counters. A barrier must follow before the first
/// count.
///
/// # Safety
/// All threads of the block call it together; `counters` has these rows, which no other code accesses meanwhile.
#[inline(always)]
pub(super) unsafe fn clear<const COLUMNS: u32>(counters: *mut u32, rows: u32) {
    let mut i = thread::thread_idx_x();
    while i < rows * COLUMNS / 4 {
        // SAFETY: the vector consists of counters, and no other thread has it.
        unsafe { U32x4::store(Vector([0; 4]), counters.cast::<U32x4>().add(i as usize)) };
        i += thread::block_dim_x();
    }
}

/// Adds the sum of each row of the block's counters to the total of its bin; the last block moves the totals to
/// `counts`. Rows whose bin is not below `bins` are not counted. A barrier must separate it from the last count.
///
/// # Safety
/// All threads of the grid call it; `counters` has these rows, which no longer change; `counts` and `totals` have
/// `bins` elements, of which those of `totals` were 0 before the launch, and so was `ticket`; other blocks use the
/// three by this function only.
#[inline(always)]
pub(super) unsafe fn finish<const COLUMNS: u32>(
    counters: *const u32,
    rows: u32,
    bin_of: impl Fn(u32) -> u32,
    bins: u32,
    totals: *mut u64,
    ticket: *mut u32,
    counts: *mut u64,
) {
    let (tid, threads) = (thread::thread_idx_x(), thread::block_dim_x());
    let mut row = tid;
    while row < rows {
        let bin = bin_of(row);
        let mut sum = 0_u32;
        let mut k = 0;
        while k < COLUMNS {
            // Lanes start at different columns, so that they access different banks (two each, of 16 columns).
            let at = row * COLUMNS + (tid + k) % COLUMNS;
            // SAFETY: the index is that of a counter; the counters no longer change.
            sum += unsafe { counters.add(at as usize).read() };
            k += 1;
        }
        if sum > 0 && bin < bins {
            // SAFETY: `bin` is a bin of the totals.
            let total = unsafe { AtomicU64::from_ptr(totals.add(bin as usize)) };
            total.fetch_add(u64::from(sum), Ordering::Relaxed);
        }
        row += threads;
    }
    thread::sync_threads(); // separates the block's additions from the drawing of its ticket

    // SAFETY: all threads of the grid, and the ticket is used by this launch only.
    if !unsafe { is_last_block(ticket) } {
        return;
    }
    let mut bin = tid;
    while bin < bins {
        // SAFETY: all blocks have added, and no other thread of this one has the bin.
        unsafe {
            let total = AtomicU64::from_ptr(totals.add(bin as usize)).swap(0, Ordering::Relaxed);
            counts.add(bin as usize).write(total);
        }
        bin += threads;
    }
}
