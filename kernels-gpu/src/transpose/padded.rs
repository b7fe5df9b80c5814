//! The tile of `tiled` with rows of 33 elements: element (r, c) lies in bank (33 r + c) mod 32 = (r + c) mod 32, so a
//! row and a column both spread over all banks.

use super::{TILE, tiled::through_tile};
use crate::number::Number;
use core::mem::MaybeUninit;
use cuda_std::{address_space, kernel};

/// The idea in one line.
pub const IDEA: &str = "one column more per row of the tile: no bank conflicts";

/// Elements from one row of the tile to the next.
pub const PITCH: u32 = TILE + 1;

#[address_space(shared)]
static mut ELEMENTS: [MaybeUninit<u64>; (TILE * PITCH) as usize] = [MaybeUninit::uninit(); (TILE * PITCH) as usize];

/// Transposes a row-major matrix of `rows` x `columns` elements into a row-major one of `columns` x `rows`.
///
/// # Safety
/// `input` and `output` have `rows * columns` elements and do not overlap; `BLOCK` threads, one block per tile.
#[kernel(for T in [f32, f64, i32, u32, i64, u64])]
pub unsafe fn transpose_padded<T: Number>(input: &[T], rows: u32, columns: u32, output: *mut T) {
    // SAFETY: the tile has room for `TILE` rows of `PITCH` elements of up to 8 bytes; the caller upholds the rest of
    // the contract.
    unsafe { through_tile::<T, PITCH>(input, rows, columns, output, (&raw mut ELEMENTS).cast()) };
}
