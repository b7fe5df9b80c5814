//! The rung to use: one pass at the speed of memory over keys and values, whatever the lengths of the runs.
//!
//! The kernels are those of [`scan::best`](crate::scan::best), with its tickets, look-back, ring and fixed order of all
//! additions. What keys change:
//!
//! - Keys are compared as they arrive, and become a bit for each element. A row is scanned by shuffles of values alone:
//!   a ballot tells each lane how far below it the last head is.
//! - A tile with a head publishes its total as a prefix at once, since nothing before it counts; look-back ends there.
//! - Large inputs of numbers have tiles of 4096 elements, of 4 or of 8 bytes: shorter ones do not hide look-back, and
//!   keys need room, too.
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
#[cfg(feature = "scan_by_key")]
use crate::scan::best::ring;
use crate::scan::best::{scan_numbers, scan_runs};
use cuda_std::kernel;

pub use crate::scan::best::{BLOCK, state_words, tile};

/// The idea in one line.
pub const IDEA: &str = "one pass: keys become bits, rows scanned in place, look-back ends at a run's head";

/// 16-byte chunks of values per thread, for values of this size and inputs that occupy all multiprocessors: 4096
/// elements in a tile. (H200, 2^28 f32: 3.7 TB/s, CUB 3.5 3.0. Shorter tiles of f64 do not hide look-back: 2.7 TB/s
/// with 2048 elements.)
pub const fn rows(bytes: usize) -> usize {
    if bytes == 8 { 8 } else { 4 }
}

/// The `R` of kernels whose threads have [`rows()`] chunks.
pub const MANY: usize = 4;

/// Chunks per thread for inputs of at most [`SMALL`] bytes of values: more blocks take part.
pub const FEW_ROWS: usize = 1;

/// Largest input, in bytes of values, for which a thread has [`FEW_ROWS`] chunks.
pub const SMALL: u64 = 1 << 19;

/// Bytes of values from which persistent blocks are faster. (H200, us for a block for each tile and for persistent
/// ones: f32 of 32 MiB 39.3 and 41.2, of 64 MiB 68.3 and 68.2, of 256 MiB 238 and 230; f64 of 32 MiB 36.6 and 37.2, of
/// 64 MiB 63.6 and 58.7; maxima of f64 of 64 MiB 98.4 and 71.9, of 512 MiB 694 and 488.)
pub const LARGE: u64 = 64 << 20;

/// Blocks that share a multiprocessor of compute capability 9.0: three, or two if a thread has more than fits registers
/// then. For other GPUs ptxas needs more registers, and gets them.
pub const fn blocks_per_sm(bytes: usize, chunks: usize) -> u32 {
    match chunks == MANY && rows(bytes) == 8 {
        _ if !cfg!(target_feature = "sm_90") => 1,
        true => 2,
        false => 3,
    }
}

/// Scans each run of equal keys, in tiles of one row (`R` = 1) or of [`rows()`]. `exclusive` is 0 or 1. The result is
/// the same in every run.
///
/// # Safety
/// [`BLOCK`] threads, one block per tile; there are as many keys as values; `output` has as many elements and does not
/// overlap them; `state` has [`state_words()`], all 0 before its first launch, and is used by one launch at a time and
/// only by this kernel and [`scan_by_key_best_ring()`] in tiles of as many rows.
#[cfg_attr(
    feature = "scan_by_key",
    kernel(
        launch_bounds(BLOCK, blocks_per_sm(size_of::<T>(), R)),
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
    // SAFETY: the caller upholds this function's contract.
    unsafe {
        if const { R == MANY && rows(size_of::<T>()) == 8 } {
            // Not by keys of `f64`, for which a thread of sm_120 has a register too few.
            scan_runs::<AsTheyAre<O>, T, _, 8>(Keys(keys), values, exclusive, state, output);
        } else {
            scan_numbers::<O, T, _, R>(Keys(keys), values, exclusive, state, output);
        }
    }
}

/// Scans each run as [`scan_by_key_best()`] does, by persistent blocks with a ring of stages. `tiles` is the number of
/// tiles of [`rows()`].
///
/// # Safety
/// [`ring::THREADS`] threads, [`shared()`] bytes of dynamic shared memory, and a GPU of sm_90; keys and values start on
/// 16 bytes; the rest is as for [`scan_by_key_best()`].
#[cfg(feature = "scan_by_key")]
#[kernel(
    launch_bounds(ring::THREADS, 1),
    for O in [Sum, Max, Min],
    for T in [f32, f64, i32, u32, i64, u64],
    for K in [u32, u64],
)]
pub unsafe fn scan_by_key_best_ring<O: Op<T>, T: Number, K: Pod + PartialEq>(
    keys: &[K],
    values: &[T],
    exclusive: u32,
    state: *mut u64,
    output: *mut T,
    tiles: u32,
) {
    // SAFETY: the caller upholds this function's contract.
    unsafe {
        if const { rows(size_of::<T>()) == 8 } {
            ring::scan_numbers::<O, T, _, 8>(Keys(keys), values, exclusive, state, output, tiles);
        } else {
            ring::scan_numbers::<O, T, _, MANY>(Keys(keys), values, exclusive, state, output, tiles);
        }
    }
}

/// Bytes of dynamic shared memory of [`scan_by_key_best_ring()`], for values and keys of these sizes.
#[cfg(feature = "scan_by_key")]
pub const fn shared(value: usize, key: usize) -> u32 {
    ring::shared(tile(rows(value), value), value, key)
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
