//! Transposition in shared memory: a warp writes a row of the tile and reads a column of it, so that loads and stores
//! of device memory both run along rows.
//!
//! The tile has 32 columns and shared memory 32 banks: a column of 4-byte elements lies in one bank, and reading it
//! takes 32 wavefronts where one would do.

use super::{ROWS, TILE, place_in_tile, tile_origin};
use crate::number::Number;
use core::mem::MaybeUninit;
use cuda_std::{address_space, kernel, thread};

/// The idea in one line.
pub const IDEA: &str = "transposes a tile in shared memory: both sides coalesced, but 32-way bank conflicts";

/// Shared memory for one tile of elements of up to 8 bytes; the padded rung has one more column.
#[address_space(shared)]
static mut ELEMENTS: [MaybeUninit<u64>; (TILE * TILE) as usize] = [MaybeUninit::uninit(); (TILE * TILE) as usize];

/// Transposes a row-major matrix of `rows` x `columns` elements into a row-major one of `columns` x `rows`.
///
/// # Safety
/// `input` and `output` have `rows * columns` elements and do not overlap; `BLOCK` threads, one block per tile.
#[kernel(for T in [f32, f64, i32, u32, i64, u64])]
pub unsafe fn transpose_tiled<T: Number>(input: &[T], rows: u32, columns: u32, output: *mut T) {
    // SAFETY: the tile has room for `TILE` rows of `TILE` elements of up to 8 bytes; the caller upholds the rest of the
    // contract.
    unsafe { through_tile::<T, TILE>(input, rows, columns, output, (&raw mut ELEMENTS).cast()) };
}

/// Moves the block's tile through shared memory, where its rows are `PITCH` elements apart.
///
/// # Safety
/// `tile` has `TILE * PITCH` elements of shared memory; otherwise as [`transpose_tiled()`].
#[inline(always)]
pub(super) unsafe fn through_tile<T: Number, const PITCH: u32>(
    input: &[T],
    rows: u32,
    columns: u32,
    output: *mut T,
    tile: *mut T,
) {
    // SAFETY: the caller upholds this function's contract.
    unsafe { load_tile::<T, PITCH>(input, rows, columns, tile) };
    thread::sync_threads(); // the tile is complete before any thread reads what others wrote
    // SAFETY: likewise, and the tile is written.
    unsafe { store_tile::<T, PITCH>(tile, rows, columns, output) };
}

/// Fills the block's tile; what lies outside the matrix stays as it is.
///
/// # Safety
/// The requirements are those of [`through_tile`]; the tile is not read meanwhile.
#[inline(always)]
pub(super) unsafe fn load_tile<T: Number, const PITCH: u32>(input: &[T], rows: u32, columns: u32, tile: *mut T) {
    const { assert!(size_of::<T>() <= size_of::<u64>() && PITCH >= TILE) };
    let (first_row, first_column) = tile_origin(columns, TILE);
    let (x, y) = place_in_tile();
    let mut k = y;
    while k < TILE {
        let (row, column) = (first_row + k, first_column + x);
        if row < rows && column < columns {
            // SAFETY: the element is inside the matrix, and a slot of the tile for each thread and `k`.
            unsafe {
                let value = *input.get_unchecked(row as usize * columns as usize + column as usize);
                tile.add((k * PITCH + x) as usize).write(value);
            }
        }
        k += ROWS;
    }
}

/// Writes the block's tile to the result, its columns as rows.
///
/// # Safety
/// The requirements are those of [`through_tile`]; the tile is not written any more.
#[inline(always)]
pub(super) unsafe fn store_tile<T: Number, const PITCH: u32>(tile: *const T, rows: u32, columns: u32, output: *mut T) {
    let (first_row, first_column) = tile_origin(columns, TILE);
    let (x, y) = place_in_tile();
    let mut k = y;
    while k < TILE {
        let (row, column) = (first_row + x, first_column + k);
        if row < rows && column < columns {
            // SAFETY: this element of the tile was written, because it is inside the matrix; no other thread writes it
            // out.
            unsafe {
                let value = tile.add((x * PITCH + k) as usize).read();
                output.add(column as usize * rows as usize + row as usize).write(value);
            }
        }
        k += ROWS;
    }
}
