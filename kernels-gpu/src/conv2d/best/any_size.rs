//! The kernel for masks and images of any size: each thread computes a column of outputs from a tile in shared
//! memory.
//!
//! For one column of the mask, a thread has the elements under [`COLUMN`] outputs in registers. The next tap down needs
//! all but one of them again: a multiply-add per output takes one load of an element and one of a tap (the same for all
//! lanes) for every [`COLUMN`] of them. The registers form a ring; with the loop unrolled by the length of the ring no
//! values are moved.

use crate::conv2d::{Frame, Pixel};
use crate::filter::Sample;
use crate::number::{F16, Number};
use crate::unroll::unroll;
use cuda_std::{kernel, shared::dynamic_shared_mem, thread};

/// Threads across a block, and output columns of a tile.
pub const WIDTH: u32 = 32;

/// Rows of threads.
pub const ROWS: u32 = 4;

/// Outputs per thread, one below the other.
pub const COLUMN: u32 = 16;

/// Output rows of a tile.
pub const HEIGHT: u32 = ROWS * COLUMN;

/// Elements of shared memory for a mask of this size: the mask, and the tile with its halo.
pub const fn shared_elements(mask_rows: u32, mask_columns: u32) -> u32 {
    mask_rows * mask_columns + (HEIGHT + mask_rows - 1) * (WIDTH + mask_columns - 1)
}

/// Convolves an image of `frame.rows` x `frame.columns` x `frame.channels` elements, row-major. The order of additions
/// is fixed, so the result is the same in every run; [`conv2d`](crate::conv2d) states the error bound.
///
/// # Safety
/// `input` and `output` are images of the frame, which has an element, and do not overlap; `mask` is the frame's
/// mask. Blocks of `WIDTH` x `ROWS` threads with [`shared_elements`]: along x one per `WIDTH` columns, along y one per
/// `HEIGHT` rows, along z one per channel.
#[kernel(for P in [f32, f64, u8, F16])]
pub unsafe fn conv2d_best_any<P: Pixel>(
    input: &[<P as Pixel>::Bits],
    mask: &[<P as Pixel>::Tap],
    frame: Frame,
    output: *mut <P as Pixel>::Bits,
) {
    let (x, y, channel) = (thread::thread_idx_x(), thread::thread_idx_y(), thread::block_idx_z());
    let (first_row, first_column) = (thread::block_idx_y() * HEIGHT, thread::block_idx_x() * WIDTH);
    let taps = dynamic_shared_mem::<P::Tap>();
    // SAFETY: the launch gave room for the mask and the tile.
    let tile = unsafe { taps.add((frame.mask_rows * frame.mask_columns) as usize) };
    let pitch = WIDTH + frame.mask_columns - 1;

    let mut i = y * WIDTH + x;
    while i < frame.mask_rows * frame.mask_columns {
        // SAFETY: the index is that of a tap, which has a slot.
        unsafe { taps.add(i as usize).write(*mask.get_unchecked(i as usize)) };
        i += WIDTH * ROWS;
    }
    let (top, left) = frame.corner(first_row, first_column);
    let height = HEIGHT + frame.mask_rows - 1;
    let fits = |first: i32, count: u32, len: u32| first >= 0 && first as u32 + count <= len;
    let inside = fits(top, height, frame.rows) && fits(left, pitch, frame.columns);
    let mut r = y;
    while r < height {
        let mut c = x;
        while c < pitch {
            // SAFETY: the element is inside the image, or guaranteed by the caller; a slot for each place of the tile
            // and its halo.
            unsafe {
                let element = match inside {
                    true => Some(*input.get_unchecked(frame.index(top as u32 + r, left as u32 + c, channel))),
                    false => frame.bits(input, top + r as i32, left + c as i32, channel),
                };
                let element = element.map_or(P::Tap::ZERO, P::widen);
                tile.add((r * pitch + c) as usize).write(element);
            }
            c += WIDTH;
        }
        r += ROWS;
    }
    thread::sync_threads(); // mask and tile are complete before any thread reads what others loaded

    let mut sums = [P::Tap::ZERO; COLUMN as usize];
    let mut j = 0;
    while j < frame.mask_columns {
        // SAFETY: the first place of this thread's column of the tile, for this column of the mask; a tap.
        unsafe {
            let column = tile.add((y * COLUMN * pitch + x + j) as usize);
            add_column(&mut sums, column, pitch, taps.add(j as usize), frame.mask_columns, frame.mask_rows);
        }
        j += 1;
    }

    let (row, column) = (first_row + y * COLUMN, first_column + x);
    unroll!(r < COLUMN as usize => {
        if row + (r as u32) < frame.rows && column < frame.columns {
            // SAFETY: the element is inside the image, and no other thread has this output.
            unsafe { output.add(frame.index(row + r as u32, column, channel)).write(P::narrow(sums[r])) };
        }
    });
}

/// Adds the products of a column of the mask and a column of the tile. The column of the mask has `count` taps,
/// `across` apart; the rows of the tile are `pitch` apart.
///
/// # Safety
/// The column has `COLUMN + count - 1` rows and the mask's column `count`, at least one.
#[inline(always)]
unsafe fn add_column<T: Sample>(
    sums: &mut [T; COLUMN as usize],
    column: *const T,
    pitch: u32,
    taps: *const T,
    across: u32,
    count: u32,
) {
    // SAFETY: it is called with rows below `COLUMN + count - 1` only.
    let element = |row: u32| unsafe { column.add((row * pitch) as usize).read() };
    let mut ring = [T::ZERO; COLUMN as usize];
    unroll!(r < COLUMN as usize - 1 => { ring[r] = element(r as u32) });
    let mut i = 0;
    while i < count {
        unroll!(s < COLUMN as usize => {
            let tap = i + s as u32;
            if tap >= count {
                return;
            }
            // SAFETY: the index is that of a tap of this column of the mask.
            let tap = unsafe { taps.add((tap * across) as usize).read() };
            ring[(s + COLUMN as usize - 1) % COLUMN as usize] = element(i + s as u32 + COLUMN - 1);
            add_tap(sums, &ring, s, tap);
        });
        i += COLUMN;
    }
}

/// Adds one tap times the ring, whose first place is `first`.
#[inline(always)]
fn add_tap<T: Sample>(sums: &mut [T; COLUMN as usize], ring: &[T; COLUMN as usize], first: usize, tap: T) {
    unroll!(r < COLUMN as usize => {
        sums[r] = ring[(first + r) % COLUMN as usize].mul_add(tap, sums[r]);
    });
}
