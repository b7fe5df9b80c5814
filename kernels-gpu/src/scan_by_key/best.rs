//! The rung to use: one pass at the speed of memory over keys and values, whatever the lengths of the runs.
//!
//! The kernel is that of [`scan::best`](crate::scan::best), with its tickets, look-back and fixed order of all
//! additions. What keys change:
//!
//! - Keys become a bit for each element as they arrive.
//! - In large inputs of numbers a lane has neighbouring elements, by way of shared memory: rows would take a choice by
//!   heads in each step of each row's scan; so the warp scans once. That leaves registers for four blocks on a
//!   multiprocessor, one of which loads while others scan or look back. (H200, 2^26 elements, us: f64 343, f32 213; by
//!   rows scanned in place 434 and 238; by persistent blocks 372 and 225.)
//! - In small inputs and for operators of other crates a row is scanned by shuffles of values alone: a ballot tells
//!   each lane how far below it the last head is.
//! - A tile with a head publishes its total as a prefix at once, since nothing before it counts; look-back ends there.
//!
//! Sources: [`scan::best`](crate::scan::best)'s; S. Sengupta, M. Harris and M. Garland, "Efficient Parallel Scan
//! Algorithms for GPUs" (2008), for the distance to the last head in a warp.

use super::keys::Keys;
use crate::number::Number;
use crate::operator::{
    Operator, Pod,
    chunk::{most_rows, width},
};
use crate::reduce::form::AsTheyAre;
use crate::reduce::{Max, Min, Op, Sum};
use crate::scan::best::{scan_numbers, scan_runs};
use cuda_std::kernel;

pub use crate::scan::best::{BLOCK, blocked_rows as rows, state_words, tile};

/// The idea in one line.
pub const IDEA: &str = "one pass: keys become bits, lanes scan neighbours, look-back ends at a run's head";

/// Stands for [`rows()`] as the `R` of kernels.
pub const MANY: usize = 4;

/// Chunks per thread for inputs of at most [`SMALL`] bytes of values: more blocks take part.
pub const FEW_ROWS: usize = 1;

/// Largest input, in bytes of values, for which a thread has [`FEW_ROWS`] chunks.
pub const SMALL: u64 = 1 << 19;

/// Blocks that share a multiprocessor of compute capability 9.0: four, or three if keys have 8 bytes. For other GPUs
/// ptxas needs more registers, and gets them.
pub const fn blocks_per_sm(key: usize) -> u32 {
    match key {
        _ if !cfg!(target_feature = "sm_90") => 1,
        8 => 3,
        _ => 4,
    }
}

/// Scans each run of equal keys, in tiles of one row (`R` = 1) or of [`rows()`]. `exclusive` is 0 or 1. The result is
/// the same in every run.
///
/// # Safety
/// [`BLOCK`] threads, one block per tile; keys have at most 8 bytes, and there are as many as values; `output` has as
/// many elements and does not overlap them; `state` has [`state_words()`], all 0 before its first launch, and is used
/// by one launch at a time of this kernel in tiles of as many rows.
#[cfg_attr(
    feature = "scan_by_key",
    kernel(
        launch_bounds(BLOCK, blocks_per_sm(size_of::<K>())),
        for O in [Sum, Max, Min],
        for T in [f32, f64, i32, u32, i64, u64],
        for K in [u32, u64],
        for R in [1, 4],
    )
)]
pub unsafe fn scan_by_key_best<O: Op<T>, T: Number, K: Pod + PartialEq, const R: usize>(
    keys: &[K],
    values: &[T],
    exclusive: u32,
    state: *mut u64,
    output: *mut T,
) {
    const { assert!(size_of::<K>() <= 8, "the scratch memory has room for keys of 8 bytes") };
    // SAFETY: the caller upholds this function's contract.
    unsafe {
        match const { (R, size_of::<T>()) } {
            (MANY, 8) => scan_numbers::<O, T, _, { rows(8) }>(Keys(keys), values, exclusive, state, output),
            (MANY, _) => scan_numbers::<O, T, _, { rows(4) }>(Keys(keys), values, exclusive, state, output),
            _ => scan_numbers::<O, T, _, R>(Keys(keys), values, exclusive, state, output),
        }
    }
}

/// Rows of a tile of values of this size, for operators, keys and values of other crates.
pub const fn any_rows(bytes: usize) -> usize {
    let most = most_rows(bytes * width(bytes));
    let rows = if most > 4 { 4 } else { most };
    assert!(rows * width(bytes) <= u64::BITS as usize, "a thread's heads are the bits of a word");
    rows
}

/// Scans each run by any operator, in tiles of [`any_rows`].
///
/// # Safety
/// The requirements are those of [`scan_by_key_best()`].
#[inline(always)]
pub unsafe fn any_scan_by_key<O: Operator<T>, K: Pod + PartialEq, T: Pod>(
    keys: &[K],
    values: &[T],
    exclusive: u32,
    state: *mut u64,
    output: *mut T,
) {
    // SAFETY: the caller upholds this function's contract.
    unsafe {
        match const { any_rows(size_of::<T>()) } {
            4 => scan_runs::<AsTheyAre<O>, T, _, 4>(Keys(keys), values, exclusive, state, output),
            2 => scan_runs::<AsTheyAre<O>, T, _, 2>(Keys(keys), values, exclusive, state, output),
            _ => scan_runs::<AsTheyAre<O>, T, _, 1>(Keys(keys), values, exclusive, state, output),
        }
    }
}
