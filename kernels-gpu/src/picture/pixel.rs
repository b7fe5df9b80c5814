//! One thread per pixel: a grid of two axes covers the picture. A picture of 76 x 62 pixels takes 5 x 4 blocks of 16 x
//! 16; their last four columns and two rows of threads have no pixel and return at once.
//!
//! A blur loads every byte of its window separately: (2 r + 1)^2 loads for each result.

use super::{Around, Blur, Grey, Op, Picture, Scale, inside};
use cuda_std::{kernel, thread};

/// The idea in one line.
pub const IDEA: &str = "one thread per pixel in blocks of 16 x 16: threads mapped to two axes, with ragged edges";

/// Applies operation `O` to a picture, row-major, height x width x channels. The result is exact.
///
/// # Safety
/// `input` is the picture and `output` has room for the result and does not overlap it. Blocks along x and y have a
/// thread per column and row.
#[kernel(for O in [Scale, Grey, Blur])]
pub unsafe fn picture_pixel<O: Op>(input: &[u8], picture: Picture, output: *mut u8) {
    let row = thread::block_idx_y() * thread::block_dim_y() + thread::thread_idx_y();
    let column = thread::block_idx_x() * thread::block_dim_x() + thread::thread_idx_x();
    if row >= picture.rows || column >= picture.columns {
        return;
    }
    let around = Pixel { input, picture, row, column };
    let channels = O::channels(picture.channels);
    let at = (row as usize * picture.columns as usize + column as usize) * channels as usize;
    let mut channel = 0;
    while channel < channels {
        // SAFETY: the element is inside the result, and no other thread has this pixel.
        unsafe { output.add(at + channel as usize).write(O::apply(&around, picture.amount, channel)) };
        channel += 1;
    }
}

/// A pixel in device memory.
struct Pixel<'a> {
    input: &'a [u8],
    picture: Picture,
    row: u32,
    column: u32,
}

impl Around for Pixel<'_> {
    #[inline(always)]
    fn channels(&self) -> u32 {
        self.picture.channels
    }
    #[inline(always)]
    fn byte(&self, down: i32, right: i32, channel: u32) -> u32 {
        let at = self.picture.index((self.row as i32 + down) as u32, (self.column as i32 + right) as u32);
        // SAFETY: by the trait's contract the pixel is inside the picture.
        u32::from(unsafe { *self.input.get_unchecked(at + channel as usize) })
    }
    #[inline(always)]
    fn inside(&self, reach: u32) -> [i32; 4] {
        let [above, below] = inside(self.row, self.picture.rows, reach);
        let [left, right] = inside(self.column, self.picture.columns, reach);
        [above, below, left, right]
    }
}
