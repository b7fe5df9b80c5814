//! Elements of 1 and 2 bytes in small matrices, for which the tiles of [`narrow`](super::narrow) would leave most of a
//! device idle, and where rows are not whole words: an element per lane, and a tile of 32 x 32.
//!
//! All loads of a thread are in flight at once: past the edge the last element is loaded again and not used, since a
//! load that no branch guards can start at once.

use super::{ROWS, TILE, place_in_tile, tile_origin};
use crate::unroll::unroll;
use bytemuck::Pod;
use core::mem::MaybeUninit;
use cuda_std::{
    address_space, kernel,
    launch::{Instance, Scalar},
    thread,
};

/// Tiles of [`narrow`](super::narrow) per multiprocessor below which this kernel is the faster one, for elements of
/// this size, and rows and columns of whole words or others. (H200, us by `narrow` and by this kernel: u8 of 512 x 512
/// 5.5 and 4.2, 1024 x 1024 5.7 and 5.1, 2048 x 2048 7.0 and 9.2, 1023 x 1025 13.9 and 5.1, 2047 x 2049 15.6 and 9.1,
/// 4095 x 4097 24.3 and 28.1; u16 of 2047 x 2049 13.3 and 11.2, 4095 x 4097 41.1 and 41.0.)
pub const fn most_tiles(bytes: usize, whole: bool) -> u64 {
    if whole { 1 } else { 4 * (bytes * bytes) as u64 }
}

/// Elements of a thread.
const EACH: usize = (TILE / ROWS) as usize;

/// Elements from row to row of the tile: one more than its columns, so that those of a column are in different banks.
const PITCH: u32 = TILE + 1;

/// The tile.
#[address_space(shared)]
static mut ELEMENTS: [MaybeUninit<u16>; (TILE * PITCH) as usize] = [MaybeUninit::uninit(); (TILE * PITCH) as usize];

/// Transposes a row-major matrix of `rows` x `columns` elements into a row-major one of `columns` x `rows`.
///
/// # Safety
/// `input` and `output` have `rows * columns` elements, of which there are some, and do not overlap; `BLOCK` threads,
/// one block per tile of [`TILE`] x `TILE`.
#[kernel(for T in [u8, u16])]
pub unsafe fn transpose_small<T: Pod + Scalar + Instance>(input: &[T], rows: u32, columns: u32, output: *mut T) {
    let tile = (&raw mut ELEMENTS).cast::<T>();
    let (first_row, first_column) = tile_origin(columns, TILE);
    let (x, y) = place_in_tile();
    let column = (first_column + x).min(columns - 1);
    let mut elements = [T::zeroed(); EACH];
    unroll!(k < EACH => {
        let row = (first_row + y + k as u32 * ROWS).min(rows - 1);
        // SAFETY: the element is inside the matrix.
        elements[k] = unsafe { *input.get_unchecked(row as usize * columns as usize + column as usize) };
    });
    unroll!(k < EACH => {
        // SAFETY: a slot of the tile for each thread and `k`.
        unsafe { tile.add(((y + k as u32 * ROWS) * PITCH + x) as usize).write(elements[k]) };
    });
    thread::sync_threads(); // the tile is complete before any thread reads what others wrote
    unroll!(k < EACH => {
        let (row, column) = (first_row + x, first_column + y + k as u32 * ROWS);
        if row < rows && column < columns {
            // SAFETY: the element is inside the result, and its slot was written; no other thread has it.
            unsafe {
                let element = tile.add((x * PITCH + y + k as u32 * ROWS) as usize).read();
                output.add(column as usize * rows as usize + row as usize).write(element);
            }
        }
    });
}
