//! One thread per output: the tile in shared memory has no halo, and a thread reads elements beyond the tile from
//! device memory. Those are part of another block's tile, so they are usually found in the L2 or the L1 cache.
//!
//! No thread is idle, and the loads into the tile are aligned; but every tap needs a test for which of the two applies.

use super::{Frame, ROWS, TILE};
use crate::filter::Sample;
use core::mem::MaybeUninit;
use cuda_std::{address_space, kernel, thread};

/// The idea in one line.
pub const IDEA: &str = "a tile without its halo: no thread idles, and the halo comes from L1 and L2";

/// Shared memory with one element per thread.
#[address_space(shared)]
static mut ELEMENTS: [MaybeUninit<u64>; (TILE * ROWS) as usize] = [MaybeUninit::uninit(); (TILE * ROWS) as usize];

/// Convolves an image of `frame.rows` x `frame.columns` x `frame.channels` elements, row-major. The order of additions
/// is fixed, so the result is the same in every run; [`conv2d`](crate::conv2d) states the error bound.
///
/// # Safety
/// `input` and `output` are images of the frame, which has an element, and do not overlap; `mask` is the frame's
/// mask. Blocks of `TILE` x `ROWS` threads, one per output: along x columns, along y rows, along z channels.
#[kernel(for T in [f32, f64])]
pub unsafe fn conv2d_cached<T: Sample>(input: &[T], mask: &[T], frame: Frame, output: *mut T) {
    let elements = (&raw mut ELEMENTS).cast::<T>();
    let (x, y, channel) = (thread::thread_idx_x(), thread::thread_idx_y(), thread::block_idx_z());
    let (first_row, first_column) = (thread::block_idx_y() * ROWS, thread::block_idx_x() * TILE);
    let (row, column) = (first_row + y, first_column + x);
    let inside = row < frame.rows && column < frame.columns;
    if inside {
        // SAFETY: the element is inside the image; a slot per thread.
        unsafe {
            let element = *input.get_unchecked(frame.index(row, column, channel));
            elements.add((y * TILE + x) as usize).write(element);
        }
    }
    thread::sync_threads(); // the tile is complete before any thread reads what others loaded
    if !inside {
        return;
    }
    let (top, left) = frame.corner(row, column);
    // The tile's part of the image.
    let (height, width) = (ROWS.min(frame.rows - first_row), TILE.min(frame.columns - first_column));
    let mut sum = T::ZERO;
    let mut i = 0;
    while i < frame.mask_rows {
        let mut j = 0;
        while j < frame.mask_columns {
            let (row, column) = (top + i as i32, left + j as i32);
            let (y, x) = ((row - first_row as i32) as u32, (column - first_column as i32) as u32);
            // SAFETY: the slot was written, because it is inside the tile and the image; or guaranteed by the caller.
            let element = unsafe {
                match y < height && x < width {
                    true => elements.add((y * TILE + x) as usize).read(),
                    false => frame.element(input, row, column, channel),
                }
            };
            // SAFETY: the index is that of a tap of the mask.
            sum = element.mul_add(unsafe { *mask.get_unchecked((i * frame.mask_columns + j) as usize) }, sum);
            j += 1;
        }
        i += 1;
    }
    // SAFETY: the element is inside the image, and no other thread has this output.
    unsafe { output.add(frame.index(row, column, channel)).write(sum) };
}
