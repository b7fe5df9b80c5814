//! The padded tile, moved in 16-byte vectors: a lane loads four neighbours of a row (two of 8 bytes) in one
//! instruction, and stores as many of a row of the result. The same bytes take a quarter (half) of the requests.
//!
//! Shared memory is still accessed by single elements, since a vector's elements go to as many rows of the result. With
//! 33 elements from row to row, the 32 slots that a warp touches at once are `r + 4 q` for four rows and eight vectors:
//! a bank each. Elements of 8 bytes go in two halves of a warp, of 16 vectors of one row: those that are eight apart
//! conflict in one bank.
//!
//! Where rows don't start on 16-byte boundaries, elements are moved singly.

use super::{
    BLOCK, TILE,
    padded::PITCH,
    tile_origin,
    tiled::{load_tile, store_tile},
};
use crate::number::Number;
use core::mem::MaybeUninit;
use cuda_std::{address_space, kernel, memory::Vector, thread};

/// The idea in one line.
pub const IDEA: &str = "the padded tile, 16 bytes per lane from and to device memory: a quarter of the requests (f32)";

#[address_space(shared)]
static mut ELEMENTS: [MaybeUninit<u64>; (TILE * PITCH) as usize] = [MaybeUninit::uninit(); (TILE * PITCH) as usize];

/// Transposes a row-major matrix of `rows` x `columns` elements into a row-major one of `columns` x `rows`.
///
/// # Safety
/// `input` and `output` have `rows * columns` elements and do not overlap; `BLOCK` threads, one block per tile.
#[kernel(for T in [f32, f64, i32, u32, i64, u64])]
pub unsafe fn transpose_vectorised<T: Number>(input: &[T], rows: u32, columns: u32, output: *mut T) {
    // SAFETY: the caller upholds this function's contract.
    unsafe {
        match size_of::<T>() {
            4 => turn::<T, 4>(input, rows, columns, output),
            _ => turn::<T, 2>(input, rows, columns, output),
        }
    }
}

/// Moves the block's tile in vectors of `W` elements.
///
/// # Safety
/// The requirements are those of [`transpose_vectorised()`].
#[inline(always)]
unsafe fn turn<T: Number, const W: usize>(input: &[T], rows: u32, columns: u32, output: *mut T) {
    const { assert!(size_of::<T>() <= size_of::<u64>()) };
    let tile = (&raw mut ELEMENTS).cast::<T>();
    let (first_row, first_column) = tile_origin(columns, TILE);

    if rows_are_aligned::<W>(input.as_ptr().addr(), columns) {
        let mut i = thread::thread_idx_x();
        while i < TILE * TILE / W as u32 {
            let (r, c) = place::<W>(i);
            let (row, column) = (first_row + r, first_column + c);
            if row < rows && column < columns {
                // SAFETY: a row has whole vectors, so all of this one is inside the matrix, and on a boundary; each
                // element has one slot.
                unsafe {
                    let at = row as usize * columns as usize + column as usize;
                    let Vector(values) = Vector::<T, W>::load(input.as_ptr().add(at).cast());
                    let mut j = 0;
                    while j < W {
                        tile.add((r * PITCH + c) as usize + j).write(values[j]);
                        j += 1;
                    }
                }
            }
            i += BLOCK;
        }
    } else {
        // SAFETY: the tile has room for `TILE` rows of `PITCH` elements of up to 8 bytes; the caller upholds the rest
        // of the contract.
        unsafe { load_tile::<T, PITCH>(input, rows, columns, tile) };
    }
    thread::sync_threads(); // the tile is complete before any thread reads what others wrote

    if rows_are_aligned::<W>(output.addr(), rows) {
        let mut i = thread::thread_idx_x();
        while i < TILE * TILE / W as u32 {
            // A row of the result is a column of the tile.
            let (c, r) = place::<W>(i);
            let (row, column) = (first_row + r, first_column + c);
            if row < rows && column < columns {
                // SAFETY: as above: `W` rows of the tile that are inside the matrix, and a vector of the result, of
                // this thread alone.
                unsafe {
                    let values = core::array::from_fn(|j| tile.add(((r + j as u32) * PITCH + c) as usize).read());
                    let at = column as usize * rows as usize + row as usize;
                    Vector::<T, W>(values).store(output.add(at).cast());
                }
            }
            i += BLOCK;
        }
    } else {
        // SAFETY: the tile is written; the caller upholds the rest of the contract.
        unsafe { store_tile::<T, PITCH>(tile, rows, columns, output) };
    }
}

/// Whether every row of a matrix at this address, of this number of columns, starts on a boundary and consists of whole
/// vectors.
#[inline(always)]
fn rows_are_aligned<const W: usize>(address: usize, columns: u32) -> bool {
    address.is_multiple_of(16) && columns.is_multiple_of(W as u32)
}

/// Row, and first column, of vector `i` of a tile.
#[inline(always)]
fn place<const W: usize>(i: u32) -> (u32, u32) {
    let across = TILE / W as u32;
    (i / across, i % across * W as u32)
}
