//! The kernel for bytes in interleaved channels, such as the colours of pixels: byte `i` belongs to channel
//! `i % CHANNELS`, and every channel has bins of its own.
//!
//! - As in [`lanes`](super::lanes), lane `l` only accesses counters of column `l`; row `256 * c + v` counts the bytes
//!   of value `v` in channel `c`. One pass over the input counts all channels.
//! - Which channels the 16 bytes of a vector have depends on where it starts. The distance between two vectors of a
//!   thread is whole pixels, so that all its vectors start with the same channel: a thread rotates the addresses of its
//!   channels' counters once, and counts a byte with the same three instructions as one of a single channel.
//! - Where the fourth of four channels is not counted, the words are rotated instead, one instruction for four bytes,
//!   so that the byte to skip is the last one in every word.
//! - Where 32 columns for each channel do not fit in shared memory, 16 do: lanes `l` and `l + 16` share a column, and
//!   contend when they count the same value.

use super::{
    super::{Sample, add_shared},
    for_each_vector,
    lanes::{clear, finish},
};
use cuda_std::{kernel, launch::Instance, memory::U32x4, shared::dynamic_shared_mem, thread, warp};

/// Default number of threads per block; a multiple of 32, at most 1024. Two blocks of half as many threads add their
/// sums twice, and take up to 15 % longer (RGB of 12 MiB on an H200).
pub const BLOCK: u32 = 1024;

/// 16-byte loads in flight per thread.
// tune: 4 8
pub const UNROLL: usize = 4;

/// Number of threads per multiprocessor, as far as their registers and counters fit.
pub const THREADS_PER_SM: u32 = 1024;

/// Rows of a channel: one for each value of a byte.
pub const ROWS: u32 = 256;

/// Bytes of dynamic shared memory for `counted` channels.
pub const fn shared_bytes(counted: u32, columns: u32) -> u32 {
    counted * ROWS * columns * size_of::<u32>() as u32
}

/// Interleaved channels that have a kernel.
pub trait Pixel: Instance + 'static {
    /// Number of channels.
    const CHANNELS: usize;

    /// Number of channels with counters: the first ones. Only the last of four channels can be without.
    const COUNTED: usize;
}

macro_rules! pixels {
    ($($name:ident $entry:literal $channels:literal $counted:literal $text:literal;)*) => { $(
        #[doc = $text]
        #[derive(Clone, Copy, Debug)]
        pub struct $name;

        impl Instance for $name {
            const NAME: &'static str = $entry;
        }

        impl Pixel for $name {
            const CHANNELS: usize = $channels;
            const COUNTED: usize = $counted;
        }
    )* };
}
pixels! {
    Pair "pair" 2 2 "Two channels.";
    Rgb "rgb" 3 3 "Three channels.";
    Rgba "rgba" 4 4 "Four channels.";
    Rgbx "rgbx" 4 3 "Four channels, of which the last one is not counted.";
}

/// Bytes of a vector.
const BYTES: usize = size_of::<U32x4>();

/// Writes the number of bytes of each value below `bins` in each of the first `active` channels to `counts`, row-major:
/// a row of `bins` counts for each channel. The result is exact, and the same in every run.
///
/// # Safety
/// The block is a multiple of 32, has `shared_bytes` of dynamic shared memory for the pixel's counted channels, and its
/// threads get at most 2^32 - 1 bytes; `active` is at most the number of these channels; `counts` and `totals` have
/// `active * bins` elements, less than 2^32, of which those of `totals` are 0, and so is `ticket`; no other thread uses
/// the three meanwhile.
#[kernel(for P in [Pair, Rgb, Rgba, Rgbx], for COLUMNS in [16, 32])]
pub unsafe fn histogram_best_channels<P: Pixel, const COLUMNS: u32>(
    input: &[u8],
    bins: u32,
    active: u32,
    totals: *mut u64,
    ticket: *mut u32,
    counts: *mut u64,
) {
    let counters = dynamic_shared_mem::<u32>();
    let rows = P::COUNTED as u32 * ROWS;
    // SAFETY: the block's own memory, and all its threads reach this call.
    unsafe { clear::<COLUMNS>(counters, rows) };
    thread::sync_threads(); // separates the counters' initialisation from the first count

    // SAFETY: the counters are those of the pixel's counted channels; a block has at least 32 threads.
    unsafe { count_all::<P, COLUMNS>(input, counters) };
    thread::sync_threads(); // separates the last count from the reads of the counters

    let bin_of = |row: u32| {
        let (channel, value) = (row / ROWS, row % ROWS);
        // Of an active channel the product is below 2^32.
        if channel < active && value < bins { channel * bins + value } else { u32::MAX }
    };
    // SAFETY: all threads of the grid reach this call; the caller upholds the rest.
    unsafe { finish::<COLUMNS>(counters, rows, bin_of, active * bins, totals, ticket, counts) };
}

/// Counts the thread's share of the input.
///
/// # Safety
/// `counters` has `ROWS` rows of `COLUMNS` counters for each counted channel, which other threads of the block change
/// by atomics only; the grid has at least 32 threads, which all call it.
#[inline(always)]
unsafe fn count_all<P: Pixel, const COLUMNS: u32>(input: &[u8], counters: *mut u32) {
    const WORD: u32 = size_of::<u32>() as u32;
    const { assert!(P::COUNTED == P::CHANNELS || P::CHANNELS == 4) };
    let mine = warp::lane_id() % COLUMNS * WORD;
    // The place of the lane's counter of a channel's value 0; those of other values differ in other bits.
    let place = |channel: usize| (channel as u32 * (ROWS * COLUMNS * WORD)) | mine;
    let count = |place: u32, value: u8| {
        // `|` instead of `+` becomes part of the instruction that extracts the value from a word.
        let at = (u32::from(value) * (COLUMNS * WORD)) | place;
        // SAFETY: the address is that of a counter.
        unsafe { add_shared(counters.byte_add(at as usize), 0, 1) };
    };

    let (head, vectors, tail) = U32x4::split_words(input);
    let (me, workers) = (thread::global_index(), workers(P::CHANNELS, thread::grid_stride()));
    // The channel with which the thread's vectors start.
    let first = (head.len() + me * BYTES) % P::CHANNELS;
    let skips = P::COUNTED < P::CHANNELS;
    let mut places = [mine; 4];
    let mut k = 0;
    while k < P::COUNTED {
        places[k] = place(if skips { k } else { (first + k) % P::CHANNELS });
        k += 1;
    }
    // Moves each byte to the place in its word that has the number of its channel.
    let turn = |word: u32| if skips { word.rotate_left(8 * first as u32) } else { word };
    let visit = |[a, b, c, d]: [u32; 4]| {
        let mut j = 0;
        u8::unpack([turn(a), turn(b), turn(c), turn(d)], |value| {
            let k = j % P::CHANNELS;
            if k < P::COUNTED {
                count(places[k], value);
            }
            j += 1;
        });
    };
    if me < workers {
        for_each_vector::<UNROLL>(vectors, me, workers, visit);
    }

    let single = |value: u8, index: usize| {
        let channel = index % P::CHANNELS;
        if channel < P::COUNTED {
            count(place(channel), value);
        }
    };
    // Head and tail are shorter than a vector, which has fewer bytes than the grid has threads.
    if me < head.len() {
        // SAFETY: the index is below the length.
        single(unsafe { *head.get_unchecked(me) }, me);
    }
    if me < tail.len() {
        // SAFETY: the index is below the length.
        single(unsafe { *tail.get_unchecked(me) }, head.len() + vectors.len() * BYTES + me);
    }
}

/// Number of workers among `threads`: the largest for which a worker's vectors, which are as many vectors apart, are
/// whole pixels apart. A grid of more than a few warps has whole warps of workers, so that their loads stay aligned.
const fn workers(channels: usize, threads: usize) -> usize {
    if BYTES.is_multiple_of(channels) {
        return threads;
    }
    let warps = channels * thread::warp_size() as usize;
    let whole = threads - threads % warps;
    if whole > 0 { whole } else { threads - threads % channels }
}
