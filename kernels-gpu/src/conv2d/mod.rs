//! Two-dimensional convolution: `out[y][x] = sum over i, j of in[y + i - R/2][x + j - C/2] * mask[i][j]`, for a mask of
//! R x C.
//!
//! The mask is not rotated (the operation is also called cross-correlation), and the result is as large as the image.
//! Images are height x width x channels, row-major, channels of a pixel side by side; every channel is filtered
//! separately. [`crate::filter`] defines the values of elements outside the image. [`Pixel`] lists the types of
//! elements: images of `u8` and `f16` have masks and sums of `f32`, and [`best`] only.
//!
//! The rungs: [`basic`] and [`constant`] read the image from device memory; [`tiled`] and [`cached`] use shared
//! memory; [`channels`] shares work between the channels of a pixel; [`best`].
//!
//! With `m` taps, a sum is within `m * epsilon * sum(|in * mask|)` of the exact one. Every rung adds in a fixed order
//! by fused multiply-adds, so its result is the same in every run.
//!
//! Sources: D. Kirk, W. Hwu, I. El Hajj, "Programming Massively Parallel Processors", chapter on convolution (`basic`
//! to `cached`); F. Iandola and others, "Communication-Minimizing 2D Convolution in GPU Registers" (ICIP 2013).

use crate::filter::{Sample, source};
use cuda_std::{launch::Scalar, thread};

pub mod basic;
pub mod best;
pub mod cached;
pub mod channels;
pub mod constant;
pub mod march;
mod pixel;
mod place;
pub mod taps;
pub mod tiled;
pub mod unrolled;

pub use pixel::{Pixel, width};

/// Threads across a block, and output columns of a tile.
pub const TILE: u32 = 32;

/// Rows of threads of a block, in the rungs with one thread per output.
pub const ROWS: u32 = 8;

/// Maximum number of rows and of columns of a mask: a halo and one output fit into the block of [`tiled`].
pub const MAX_MASK: u32 = 32;

/// The parameters of the convolution, which are the same for every thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Frame {
    /// Height of the image.
    pub rows: u32,
    /// Width of the image.
    pub columns: u32,
    /// Elements of a pixel.
    pub channels: u32,
    /// Height of the mask.
    pub mask_rows: u32,
    /// Width of the mask.
    pub mask_columns: u32,
    /// [`ZERO`](crate::filter::ZERO), [`CLAMP`](crate::filter::CLAMP) or [`MIRROR`](crate::filter::MIRROR).
    pub border: u32,
}

// SAFETY: six numbers of one size, without padding, laid out as written.
unsafe impl Scalar for Frame {}

impl Frame {
    /// Index of the element at this place in the image.
    #[inline(always)]
    pub fn index(&self, row: u32, column: u32, channel: u32) -> usize {
        (row as usize * self.columns as usize + column as usize) * self.channels as usize + channel as usize
    }

    /// The element at a place that may be outside the image.
    ///
    /// # Safety
    /// `input` is an image of this frame with at least one element, and `channel` one of its channels.
    #[inline(always)]
    pub unsafe fn element<T: Sample>(&self, input: &[T], row: i32, column: i32, channel: u32) -> T {
        match (source(row, self.rows, self.border), source(column, self.columns, self.border)) {
            // SAFETY: `source` gives places inside the image.
            (Some(row), Some(column)) => unsafe { *input.get_unchecked(self.index(row, column, channel)) },
            _ => T::ZERO,
        }
    }

    /// The element of an image of any type at a place, or `None` if that is outside the image and counts as 0.
    ///
    /// # Safety
    /// The requirements are those of [`Frame::element`].
    #[inline(always)]
    pub unsafe fn bits<T: Copy>(&self, input: &[T], row: i32, column: i32, channel: u32) -> Option<T> {
        let (row, column) = (source(row, self.rows, self.border)?, source(column, self.columns, self.border)?);
        // SAFETY: `source` gives places inside the image.
        Some(unsafe { *input.get_unchecked(self.index(row, column, channel)) })
    }

    /// The first row and column under the mask of an output.
    #[inline(always)]
    pub(crate) fn corner(&self, row: u32, column: u32) -> (i32, i32) {
        ((row as i32) - (self.mask_rows / 2) as i32, (column as i32) - (self.mask_columns / 2) as i32)
    }
}

/// The thread's row and column in a grid of one thread per output or per pixel.
#[inline(always)]
pub(crate) fn place() -> (u32, u32) {
    let row = thread::block_idx_y() * thread::block_dim_y() + thread::thread_idx_y();
    (row, thread::block_idx_x() * thread::block_dim_x() + thread::thread_idx_x())
}
