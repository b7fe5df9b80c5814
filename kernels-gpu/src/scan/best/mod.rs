//! The rung to use: one pass at the speed of memory, no state to reset, the same bits in every run.
//!
//! - A thread has up to [`ROWS`] 16-byte loads in flight, and its warp has a part of the tile of that number of rows of
//!   32 chunks. The rows are scanned in place by shuffles that do not depend on other rows. So the elements need not be
//!   reordered through shared memory, and chunks are stored as they were loaded. (Scans by key do reorder them: see
//!   `blocked`.)
//! - Look-back takes two steps whatever the distance, since tiles are counted in groups: see `ahead`. The sums that are
//!   added, and their order, depend only on the tile.
//! - Tickets and records contain the number of the launch: a record of an earlier launch counts as not yet published,
//!   so no memory has to be cleared between launches.
//! - An input of one tile needs no ticket and no look-back.
//!
//! Sources: Merrill and Garland (2016) for tiles, tickets and look-back; S. Yan, G. Long and Y. Zhang, "StreamScan"
//! (2013), for a chain of blocks in one pass; S. Chatterjee, G. Blelloch and M. Zagha (1990) for scans of rows.

use crate::number::Number;
use crate::operator::{
    Operator, Pod,
    chunk::{fits, most_rows, width, with_width},
    slots,
};
use crate::reduce::form::{AsTheyAre, ByKeys, Faster, Form, bits, faster};
use crate::reduce::keys::{Largest, Smallest};
use crate::reduce::{Max, Min, Op, Sum, WARP};
use core::mem::MaybeUninit;
use cuda_std::{address_space, kernel, thread};

#[cfg(feature = "scan")]
pub mod ring;

mod ahead;
mod blocked;
mod rows;
mod runs;
mod total;

pub use ahead::{GROUP, state_words};
pub(crate) use blocked::gather;
use blocked::{neighbours, scatter};
use rows::{is_before, scan_chunk, scan_rows, store_rows};
pub(crate) use rows::{load_rows, pitch};
use runs::of_row;
pub(crate) use runs::{OneRun, Runs};
use total::Total;

/// The idea in one line.
pub const IDEA: &str = "16-byte accesses, rows scanned in place, look-back in two steps, no reset";

/// Threads per block; the layout of the tile depends on it.
pub const BLOCK: u32 = 256;

/// 16-byte chunks per thread for inputs that occupy all multiprocessors. More chunks mean fewer tickets, barriers and
/// look-backs per element; 8 take 77 registers, so that three blocks share a multiprocessor. (H200, 2^28 f32: 2574 GB/s
/// with 4, 2915 with 6, 3033 with 8.)
pub const ROWS: usize = 8;

/// Number of chunks per thread for inputs of at most [`SMALL`] bytes, which are too small to saturate memory: more
/// blocks take part.
pub const FEW_ROWS: usize = 1;

/// Largest input, in bytes, for which a thread has [`FEW_ROWS`] chunks.
pub const SMALL: u64 = 1 << 19;

/// 16-byte chunks of each thread in scans by key, for numbers of this size: an odd number, see `blocked`. (H200, sums
/// by key, us for 5 and 7: f32 of 2^20 10.0 and 10.4, of 2^26 213 and 210; f64 of 2^20 12.3 and 13.5, of 2^26 370 and
/// 368 when 7 left fewer registers, 343 since.)
pub const fn blocked_rows(bytes: usize) -> usize {
    if bytes == 8 { 7 } else { 5 }
}

/// How many neighbours of this size a lane scans, and how often, in tiles of this many rows.
pub const fn of_lane(rows: usize, bytes: usize) -> [usize; 2] {
    if rows > 1 && !rows.is_multiple_of(2) { [rows * (16 / bytes), 1] } else { [16 / bytes, rows] }
}

/// Elements of this size in a tile of this many rows.
pub const fn tile(rows: usize, bytes: usize) -> u32 {
    BLOCK * (rows * width(bytes)) as u32
}

const WARPS: u32 = BLOCK / WARP;

const _: () = assert!(BLOCK.is_multiple_of(WARP));

/// The ticket, which one thread passes to its block.
#[address_space(shared)]
static mut TICKET: MaybeUninit<u64> = MaybeUninit::uninit();

/// Which warps of the block have a head, in a scan by key.
#[address_space(shared)]
static mut HAS_HEAD: [MaybeUninit<u32>; WARPS as usize] = [MaybeUninit::uninit(); WARPS as usize];

/// Bytes of [`SCRATCH`]: 14 values or keys of 8 bytes for each thread, or 20 of 4.
const SCRATCH_BYTES: usize = BLOCK as usize * 14 * 8;

/// Where the parts of warps change their order.
#[address_space(shared)]
static mut SCRATCH: MaybeUninit<Scratch<SCRATCH_BYTES>> = MaybeUninit::uninit();

/// The same for 20 keys of 8 bytes.
#[address_space(shared)]
static mut LONG_SCRATCH: MaybeUninit<Scratch<{ BLOCK as usize * 20 * 8 }>> = MaybeUninit::uninit();

/// Bytes on a boundary of 16.
#[repr(C, align(16))]
struct Scratch<const BYTES: usize>([u8; BYTES]);

/// Scans the input, in tiles of `R` rows. `exclusive` is 0 or 1. The result is the same in every run;
/// [`scan`](crate::scan) states the error bound of float sums.
///
/// # Safety
/// [`BLOCK`] threads, one block per tile; `output` has as many elements as `input` and does not overlap it; `state` has
/// [`state_words()`], all 0 before its first launch, and is used by one launch at a time, of this kernel or of
/// [`ring::scan_best_ring()`].
#[cfg_attr(
    feature = "scan",
    kernel(for O in [Sum, Max, Min], for T in [f32, f64, i32, u32, i64, u64], for R in [1, 8])
)]
pub unsafe fn scan_best<O: Op<T>, T: Number, const R: usize>(
    input: &[T],
    exclusive: u32,
    state: *mut u64,
    output: *mut T,
) {
    // SAFETY: the caller upholds this function's contract.
    unsafe { scan_numbers::<O, T, _, R>(OneRun, input, exclusive, state, output) }
}

/// Rows of a tile of values of this size, for operators and values of other crates: fewer for large values, which take
/// more registers.
pub const fn any_rows(bytes: usize) -> usize {
    let rows = most_rows(bytes * width(bytes));
    if bytes > 8 && rows > 4 { 4 } else { rows }
}

/// Scans the input by any operator, in tiles of [`any_rows`].
///
/// # Safety
/// The requirements are those of [`scan_best()`].
#[inline(always)]
pub unsafe fn any_scan<O: Operator<T>, T: Pod>(input: &[T], exclusive: u32, state: *mut u64, output: *mut T) {
    // SAFETY: the caller upholds this function's contract.
    unsafe {
        match const { any_rows(size_of::<T>()) } {
            8 => scan_runs::<AsTheyAre<O>, T, _, 8>(OneRun, input, exclusive, state, output),
            4 => scan_runs::<AsTheyAre<O>, T, _, 4>(OneRun, input, exclusive, state, output),
            2 => scan_runs::<AsTheyAre<O>, T, _, 2>(OneRun, input, exclusive, state, output),
            _ => scan_runs::<AsTheyAre<O>, T, _, 1>(OneRun, input, exclusive, state, output),
        }
    }
}

/// Scans each run of numbers, in tiles of `R` rows.
///
/// # Safety
/// The requirements are those of [`scan_best()`]; the runs are those of as many elements.
#[inline(always)]
pub(crate) unsafe fn scan_numbers<O: Op<T>, T: Number, X: Runs, const R: usize>(
    runs: X,
    input: &[T],
    exclusive: u32,
    state: *mut u64,
    output: *mut T,
) {
    // SAFETY: the caller upholds this function's contract; numbers with keys are `f64`.
    unsafe {
        let places = output.cast();
        match const { faster::<O, T>() } {
            Faster::ByLargest => scan_runs::<ByKeys<Largest>, _, X, R>(runs, bits(input), exclusive, state, places),
            Faster::BySmallest => scan_runs::<ByKeys<Smallest>, _, X, R>(runs, bits(input), exclusive, state, places),
            Faster::AsTheyAre => scan_runs::<AsTheyAre<O>, T, X, R>(runs, input, exclusive, state, output),
        }
    }
}

/// Scans each run of the input, in tiles of `R` rows.
///
/// # Safety
/// The requirements are those of [`scan_numbers()`].
#[inline(always)]
pub(crate) unsafe fn scan_runs<F: Form<T>, T: Pod, X: Runs, const R: usize>(
    runs: X,
    input: &[T],
    exclusive: u32,
    state: *mut u64,
    output: *mut T,
) {
    const { assert!(blocked_rows(8) == 7 && blocked_rows(4) == 5, "the rows of which lanes scan neighbours") };
    // SAFETY: the caller upholds this function's contract.
    unsafe {
        match const { R } {
            7 => scan_tile::<F, T, X, 2, 7, 14, 1>(runs, input, exclusive, state, output),
            5 => scan_tile::<F, T, X, 4, 5, 20, 1>(runs, input, exclusive, state, output),
            _ => with_width!(size_of::<T>(), W => {
                scan_tile::<F, T, X, W, R, W, R>(runs, input, exclusive, state, output);
            }),
        }
    }
}

/// Scans one tile of `R` rows of chunks of `W` elements, of which lanes scan `S` times `V`: see `blocked`.
///
/// # Safety
/// The requirements are those of [`scan_runs()`].
#[inline(always)]
unsafe fn scan_tile<F: Form<T>, T: Pod, X: Runs, const W: usize, const R: usize, const V: usize, const S: usize>(
    runs: X,
    input: &[T],
    exclusive: u32,
    state: *mut u64,
    output: *mut T,
) {
    let (tid, tiles) = (thread::thread_idx_x(), thread::grid_dim_x());
    let (lane, warp) = (tid % WARP, tid / WARP);
    // SAFETY: the whole block reaches this call, once.
    let (number, launch) = if tiles > 1 { unsafe { ticket(state, tiles) } } else { (0, 0) };

    let elements = BLOCK as usize * R * W;
    let first_of_tile = number as usize * elements;
    let inside = const { fits(size_of::<T>()) } && first_of_tile + elements <= input.len();
    // The lane's chunk of row 0; the next row is `pitch` elements further.
    let first = first_of_tile + (warp as usize * R * WARP as usize + lane as usize) * W;
    let rows = if inside && input.as_ptr().addr().is_multiple_of(16) {
        // SAFETY: the tile lies inside the input, on a 16-byte boundary.
        unsafe { load_rows::<T, W, R>(input.as_ptr().add(first), |chunk| chunk.map(F::value)) }
    } else {
        load_singly::<F, T, X, W, R>(input, first)
    };

    let scratch = scratch::<T, X, V, W>(warp);
    // SAFETY: all lanes of each warp reach these calls; a warp has scratch memory of its own.
    let (own, heads, part) = unsafe {
        let heads = runs.heads::<W, R, V, S>(first - lane as usize * W, inside && runs.in_chunks::<W>(), scratch);
        let own = gather::<T, W, R, V, S>(rows, scratch.cast());
        (own, heads, scan_rows::<F::Operator, T, X, V, S>(&own, heads))
    };
    // SAFETY: the whole block reaches this call, once.
    let (warps, block) = unsafe { scan_warps::<F::Operator, T, X>(part.total, part.has_head) };
    let mut carry = warps.total;
    if tiles > 1 {
        let slot = before_tile_slot::<T>();
        if warp == 0 {
            // SAFETY: the whole of warp 0 reaches this call; tiles before this one belong to blocks that run.
            let before_tile = unsafe { ahead::prefix::<F::Operator, T, X>(state, tiles, number, launch, block) };
            if lane == 0 {
                // SAFETY: one thread writes the shared slot.
                unsafe { slot.write(before_tile) };
            }
        }
        thread::sync_threads(); // separates the write of the sum before the tile from the block's reads
        // SAFETY: the slot was written before the barrier.
        carry = Total::open(unsafe { slot.read() }).then::<F::Operator, X>(warps).total;
    }

    // SAFETY: each lane has its elements there since it gathered them.
    let own = if const { V == W } { own } else { unsafe { neighbours::<T, W, R, V, S>(scratch.cast()) } };
    let before = part.after::<F::Operator>(carry);
    let scanned = |s: usize| scan_chunk::<F, T, V>(own[s], of_row::<V>(heads, s), before[s], exclusive);
    // SAFETY: as above; the tile is this block's.
    unsafe {
        if const { V == W } {
            store_rows::<T, X, V, S>(output, first, input.len(), inside, scanned);
        } else {
            let rows = scatter::<T, V, W, R>(scanned(0), scratch.cast());
            store_rows::<T, X, W, R>(output, first, input.len(), inside, |row| rows[row]);
        }
    }
}

/// Scratch memory of a warp whose lanes have neighbours.
#[inline(always)]
fn scratch<T: Pod, X: Runs, const V: usize, const W: usize>(warp: u32) -> *mut u8 {
    let longest = const { if size_of::<T>() < X::BYTES { X::BYTES } else { size_of::<T>() } };
    let bytes = WARP as usize * V * longest;
    if const { V == W } {
        core::ptr::null_mut()
    } else if bytes * WARPS as usize <= SCRATCH_BYTES {
        (&raw mut SCRATCH).cast::<u8>().wrapping_add(warp as usize * bytes)
    } else {
        (&raw mut LONG_SCRATCH).cast::<u8>().wrapping_add(warp as usize * bytes)
    }
}

/// The slot for the sum before the tile: the first one that no warp of the block uses for its total.
#[inline(always)]
fn before_tile_slot<T: Pod>() -> *mut T {
    const { assert!(WARPS < WARP) };
    slots::of_warps::<T>().wrapping_add(WARPS as usize)
}

/// Draws a ticket for the block. Returns the number of its tile and that of the launch, which is not 0 in the first
/// 2^31 launches.
///
/// # Safety
/// All threads of the block call it together, once; word 0 of `state` is accessed only by this function, by one block
/// per tile.
#[inline(always)]
unsafe fn ticket(state: *mut u64, tiles: u32) -> (u32, u32) {
    let slot = (&raw mut TICKET).cast::<u64>();
    if thread::thread_idx_x() == 0 {
        // SAFETY: the caller upholds this function's contract; one thread writes the shared slot.
        unsafe { slot.write(ahead::draw(state, tiles)) };
    }
    thread::sync_threads(); // separates thread 0's write of the ticket from the block's reads
    // SAFETY: the slot was written before the barrier.
    let drawn = unsafe { slot.read() };
    (drawn as u32, (drawn >> 32) as u32 + 1)
}

/// Loads elements one by one, with the identity past the end.
#[inline(always)]
fn load_singly<F: Form<T>, T: Pod, X: Runs, const W: usize, const R: usize>(input: &[T], first: usize) -> [[T; W]; R] {
    let element = |at: usize| match is_before::<X>(input.len(), first, at) {
        // SAFETY: the element lies before the end.
        true => F::value(unsafe { *input.get_unchecked(first + at) }),
        false => F::Operator::identity(),
    };
    core::array::from_fn(|row| core::array::from_fn(|k| element(row * pitch::<W>() + k)))
}

/// The total of the warps before this one, and of all warps; every thread combines them in order.
///
/// # Safety
/// All threads of the block call it together, once.
#[inline(always)]
unsafe fn scan_warps<O: Operator<T>, T: Pod, X: Runs>(total: T, has_head: bool) -> (Total<T>, Total<T>) {
    let slot = |warp: u32| slots::of_warps::<T>().wrapping_add(warp as usize);
    let flag = |warp: u32| (&raw mut HAS_HEAD).cast::<u32>().wrapping_add(warp as usize);
    let (lane, warp) = (thread::thread_idx_x() % WARP, thread::thread_idx_x() / WARP);
    if lane == 0 {
        // SAFETY: each warp writes its own slots.
        unsafe {
            slot(warp).write(total);
            if X::KEYED {
                flag(warp).write(u32::from(has_head));
            }
        }
    }
    thread::sync_threads(); // separates the writes of the warps' totals from their reads

    let (mut before, mut all) = (Total::open(O::identity()), Total::open(O::identity()));
    let mut k = 0;
    while k < WARPS {
        if k == warp {
            before = all;
        }
        // SAFETY: the slots were written before the barrier.
        let (total, closed) = unsafe { (slot(k).read(), X::KEYED && flag(k).read() != 0) };
        all = all.then::<O, X>(Total { total, closed });
        k += 1;
    }
    (before, all)
}
