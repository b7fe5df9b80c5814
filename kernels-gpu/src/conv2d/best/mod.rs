//! The rung to use: each thread moves down the image with 16 bytes of each row, and holds everything in registers.
//!
//! - A thread has 16 bytes of every row of its strip. It loads the part of each row under the masks of its outputs
//!   once, in 16-byte loads (smaller ones where a mask reaches no further than half a vector); its neighbours load the
//!   halo as well, from the L1 cache. It uses neither shared memory nor barriers.
//! - A row contributes to as many rows of outputs as the mask has. Each of them has a group of sums, and all groups are
//!   updated for each row; when the last row of the mask has been added, a group is written and the others move up. So
//!   an element is loaded once and used for a whole column of the mask, and the sums stay in registers.
//! - Several rows are loaded before the first is used, to keep enough loads in flight: see `rows_in_flight`.
//! - The mask is passed by value: its taps are operands in constant memory. [`any_size`] is the kernel for other sizes.
//! - At the border, and where rows don't start on 16 bytes, elements are loaded singly; the rest is the same.

use super::{Frame, MAX_MASK};
use crate::filter::{Sample, near_source};
use crate::unroll::unroll;
use cuda_std::{kernel, memory::Vector, thread};

pub mod any_size;

/// The idea in one line.
pub const IDEA: &str = "16 bytes of a row per thread, marching down: each element is loaded once for a column of taps";

/// Threads per block: neighbours in a row.
pub const BLOCK: u32 = 128;

/// Sides of the masks for which there is a kernel. Images must not be smaller than the mask.
pub const SIZES: [u32; 6] = [3, 5, 7, 9, 13, 17];

/// Columns of outputs per thread, of elements of this size.
pub const fn columns_per_thread(bytes: usize) -> u32 {
    16 / bytes as u32
}

/// Blocks that a multiprocessor of 65536 registers can run at once. Strips are long enough that all blocks run at once,
/// because a block more would run alone at the end. (H200, 4096 x 8192 f32, 5 x 5: 111 us with 672 blocks, of which 660
/// fit, 96 us with 528.)
pub const fn blocks_per_sm(mask: u32) -> u32 {
    match mask {
        3 => 8,
        5 | 7 => 5,
        9 | 13 => 4,
        _ => 3,
    }
}

/// Minimum number of rows of a strip.
pub const MIN_STRIP: u32 = 16;

/// Rows that a thread loads before it uses the first. Small masks are limited by memory latency; for large ones the
/// code would exceed the instruction cache, with K * K * 4 multiply-adds per row.
const fn rows_in_flight(mask: usize) -> usize {
    match mask {
        3 | 5 => 4,
        7 | 9 => 2,
        _ => 1,
    }
}

/// Rows of sums: the incomplete ones, and those that become complete while the rows in flight are added.
const GROUPS: usize = 17;
const _: () = {
    let mut k = 0;
    while k < SIZES.len() {
        let mask = SIZES[k] as usize;
        assert!(mask - 1 + rows_in_flight(mask) <= GROUPS && SIZES[k] <= MAX_MASK && mask % 2 == 1);
        k += 1;
    }
};

/// Maximum number of elements of a row that the outputs of a thread need, rounded up to whole vectors on both sides.
const WINDOW: usize = 20;

/// Convolves an image of `frame.rows` x `frame.columns` x `frame.channels` elements, row-major. The order of additions
/// is fixed, so the result is the same in every run; [`conv2d`](crate::conv2d) states the error bound.
///
/// # Safety
/// `input` and `output` are images of the frame, which are at least K x K, and do not overlap; its mask is K x K.
/// Blocks of `BLOCK` threads: along x a thread per `columns_per_thread`, along y a block per `strip` rows, along z one
/// per channel.
#[kernel(for T in [f32, f64], for K in [3, 5, 7, 9, 13, 17])]
pub unsafe fn conv2d_best<T: Sample, const K: usize>(
    input: &[T],
    mask: [[T; K]; K],
    frame: Frame,
    strip: u32,
    output: *mut T,
) {
    // SAFETY: the caller upholds this function's contract.
    unsafe {
        match size_of::<T>() {
            4 => march::<T, K, 4>(input, mask, frame, strip, output),
            _ => march::<T, K, 2>(input, mask, frame, strip, output),
        }
    }
}

/// Implements the kernel for vectors of `W` elements.
///
/// # Safety
/// The requirements are those of [`conv2d_best()`].
#[inline(always)]
unsafe fn march<T: Sample, const K: usize, const W: usize>(
    input: &[T],
    mask: [[T; K]; K],
    frame: Frame,
    strip: u32,
    output: *mut T,
) {
    let column = (thread::block_idx_x() * BLOCK + thread::thread_idx_x()) * W as u32;
    if column >= frame.columns {
        return;
    }
    let first = thread::block_idx_y() * strip;
    let end = frame.rows.min(first + strip) as i32;
    let first = first as i32;
    let place = Place::new::<T, K, W>(input, frame, column);
    let whole = place.stores_vectors::<T, W>(output);
    let half = (K / 2) as i32;

    let mut sums = [[T::ZERO; W]; GROUPS];
    let mut row = first - half;
    while row < end + half {
        let mut windows = [[T::ZERO; WINDOW]; 4];
        unroll!(u < rows_in_flight(K) => {
            // SAFETY: the caller upholds this function's contract.
            windows[u] = unsafe { place.load::<T, K, W>(input, row + u as i32) };
        });
        unroll!(u < rows_in_flight(K) => {
            unroll!(i < K => {
                add_row::<T, K, W>(&mut sums[u + K - 1 - i], &windows[u], &mask[i]);
            });
        });
        unroll!(u < rows_in_flight(K) => {
            let done = row + u as i32 - half;
            if done >= first && done < end {
                // SAFETY: this thread's columns of a row of the image, which no other thread writes.
                unsafe { place.store::<T, W>(output, done as u32, &sums[u], whole) };
            }
        });
        // The incomplete groups replace those that were written.
        unroll!(g < K - 1 => { sums[g] = sums[g + rows_in_flight(K)] });
        unroll!(u < rows_in_flight(K) => { sums[K - 1 + u] = [T::ZERO; W] });
        row += rows_in_flight(K) as i32;
    }
}

/// Adds the products of one row of the mask and one row of the image.
#[inline(always)]
fn add_row<T: Sample, const K: usize, const W: usize>(sums: &mut [T; W], window: &[T; WINDOW], taps: &[T; K]) {
    unroll!(j < K => {
        let mut w = 0;
        while w < W {
            sums[w] = window[reach(K, W) - K / 2 + j + w].mul_add(taps[j], sums[w]);
            w += 1;
        }
    });
}

/// Elements that a window has on either side of the thread's own: half a mask, rounded up to whole vectors.
const fn reach(mask: usize, vector: usize) -> usize {
    (mask / 2).div_ceil(vector) * vector
}

/// The places that a thread loads from and stores to.
struct Place {
    frame: Frame,
    column: u32,
    channel: u32,
    loads: Loads,
}

/// The way in which the window of a row can be loaded, which is the same for every row.
#[derive(Clone, Copy, PartialEq)]
enum Loads {
    /// The window is inside the image, whose rows all start on 16-byte boundaries.
    Vectors,
    /// The window is inside the image.
    Elements,
    /// A part of the window may be outside the image.
    Border,
}

impl Place {
    #[inline(always)]
    fn new<T: Sample, const K: usize, const W: usize>(input: &[T], frame: Frame, column: u32) -> Self {
        const { assert!(2 * reach(17, 4) + 4 <= WINDOW && 2 * reach(17, 2) + 2 <= WINDOW) };
        let (column_at, reach) = (column as i32, reach(K, W) as i32);
        let inside = |reach: i32| column_at - reach >= 0 && column_at + W as i32 + reach <= frame.columns as i32;
        let loads = match is_aligned(input.as_ptr(), frame, W) && inside(reach) {
            true => Loads::Vectors,
            false if inside((K / 2) as i32) => Loads::Elements,
            false => Loads::Border,
        };
        Self { frame, column, channel: thread::block_idx_z(), loads }
    }

    /// The part of a row under the masks of this thread's outputs. The row may be outside the image, by less than the
    /// image is high; elements further away are not used.
    ///
    /// # Safety
    /// `input` is the image that this place was made for.
    #[inline(always)]
    unsafe fn load<T: Sample, const K: usize, const W: usize>(&self, input: &[T], row: i32) -> [T; WINDOW] {
        let (frame, reach, half) = (self.frame, reach(K, W), K / 2);
        let mut window = [T::ZERO; WINDOW];
        let Some(row) = near_source(row, frame.rows, frame.border) else { return window };
        let start = frame.index(row, self.column, self.channel);
        match self.loads {
            Loads::Vectors => {
                let mut k = 0;
                while k < WINDOW / W {
                    if k * W < 2 * reach + W {
                        // SAFETY: the element is inside the image, on a boundary.
                        let values =
                            unsafe { Vector::<T, W>::load(input.as_ptr().add(start + k * W - reach).cast()).0 };
                        let mut w = 0;
                        while w < W {
                            window[k * W + w] = values[w];
                            w += 1;
                        }
                    }
                    k += 1;
                }
            }
            Loads::Elements => {
                let start = start - half * frame.channels as usize;
                unroll!(j < K - 1 + W => {
                    // SAFETY: the element is inside the image.
                    window[reach - half + j] = unsafe { *input.get_unchecked(start + j * frame.channels as usize) };
                });
            }
            Loads::Border => {
                unroll!(j < K - 1 + W => {
                    let column = (self.column + j as u32) as i32 - half as i32;
                    if let Some(column) = near_source(column, frame.columns, frame.border) {
                        // SAFETY: the element is inside the image.
                        let element = unsafe { *input.get_unchecked(frame.index(row, column, self.channel)) };
                        window[reach - half + j] = element;
                    }
                });
            }
        }
        window
    }

    /// Whether every row of the output can be stored in whole vectors.
    #[inline(always)]
    fn stores_vectors<T: Sample, const W: usize>(&self, output: *mut T) -> bool {
        is_aligned(output, self.frame, W) && self.column + W as u32 <= self.frame.columns
    }

    /// Writes this thread's part of a row.
    ///
    /// # Safety
    /// `output` is an image of this frame; no other thread writes these columns of this row.
    #[inline(always)]
    unsafe fn store<T: Sample, const W: usize>(&self, output: *mut T, row: u32, values: &[T; W], whole: bool) {
        let at = self.frame.index(row, self.column, self.channel);
        if whole {
            // SAFETY: the element is inside the image, on a boundary.
            unsafe {
                let (vector, at) = (Vector(*values), output.add(at).cast());
                match W {
                    4 => vector.store(at),
                    // A plain copy of two values is one instruction anyway, and does not constrain LLVM's choice of
                    // registers for the sums: with `store`, the f64 kernel of 13 x 13 takes 140 registers instead of
                    // 124, and a multiprocessor runs one block fewer.
                    _ => at.write(vector),
                }
            }
            return;
        }
        let mut w = 0;
        while w < W {
            if self.column + (w as u32) < self.frame.columns {
                // SAFETY: the element is inside the image.
                unsafe { output.add(at + w * self.frame.channels as usize).write(values[w]) };
            }
            w += 1;
        }
    }
}

/// Whether every row of an image at this address starts on a boundary for vectors of `width` neighbouring elements.
#[inline(always)]
fn is_aligned<T>(address: *const T, frame: Frame, width: usize) -> bool {
    address.addr().is_multiple_of(16) && frame.columns.is_multiple_of(width as u32) && frame.channels == 1
}
