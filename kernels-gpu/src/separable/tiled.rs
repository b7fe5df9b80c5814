//! A tile of rows' sums in shared memory: a block filters the rows of its tile, and as many more as the column reaches,
//! and then the columns of these sums. Elements are read from the L1 cache as often as the row has taps.
//!
//! [`best`](super::best) uses this kernel for masks without one of its own.

use crate::conv2d::{Frame, MAX_MASK, Pixel};
use crate::number::{F16, Number};
use cuda_std::math::Float;
use cuda_std::{kernel, shared::dynamic_shared_mem, thread};

/// The idea in one line.
pub const IDEA: &str = "the sums of a tile's rows, and of its halo's, in shared memory: one launch";

/// Threads across a block, and output columns of a tile.
pub const WIDTH: u32 = 32;

/// Rows of threads.
pub const ROWS: u32 = 8;

/// Output rows of a tile.
pub const HEIGHT: u32 = 64;

/// Elements of shared memory for a column of this number of taps: the sums of the tile's rows, and of its halo's.
pub const fn shared_elements(mask_rows: u32) -> u32 {
    (HEIGHT + mask_rows - 1) * WIDTH
}
const _: () = assert!(shared_elements(MAX_MASK) * 8 <= 48 << 10);

/// Convolves an image of `frame.rows` x `frame.columns` x `frame.channels` elements, row-major, by a separable mask.
/// The order of additions is fixed, so the result is the same in every run; [`separable`](crate::separable) states the
/// error bound.
///
/// # Safety
/// `input` and `output` are images of the frame, which has an element, and do not overlap; `column` and `row` are as
/// many taps as the frame's mask has rows and columns. Blocks of `WIDTH` x `ROWS` threads with [`shared_elements`]:
/// along x one per `WIDTH` columns, along y one per `HEIGHT` rows, along z one per channel.
#[kernel(for P in [f32, f64, u8, F16])]
pub unsafe fn separable_tiled<P: Pixel>(
    input: &[<P as Pixel>::Bits],
    column: &[<P as Pixel>::Tap],
    row: &[<P as Pixel>::Tap],
    frame: Frame,
    output: *mut <P as Pixel>::Bits,
) {
    let (x, y, channel) = (thread::thread_idx_x(), thread::thread_idx_y(), thread::block_idx_z());
    let (first_row, first_column) = (thread::block_idx_y() * HEIGHT, thread::block_idx_x() * WIDTH);
    let sums = dynamic_shared_mem::<P::Tap>();
    let (top, left) = frame.corner(first_row, first_column + x);
    let mut r = y;
    while r < HEIGHT + frame.mask_rows - 1 {
        let (mut sum, mut j) = (P::Tap::ZERO, 0);
        while j < frame.mask_columns {
            // SAFETY: the caller upholds this function's contract; the index is that of a tap.
            unsafe {
                let element = frame.bits(input, top + r as i32, left + j as i32, channel);
                let element = element.map_or(P::Tap::ZERO, P::widen);
                sum = element.mul_add(*row.get_unchecked(j as usize), sum);
            }
            j += 1;
        }
        // SAFETY: a slot for each place of the tile and its halo of rows.
        unsafe { sums.add((r * WIDTH + x) as usize).write(sum) };
        r += ROWS;
    }
    thread::sync_threads(); // the sums are complete before any thread reads those of others

    let mut r = y;
    while r < HEIGHT {
        let (mut sum, mut i) = (P::Tap::ZERO, 0);
        while i < frame.mask_rows {
            // SAFETY: a slot of the tile and its halo; the index is that of a tap.
            unsafe {
                let element = sums.add(((r + i) * WIDTH + x) as usize).read();
                sum = element.mul_add(*column.get_unchecked(i as usize), sum);
            }
            i += 1;
        }
        if first_row + r < frame.rows && first_column + x < frame.columns {
            let at = frame.index(first_row + r, first_column + x, channel);
            // SAFETY: the element is inside the image, and no other thread has this output.
            unsafe { output.add(at).write(P::narrow(sum)) };
        }
        r += ROWS;
    }
}
