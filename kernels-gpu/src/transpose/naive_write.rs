//! A warp reads down a column and writes 32 neighbours of a row.
//!
//! Now the loads are scattered. They cost less than scattered stores: a sector that was read for one element stays in
//! the cache for the seven others, which the neighbouring warps of the block read.

use super::{ROWS, TILE, place_in_tile, tile_origin};
use crate::number::Number;
use cuda_std::kernel;

/// The idea in one line.
pub const IDEA: &str = "coalesced stores, and loads down a column: 32 sectors per load";

/// Transposes a row-major matrix of `rows` x `columns` elements into a row-major one of `columns` x `rows`.
///
/// # Safety
/// `input` and `output` have `rows * columns` elements and do not overlap; `BLOCK` threads, one block per tile.
#[kernel(for T in [f32, f64, i32, u32, i64, u64])]
pub unsafe fn transpose_naive_write<T: Number>(input: &[T], rows: u32, columns: u32, output: *mut T) {
    let (first_row, first_column) = tile_origin(columns, TILE);
    let (x, y) = place_in_tile();
    let row = first_row + x;
    let mut k = y;
    while k < TILE {
        let column = first_column + k;
        if row < rows && column < columns {
            // SAFETY: the element is inside both matrices, and no other thread has this row and column.
            unsafe {
                let value = *input.get_unchecked(row as usize * columns as usize + column as usize);
                output.add(column as usize * rows as usize + row as usize).write(value);
            }
        }
        k += ROWS;
    }
}
