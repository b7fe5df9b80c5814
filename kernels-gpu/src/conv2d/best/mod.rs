//! The rung to use: each thread moves down the image with 16 bytes of each row, and holds everything in registers.
//!
//! - A thread has 16 bytes of every row of its strip, of narrow types eight elements, four for masks above 5 x 5. It
//!   loads the part of each row under the masks of its outputs once, in vectors (smaller loads where a mask reaches no
//!   further than half a vector); its neighbours load the halo as well, from the L1 cache. It uses no shared memory and
//!   no barriers.
//! - A row of pixels with several channels is a row of elements, in which the elements under a mask are as many apart
//!   as there are channels. So small masks of pictures in colour have the same vectors: [`conv2d_best_channels()`]. For
//!   larger masks, each channel is filtered by itself, from single elements.
//! - A row contributes to as many rows of outputs as the mask has. Each of them has a group of sums, and all groups are
//!   updated for each row; when the last row of the mask has been added, a group is written and the others move up. So
//!   an element is loaded once and used for a whole column of the mask, and the sums stay in registers.
//! - Several rows are loaded before the first is used, to keep enough loads in flight: see `rows_in_flight`.
//! - The mask is passed by value: its taps are operands in constant memory. [`any_size`] is the kernel for other sizes.
//! - At the left and the right edge a thread loads vectors like all others, and then replaces the halo outside the
//!   image in registers. Where all blocks run at once, the launch takes as long as its slowest block: when edges
//!   loaded single elements, they were the slowest. That is still done where rows don't start on a vector, and where a
//!   mask reaches further than one.
//! - Where rows start on vectors and the picture is large enough, [`conv2d_best_strips()`] filters strips of a few rows
//!   whose loop is unrolled: no sums move, and no test is left but for the border, which has blocks of its own: see
//!   [`unrolled`](super::unrolled).

use super::march::{self, march};
use super::taps::{Taps, WINDOW, reach};
use super::unrolled::{Strip, strips};
use super::{Frame, MAX_MASK, Pixel};
use crate::filter::Sample;
use crate::number::F16;
use crate::unroll::unroll;
use cuda_std::kernel;

pub mod any_size;

/// The idea in one line.
pub const IDEA: &str = "16 bytes of a row per thread, marching down: each element is loaded once for a column of taps";

/// Threads per block: neighbours in a row.
pub use super::march::BLOCK;

/// Sides of the masks for which there is a kernel. Images must not be smaller than the mask.
pub const SIZES: [u32; 6] = [3, 5, 7, 9, 13, 17];

/// Sides of the masks for which there are kernels that filter all channels of a pixel. Larger ones are limited by
/// arithmetic.
pub const SIZES_OF_CHANNELS: [u32; 2] = [3, 5];

/// Largest number of channels of these kernels.
pub const MAX_CHANNELS: u32 = 4;

/// Channels that a thread filters: all, if there is a kernel that does, or one.
pub const fn channels_per_thread(mask: u32, channels: u32) -> u32 {
    let small = mask == SIZES_OF_CHANNELS[0] || mask == SIZES_OF_CHANNELS[1];
    if small && channels <= MAX_CHANNELS { channels } else { 1 }
}

/// Blocks that a multiprocessor of 65536 registers runs at once.
pub const fn blocks_per_sm(mask: u32, channels: u32, bytes: usize) -> u32 {
    match (mask, bytes) {
        (5, 1 | 2) if channels > 2 => 3,
        (3, 4) if channels == 2 || channels == 4 => 5,
        (3 | 5, _) if channels > 1 || bytes < 4 => 4,
        (7 | 9, 8) => 4,
        (13 | 17, 8) => 3,
        (3, _) => 7,
        (5 | 7, _) => 5,
        (9 | 13, _) => 4,
        _ => 3,
    }
}

/// Most rows of a strip. Where memory is the limit, strips are short: blocks that end after a few KiB, beside each
/// other in memory, make it faster than blocks that all run at once from the first to the last and are far apart. The
/// longer strips are, the fewer rows are loaded twice, and where arithmetic is the limit that decides: strips are then
/// long enough that all blocks run at once, because a block more would run alone at the end. (H200, us without and with
/// these: 8192 x 8192 by 3 x 3 of f32 153 and 139, of f64 288 and 272, of u8 by 7 x 7 245 and 233; 4096 x 4096 x 3 of
/// f32 by 3 x 3 131 and 124, by 5 x 5 171 and 160. Strips of 16 rows would make f32 by 5 x 5 slower: 167 instead of
/// 159.)
pub const fn longest_strip(mask: u32, channels: u32, bytes: usize) -> u32 {
    match (mask, channels) {
        (3, 1) if bytes >= 4 => 6,
        (3, _) if bytes >= 4 => 14,
        (5, 2..) if bytes >= 4 => 16,
        (7, _) if bytes < 4 => 60,
        _ => u32::MAX,
    }
}

/// Registers of a thread that leave room for those blocks; 0, no limit, for large masks of f64, of which the compiler
/// would spill some. (Any limit makes ptxas use more. H200, 9 x 9: 122 instead of 148 of them with a limit of 255, and
/// 584 us instead of 640; 17 x 17: 156 instead of 176, and 2078 instead of 2375.)
pub const fn registers(mask: usize, channels: usize, bytes: usize) -> u32 {
    let unlimited = bytes == 8 && mask > 5;
    if unlimited { 0 } else { march::registers(blocks_per_sm(mask as u32, channels as u32, bytes)) }
}

/// Rows that a thread loads before it uses the first. Small masks are limited by memory latency; for large ones the
/// code would exceed the instruction cache, with K * K * 4 multiply-adds per row, and windows of many channels take
/// registers.
const fn rows_in_flight(mask: usize, width: usize, channels: usize) -> usize {
    match (mask, width, channels) {
        (5, 8, 1) => 2,
        (5, 8, _) => 1,
        (3, 8, 3..) => 2,
        (5, 2, 1) => 3,
        (3, ..) | (5, _, 1) => 4,
        (5 | 7 | 9, ..) => 2,
        _ => 1,
    }
}

/// Rows of a strip of [`conv2d_best_strips()`], for taps of this many bytes, and how many a thread loads before it uses
/// the first. Longer strips load fewer rows twice, and have more code: from 9 x 9 on that decides. (H200, f32 of 8192 x
/// 8192, us: 5 x 5 by strips of 7, 8 and 10 rows 137, 138 and 140; 7 x 7 of 6, 8 and 10 169, 154 and 153; 9 x 9 of 6
/// and 8 211 and 218; 13 x 13 of 2, 3, 4 and 6 461, 433, 443 and 485; 17 x 17 of 2 and 3 767 and 804.)
const fn strip(mask: usize, channels: usize, bytes: usize) -> (usize, usize) {
    match (mask, channels) {
        (3, 1) => (6, 6),
        (3, 3) if bytes < 8 => (4, 2),
        (3, _) => (4, 3),
        (5, 1) if bytes < 8 => (7, 4),
        (5, 1) => (8, 4),
        (5, _) => (8, 3),
        (7, _) => (8, 2),
        (9, _) => (6, 2),
        (13, _) => (3, 1),
        _ if bytes == 8 => (3, 1),
        _ => (2, 1),
    }
}

/// Rows of the strips for this mask and number of channels whose rows are unrolled, if there is a kernel for them.
pub const fn unrolled_rows(mask: u32, channels: u32, bytes: usize) -> Option<u32> {
    let exists = match (mask, channels) {
        (3, 1 | 3) | (5 | 7, 1) => true,
        (3 | 5, 2..=MAX_CHANNELS) | (9 | 13 | 17, 1) => bytes >= 4,
        _ => false,
    };
    // Taps have four bytes at least.
    let taps = if bytes < 4 { 4 } else { bytes };
    if exists { Some(strip(mask as usize, channels as usize, taps).0 as u32) } else { None }
}

/// Registers of a thread of these kernels: the fewest with which no architecture spills any, but for f64 by 3 x 3 and 5
/// x 5, where more rows are in flight. (H200, f64 of 8192 x 4096 by 9 x 9: 220 us; 203 with 128, of which newer
/// architectures spill some.)
pub const fn registers_of_strips(mask: usize, channels: usize, bytes: usize) -> u32 {
    match (bytes, mask, channels) {
        (8, 3 | 5, _) => 96,
        (8, 7, _) => 128,
        (8, 9, _) => 168,
        (8, ..) => 200,
        (4, 3, 3) => 88,
        (4, 5 | 7 | 17, 1) | (4, _, 2 | 3) => 72,
        _ => 64,
    }
}

const _: () = {
    let mut k = 0;
    while k < SIZES.len() {
        assert!(SIZES[k] <= MAX_MASK && SIZES[k] % 2 == 1);
        k += 1;
    }
};

/// Convolves an image of `frame.rows` x `frame.columns` x `frame.channels` elements, row-major. The order of additions
/// is fixed, so the result is the same in every run; [`conv2d`](crate::conv2d) states the error bound.
///
/// # Safety
/// `input` and `output` are images of the frame, which are at least K x K, and do not overlap; its mask is K x K.
/// Blocks of [`BLOCK`] threads: along x a thread per [`width`](super::width) columns, along y a block per `strip` rows,
/// along z one per channel.
#[kernel(for P in [f32, f64, u8, F16], for K in [3, 5, 7, 9, 13, 17],
    max_registers(registers(K, 1, size_of::<<P as Pixel>::Bits>())))]
pub unsafe fn conv2d_best<P: Pixel, const K: usize>(
    input: &[<P as Pixel>::Bits],
    mask: [[<P as Pixel>::Tap; K]; K],
    frame: Frame,
    strip: u32,
    output: *mut <P as Pixel>::Bits,
) {
    // SAFETY: the caller upholds this function's contract.
    unsafe { march::<P, _, K, 1>(input, &Whole(mask), frame, strip, output) }
}

/// Convolves an image of `frame.rows` x `frame.columns` x C elements, row-major, as [`conv2d_best()`] does.
///
/// # Safety
/// The requirements are those of [`conv2d_best()`], but that the threads along x have `width` elements of a row each,
/// and all channels are of one block along z.
#[kernel(for P in [f32, f64, u8, F16], for K in [3, 5], for C in [2, 3, 4],
    max_registers(registers(K, C, size_of::<<P as Pixel>::Bits>())))]
pub unsafe fn conv2d_best_channels<P: Pixel, const K: usize, const C: usize>(
    input: &[<P as Pixel>::Bits],
    mask: [[<P as Pixel>::Tap; K]; K],
    frame: Frame,
    strip: u32,
    output: *mut <P as Pixel>::Bits,
) {
    // SAFETY: the caller upholds this function's contract.
    unsafe { march::<P, _, K, C>(input, &Whole(mask), frame, strip, output) }
}

/// Convolves an image as [`conv2d_best()`] does, in strips of a [constant number of rows](unrolled_rows).
///
/// # Safety
/// The requirements are those of [`strips`], for pictures of one channel: rows start on boundaries for vectors, and the
/// grid has blocks for the border and for each inner strip.
#[kernel(for P in [f32, f64], for K in [3, 5, 7, 9, 13, 17],
    max_registers(registers_of_strips(K, 1, size_of::<<P as Pixel>::Bits>())))]
pub unsafe fn conv2d_best_strips<P: Pixel, const K: usize>(
    input: &[<P as Pixel>::Bits],
    mask: [[<P as Pixel>::Tap; K]; K],
    frame: Frame,
    output: *mut <P as Pixel>::Bits,
) {
    // SAFETY: the caller upholds this function's contract.
    unsafe { strips::<P, _, K, 1>(input, &Whole(mask), frame, output) }
}

/// Convolves an image as [`conv2d_best_channels()`] does, in strips of a [constant number of rows](unrolled_rows).
///
/// # Safety
/// The requirements are those of [`strips`], for pictures of C channels.
#[kernel(for P in [f32, f64], for K in [3, 5], for C in [2, 3, 4],
    max_registers(registers_of_strips(K, C, size_of::<<P as Pixel>::Bits>())))]
pub unsafe fn conv2d_best_strips_channels<P: Pixel, const K: usize, const C: usize>(
    input: &[<P as Pixel>::Bits],
    mask: [[<P as Pixel>::Tap; K]; K],
    frame: Frame,
    output: *mut <P as Pixel>::Bits,
) {
    // SAFETY: the caller upholds this function's contract.
    unsafe { strips::<P, _, K, C>(input, &Whole(mask), frame, output) }
}

/// What [`conv2d_best_strips()`] does, for narrow elements. (For larger masks, conversions make the code too long:
/// H200, 8192 x 8192 of f16, us by [`conv2d_best()`] and by strips, 7 x 7 223 and 139, 9 x 9 347 and 280 but 1024 x
/// 1024 16 and 52, 13 x 13 686 and 882.)
///
/// # Safety
/// The requirements are those of [`conv2d_best_strips()`].
#[kernel(for P in [u8, F16], for K in [3, 5, 7],
    max_registers(registers_of_strips(K, 1, size_of::<<P as Pixel>::Bits>())))]
pub unsafe fn conv2d_best_strips_narrow<P: Pixel, const K: usize>(
    input: &[<P as Pixel>::Bits],
    mask: [[<P as Pixel>::Tap; K]; K],
    frame: Frame,
    output: *mut <P as Pixel>::Bits,
) {
    // SAFETY: the caller upholds this function's contract.
    unsafe { strips::<P, _, K, 1>(input, &Whole(mask), frame, output) }
}

/// What [`conv2d_best_strips_channels()`] does, for narrow elements of three channels. (f16 of 4096 x 4096, us without
/// and with it: three by 3 x 3 83 and 54, by 5 x 5 153 and 158, four by 3 x 3 113 and 139.)
///
/// # Safety
/// The requirements are those of [`strips`], for pictures of C channels.
#[kernel(for P in [u8, F16], for K in [3], for C in [3],
    max_registers(registers_of_strips(K, C, size_of::<<P as Pixel>::Bits>())))]
pub unsafe fn conv2d_best_strips_narrow_channels<P: Pixel, const K: usize, const C: usize>(
    input: &[<P as Pixel>::Bits],
    mask: [[<P as Pixel>::Tap; K]; K],
    frame: Frame,
    output: *mut <P as Pixel>::Bits,
) {
    // SAFETY: the caller upholds this function's contract.
    unsafe { strips::<P, _, K, C>(input, &Whole(mask), frame, output) }
}

/// The taps of a mask, by rows.
struct Whole<T, const K: usize>([[T; K]; K]);

impl<T: Sample, const K: usize, const W: usize, const C: usize> Taps<T, K, W, C> for Whole<T, K> {
    const ROWS: usize = rows_in_flight(K, W, C);
    type Row = [T; WINDOW];

    #[inline(always)]
    fn row(&self, window: [T; WINDOW]) -> [T; WINDOW] {
        window
    }

    #[inline(always)]
    fn add(&self, window: &[T; WINDOW], i: usize, sums: &mut [T; W]) {
        add_row::<T, K, W, C>(sums, window, &self.0[i]);
    }
}

impl<T: Sample, const K: usize, const W: usize, const C: usize> Strip<T, K, W, C> for Whole<T, K> {
    const HEIGHT: usize = strip(K, C, size_of::<T>()).0;
    const AHEAD: usize = strip(K, C, size_of::<T>()).1;
}

/// Adds the products of one row of the mask and one row of the image.
#[inline(always)]
fn add_row<T: Sample, const K: usize, const W: usize, const C: usize>(
    sums: &mut [T; W],
    window: &[T; WINDOW],
    taps: &[T; K],
) {
    unroll!(j < K => {
        let mut w = 0;
        while w < W {
            sums[w] = window[reach(K, W, C) - K / 2 * C + j * C + w].mul_add(taps[j], sums[w]);
            w += 1;
        }
    });
}
