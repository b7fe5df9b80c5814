//! One thread per element of the input tile: the block loads the neighbourhood of its outputs into shared memory, each
//! element once; then the threads outside the halo compute.
//!
//! A tap costs a load of shared memory instead of one through the caches: a tile of T x T outputs and a mask of K x K
//! load (T + K - 1)^2 elements instead of T^2 K^2. But the halo's threads are idle after the load: three of four with
//! 32 x 32 threads and K = 17.

use super::{Frame, MAX_MASK, TILE};
use crate::filter::Sample;
use core::mem::MaybeUninit;
use cuda_std::{address_space, kernel, thread};

/// The idea in one line.
pub const IDEA: &str = "one thread per element loads tile and halo into shared memory; halo threads then idle";

/// Threads of a block in each direction.
pub const SIDE: u32 = TILE;

const _: () = assert!(MAX_MASK <= SIDE);

/// Shared memory with one element per thread.
#[address_space(shared)]
static mut ELEMENTS: [MaybeUninit<u64>; (SIDE * SIDE) as usize] = [MaybeUninit::uninit(); (SIDE * SIDE) as usize];

/// Convolves an image of `frame.rows` x `frame.columns` x `frame.channels` elements, row-major. The order of additions
/// is fixed, so the result is the same in every run; [`conv2d`](crate::conv2d) states the error bound.
///
/// # Safety
/// `input` and `output` are images of the frame, which has an element, and do not overlap; `mask` is the frame's
/// mask. Blocks of `SIDE` x `SIDE` threads: along x and y one per tile of `SIDE - C + 1` columns and `SIDE - R + 1`
/// rows, along z one per channel.
#[kernel(for T in [f32, f64])]
pub unsafe fn conv2d_tiled<T: Sample>(input: &[T], mask: &[T], frame: Frame, output: *mut T) {
    let elements = (&raw mut ELEMENTS).cast::<T>();
    let (x, y, channel) = (thread::thread_idx_x(), thread::thread_idx_y(), thread::block_idx_z());
    let (width, height) = (SIDE + 1 - frame.mask_columns, SIDE + 1 - frame.mask_rows);
    // Thread (0, 0) of the tile loads the element under the mask's first tap for the tile's first output.
    let (row, column) = (thread::block_idx_y() * height + y, thread::block_idx_x() * width + x);
    let (top, left) = frame.corner(row, column);
    // SAFETY: the caller upholds this function's contract; a slot per thread.
    unsafe { elements.add((y * SIDE + x) as usize).write(frame.element(input, top, left, channel)) };
    thread::sync_threads(); // the tile is complete before any thread reads what others loaded

    if x >= width || y >= height || row >= frame.rows || column >= frame.columns {
        return;
    }
    let mut sum = T::ZERO;
    let mut i = 0;
    while i < frame.mask_rows {
        let mut j = 0;
        while j < frame.mask_columns {
            // SAFETY: `x + j < width + C - 1 = SIDE`, likewise `y + i`; and a tap of the mask.
            unsafe {
                let tap = *mask.get_unchecked((i * frame.mask_columns + j) as usize);
                sum = elements.add(((y + i) * SIDE + x + j) as usize).read().mul_add(tap, sum);
            }
            j += 1;
        }
        i += 1;
    }
    // SAFETY: the element is inside the image, and no other thread has this output.
    unsafe { output.add(frame.index(row, column, channel)).write(sum) };
}
