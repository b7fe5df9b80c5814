//! The rung to use: each thread marches down the image as in [`conv2d::best`](crate::conv2d::best), and adds the sums
//! of its part of each row, K multiply-adds for an output, times each tap of the column to the outputs above, K more.
//!
//! Where rows start on vectors, f32 is filtered in strips of a few rows whose loop is unrolled: see
//! [`unrolled`](crate::conv2d::unrolled).
//!
//! For an output of 4 bytes that is 2 K operations per 8 bytes of memory: up to 17 taps memory is the limit, so that as
//! many rows are loaded at once as there are registers for. [`tiled`](super::tiled) is the kernel for other sizes.

use crate::conv2d::march::{self, march};
use crate::conv2d::taps::{Taps, WINDOW, reach};
use crate::conv2d::unrolled::{Strip, strips};
use crate::conv2d::{Frame, Pixel};
use crate::filter::Sample;
use crate::number::F16;
use crate::unroll::unroll;
use cuda_std::kernel;

/// The idea in one line.
pub const IDEA: &str = "a vector of each row per thread, marching down: rows' sums and columns' sums in registers";

/// Threads per block: neighbours in a row.
pub use crate::conv2d::march::BLOCK;

/// Numbers of taps, of column and row alike, for which there is a kernel. Images must not be smaller than the mask.
pub use crate::conv2d::best::SIZES;

/// Numbers of taps for which there are kernels that filter all of three or four channels of a pixel.
pub const SIZES_OF_CHANNELS: [u32; 3] = [3, 5, 7];

/// Channels that a thread filters: all, if there is a kernel that does, or one.
pub const fn channels_per_thread(mask: u32, channels: u32) -> u32 {
    let small = mask == SIZES_OF_CHANNELS[0] || mask == SIZES_OF_CHANNELS[1] || mask == SIZES_OF_CHANNELS[2];
    if small && (channels == 3 || channels == 4) { channels } else { 1 }
}

/// Blocks of the grid for each multiprocessor, where strips are not shorter: what runs at once, and for the largest
/// masks more, since strips end more evenly then. (H200, 8192 x 8192 of f16 by 17 taps: 401 us with five, of which two
/// fit, 499 with two; 4096 x 4096 x 3 of u8 by 7: 260 with five, of which three fit, 321 with three.)
pub const fn blocks_per_sm(mask: u32, channels: u32, bytes: usize) -> u32 {
    match (mask, channels) {
        (5, 2..) if bytes < 4 => 3,
        (3 | 5, _) if bytes < 4 => 4,
        (3, 2..) => 4,
        (3, _) => 7,
        (5, 1) => 5,
        (7, 1) if bytes == 8 => 5,
        (5, _) | (7, 1) => 4,
        (7, _) => 5,
        (9, 1) if bytes >= 4 => 4,
        (17, 1) if bytes == 8 => 4,
        (9 | 13, _) => 3,
        _ => 5,
    }
}

/// Most rows of a strip, as for [`conv2d`](crate::conv2d::best::longest_strip). (H200, us without and with them:
/// 8192 x 8192 of f32 by 3, 9, 13 and 17 taps 155, 205, 297, 405 and 138, 187, 276, 389, of u8 by 9 and 17 195, 387 and
/// 167, 341; 4096 x 4096 x 3 of f32 by 3, 5 and 7 129, 160, 237 and 123, 149, 191, of u8 by 7 270 and 196.)
pub const fn longest_strip(mask: u32, channels: u32, bytes: usize) -> u32 {
    match (mask, channels) {
        (3, 1) if bytes >= 4 => 6,
        (3 | 5, 3..) if bytes >= 4 => 14,
        (7, 3..) => 42,
        (7, _) if bytes < 4 => 42,
        (9, _) if bytes < 8 => 42,
        (13 | 17, _) if bytes < 8 => 60,
        _ => u32::MAX,
    }
}

/// Registers of a thread that leave room for those blocks; for the largest masks 0, no limit, as the compiler would
/// spill some, or more than those leave, where it finds a faster order then. (f16 by 17 taps: 401 us instead of 437;
/// f32 of three channels by 7: 222 instead of 237.)
pub const fn registers(mask: usize, channels: usize, bytes: usize) -> u32 {
    match (mask, channels) {
        (17, _) if bytes == 2 => 255,
        (7, 3) if bytes < 8 => march::registers(3),
        (17, _) | (7, 3 | 4) => 0,
        (7 | 9 | 13, _) if bytes == 8 => 0,
        _ => march::registers(blocks_per_sm(mask as u32, channels as u32, bytes)),
    }
}

/// Convolves an image of `frame.rows` x `frame.columns` x `frame.channels` elements, row-major, by the outer product of
/// a column, `mask[0]`, and a row, `mask[1]`. The order of additions is fixed, so the result is the same in every run;
/// [`separable`](crate::separable) states the error bound.
///
/// # Safety
/// `input` and `output` are images of the frame, which are at least K x K, and do not overlap; its mask is K x K.
/// Blocks of [`BLOCK`] threads: along x a thread per [`width`](crate::conv2d::width) columns, along y a block per
/// `strip` rows, along z one per channel.
#[kernel(for P in [f32, f64, u8, F16], for K in [3, 5, 7, 9, 13, 17],
    max_registers(registers(K, 1, size_of::<<P as Pixel>::Bits>())))]
pub unsafe fn separable_best<P: Pixel, const K: usize>(
    input: &[<P as Pixel>::Bits],
    mask: [[<P as Pixel>::Tap; K]; 2],
    frame: Frame,
    strip: u32,
    output: *mut <P as Pixel>::Bits,
) {
    // SAFETY: the caller upholds this function's contract.
    unsafe { march::<P, _, K, 1>(input, &Outer(mask), frame, strip, output) }
}

/// Convolves an image of `frame.rows` x `frame.columns` x C elements, row-major, as [`separable_best()`] does.
///
/// # Safety
/// The requirements are those of [`separable_best()`], but that the threads along x have `width` elements of a row
/// each, and all channels are of one block along z.
#[kernel(for P in [f32, f64, u8, F16], for K in [3, 5, 7], for C in [3, 4],
    max_registers(registers(K, C, size_of::<<P as Pixel>::Bits>())))]
pub unsafe fn separable_best_channels<P: Pixel, const K: usize, const C: usize>(
    input: &[<P as Pixel>::Bits],
    mask: [[<P as Pixel>::Tap; K]; 2],
    frame: Frame,
    strip: u32,
    output: *mut <P as Pixel>::Bits,
) {
    // SAFETY: the caller upholds this function's contract.
    unsafe { march::<P, _, K, C>(input, &Outer(mask), frame, strip, output) }
}

/// Convolves an image as [`separable_best()`] does, in strips of a [constant number of rows](unrolled_rows).
///
/// # Safety
/// The requirements are those of [`strips`], for pictures of one channel: rows start on boundaries for vectors, and the
/// grid has blocks for the border and for each inner strip.
#[kernel(for P in [f32], for K in [3, 5, 7, 9, 13, 17],
    max_registers(registers_of_strips(K, 1)))]
pub unsafe fn separable_best_strips<P: Pixel, const K: usize>(
    input: &[<P as Pixel>::Bits],
    mask: [[<P as Pixel>::Tap; K]; 2],
    frame: Frame,
    output: *mut <P as Pixel>::Bits,
) {
    // SAFETY: the caller upholds this function's contract.
    unsafe { strips::<P, _, K, 1>(input, &Outer(mask), frame, output) }
}

/// Convolves an image as [`separable_best_channels()`] does, in strips of a [constant number of rows](unrolled_rows).
///
/// # Safety
/// The requirements are those of [`strips`], for pictures of C channels.
#[kernel(for P in [f32], for K in [3, 5, 7], for C in [3, 4],
    max_registers(registers_of_strips(K, C)))]
pub unsafe fn separable_best_strips_channels<P: Pixel, const K: usize, const C: usize>(
    input: &[<P as Pixel>::Bits],
    mask: [[<P as Pixel>::Tap; K]; 2],
    frame: Frame,
    output: *mut <P as Pixel>::Bits,
) {
    // SAFETY: the caller upholds this function's contract.
    unsafe { strips::<P, _, K, C>(input, &Outer(mask), frame, output) }
}

/// Rows of a strip of [`separable_best_strips()`], and how many a thread loads before it uses the first. A row above or
/// below a strip costs half as much as one of its own, so that strips are longer than those of
/// [`conv2d`](crate::conv2d::best).
const fn strip(mask: usize, channels: usize) -> (usize, usize) {
    match (mask, channels) {
        (3, 1) => (6, 6),
        (3, _) => (4, 3),
        (5, 1) => (8, 4),
        (5, _) => (8, 3),
        (7, 1) => (8, 4),
        (7, _) => (8, 2),
        (9, _) => (10, 3),
        (13, _) => (14, 2),
        _ => (12, 1),
    }
}

/// Rows of the strips for this many taps and channels whose rows are unrolled, if there is a kernel for them.
pub const fn unrolled_rows(mask: u32, channels: u32, bytes: usize) -> Option<u32> {
    let exists = match (mask, channels) {
        (3 | 5 | 7, 3 | 4) | (3 | 5 | 7 | 9 | 13 | 17, 1) => bytes == 4,
        _ => false,
    };
    if exists { Some(strip(mask as usize, channels as usize).0 as u32) } else { None }
}

/// Registers of a thread of these kernels, without spills on any architecture. (H200, f32 of 8192 x 8192, us with 64,
/// 72, 96 and 128: 5 taps 138, 136, 135, 134; 9 taps 180, 152, 155, 146; 13 taps 294, 227, 174, 166.)
pub const fn registers_of_strips(mask: usize, channels: usize) -> u32 {
    match (mask, channels) {
        (3, 1) => 64,
        (3, _) => 72,
        (17, _) => 144,
        (_, 1) => 128,
        _ => 96,
    }
}

impl<T: Sample, const K: usize, const W: usize, const C: usize> Strip<T, K, W, C> for Outer<T, K> {
    const HEIGHT: usize = strip(K, C).0;
    const AHEAD: usize = strip(K, C).1;
}

/// The taps of a column and of a row.
struct Outer<T, const K: usize>([[T; K]; 2]);

impl<T: Sample, const K: usize, const W: usize, const C: usize> Taps<T, K, W, C> for Outer<T, K> {
    /// By the registers of a window, in vectors of 16 bytes.
    const ROWS: usize = match (2 * reach(K, W, C) / W + 1, W) {
        (0..=3, 8) if K > 3 || C > 2 => 2,
        (0..=3, _) => 4,
        (4..=7, _) => 2,
        _ => 1,
    };

    type Row = [T; W];

    #[inline(always)]
    fn row(&self, window: [T; WINDOW]) -> [T; W] {
        row_sums::<T, K, W, C>(&window, &self.0[1])
    }

    #[inline(always)]
    fn add(&self, across: &[T; W], i: usize, sums: &mut [T; W]) {
        add_times::<T, W>(sums, across, self.0[0][i]);
    }
}

/// The sums of one row of the image for the thread's outputs.
#[inline(always)]
fn row_sums<T: Sample, const K: usize, const W: usize, const C: usize>(window: &[T; WINDOW], row: &[T; K]) -> [T; W] {
    let mut across = [T::ZERO; W];
    unroll!(j < K => {
        let mut w = 0;
        while w < W {
            across[w] = window[reach(K, W, C) - K / 2 * C + j * C + w].mul_add(row[j], across[w]);
            w += 1;
        }
    });
    across
}

/// Adds the sums of one row times a tap of the column.
#[inline(always)]
fn add_times<T: Sample, const W: usize>(sums: &mut [T; W], across: &[T; W], tap: T) {
    let mut w = 0;
    while w < W {
        sums[w] = across[w].mul_add(tap, sums[w]);
        w += 1;
    }
}
