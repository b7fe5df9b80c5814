//! Histograms: the number of elements in each bin.
//!
//! Many threads add to few counters; the rungs differ in which thread adds to which copy of a counter. An element that
//! belongs to no bin is not counted; see [`sample`] for the bin of an element.
//!
//! The rungs: [`contiguous`] and [`interleaved`] count in global memory; [`shared`] and [`partial`] count in shared
//! memory, as many bins as fit; [`aggregated`] counts runs in registers; [`best`].
//!
//! The result has 64-bit counts, which no input overflows. Blocks count in 32 bits: no block may get more than 2^32 - 1
//! elements. Integer additions are exact in any order, so every rung gives the same result in every run.
//!
//! Counting without atomics is a data race: two threads read the same count, both add one, and one of the additions is
//! lost.
//!
//! Sources: Threehearts 2021 (`docs/sources.md`), chapter VII (contiguous and interleaved partition, atomics,
//! privatisation, partial privatisation by a range test; its test `pos <= 26` accepts the character after 'z'); W. Hwu,
//! D. Kirk, I. El Hajj, "Programming Massively Parallel Processors", 4th edition, chapter 9 (aggregation); V.
//! Podlozhnyuk, "Histogram calculation in CUDA" (NVIDIA, 2007); CUB's `DeviceHistogram` to compare with.

use cuda_std::{
    atomic::{AtomicU64, BlockAtomicU32, Ordering},
    thread,
};

pub mod aggregated;
pub mod best;
pub mod contiguous;
pub mod interleaved;
pub mod partial;
pub mod sample;
pub mod shared;

pub use sample::{Letter, Sample};

/// Default number of threads per block; any number works.
pub const BLOCK: u32 = 256;

/// Maximum number of bins that the rungs below `best` count in shared memory: 48 KiB, which every launch may use, with
/// four bytes per bin.
pub const SHARED_BINS: u32 = 48 * 1024 / 4;

/// Adds 1 to a bin of `counts`; a number that is no bin's is not counted.
#[inline(always)]
fn count(counts: &[AtomicU64], bin: u32) {
    if let Some(counter) = counts.get(bin as usize) {
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

/// Adds to a bin of the result.
///
/// # Safety
/// `counts` has more than `bin` elements, which other threads change by atomics only.
#[inline(always)]
unsafe fn add_global(counts: *mut u64, bin: u32, count: u32) {
    // SAFETY: the caller upholds this function's contract.
    let counter = unsafe { AtomicU64::from_ptr(counts.add(bin as usize)) };
    counter.fetch_add(u64::from(count), Ordering::Relaxed);
}

/// Adds to one of the block's own counters.
///
/// # Safety
/// `counters` has more than `at` elements, which other threads of the block change by atomics only.
#[inline(always)]
unsafe fn add_shared(counters: *mut u32, at: u32, count: u32) {
    // SAFETY: the caller upholds this function's contract.
    let counter = unsafe { BlockAtomicU32::from_ptr(counters.add(at as usize)) };
    counter.fetch_add(count, Ordering::Relaxed);
}

/// Sets the block's counters to 0. A barrier must follow before the first count.
///
/// # Safety
/// All threads of the block call it together; `counters` has `len` elements of shared memory that no other code
/// accesses meanwhile.
#[inline(always)]
unsafe fn clear(counters: *mut u32, len: u32) {
    let mut i = thread::thread_idx_x();
    while i < len {
        // SAFETY: the index is inside the counters, and no other thread has it.
        unsafe { counters.add(i as usize).write(0) };
        i += thread::block_dim_x();
    }
}

/// Adds the block's counters, which are those of the bins from `first` on, to the result. A barrier must separate it
/// from the last count.
///
/// # Safety
/// All threads of the block call it together; `counters` has `len` elements that no longer change; `counts` has
/// at least `first + len` elements, which other blocks change by atomics only.
#[inline(always)]
unsafe fn merge(counters: *const u32, len: u32, counts: *mut u64, first: u32) {
    let mut i = thread::thread_idx_x();
    while i < len {
        // SAFETY: the element is inside both.
        unsafe {
            let count = counters.add(i as usize).read();
            // Most bins of a sparse histogram are empty, and a test is cheaper than the addition of 0.
            if count > 0 {
                add_global(counts, first + i, count);
            }
        }
        i += thread::block_dim_x();
    }
}
