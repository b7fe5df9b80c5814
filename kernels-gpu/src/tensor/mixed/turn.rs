//! Copies matrices that lie across the depth into ones that lie along it, with rows of whole cache lines: tensor cores
//! read all factors but those of 16 bits along the depth only.

use super::pad::LINE;
use core::mem::MaybeUninit;
use cuda_std::prelude::*;

/// Threads per block: a warp copies a row of a tile at a time.
pub const BLOCK: u32 = 256;

/// Rows and columns of a tile.
pub const SIDE: u32 = 64;

/// Slots of a row of the tile, so that the elements of a column are in different banks.
const PITCH: u32 = SIDE + 1;

/// The tile, a word for each element.
#[address_space(shared)]
static mut ELEMENTS: [MaybeUninit<u32>; (SIDE * PITCH) as usize] = [MaybeUninit::uninit(); (SIDE * PITCH) as usize];

/// Writes the transposed of `count` matrices, `step` elements apart, of `rows` rows of `columns` elements, `from_pitch`
/// apart, to rows that are a multiple of [`LINE`] bytes long. The copies follow each other without gaps.
///
/// # Safety
/// [`BLOCK`] threads, any number of blocks; `from` has the elements, and `to` room for `columns` of the longer rows
/// for each, which overlap nothing.
#[kernel(for T in [u8, u32], launch_bounds(BLOCK))]
pub unsafe fn tensor_turn<T: Copy>(
    from: *const T,
    to: *mut T,
    count: u32,
    step: u64,
    rows: u32,
    columns: u32,
    from_pitch: u32,
) {
    let pitch = rows.next_multiple_of(LINE / size_of::<T>() as u32) as usize;
    let (down, across) = (rows.div_ceil(SIDE), columns.div_ceil(SIDE));
    let elements = (&raw mut ELEMENTS).cast::<u32>();
    let slot = |row: u32, column: u32| elements.wrapping_add((row * PITCH + column) as usize).cast::<T>();
    let (warp, lane) = (thread::thread_idx_x() / 32, thread::thread_idx_x() % 32);
    // Without `max` the compiler would keep panics for divisions by 0.
    let (each, across) = ((down * across).max(1), across.max(1));
    // No memory has 2^32 tiles.
    let mut index = thread::block_idx_x();
    while index < each * count {
        let (matrix, tile) = ((index / each) as usize, index % each);
        let (from, to) =
            (from.wrapping_add(matrix * step as usize), to.wrapping_add(matrix * columns as usize * pitch));
        let (first_row, first_column) = (tile / across * SIDE, tile % across * SIDE);
        let mut i = warp;
        while i < SIDE {
            let mut j = lane;
            while j < SIDE {
                let (row, column) = (first_row + i, first_column + j);
                if row < rows && column < columns {
                    // SAFETY: the element is inside the matrix, and the slot is this thread's.
                    unsafe { slot(i, j).write(*from.add(row as usize * from_pitch as usize + column as usize)) };
                }
                j += 32;
            }
            i += BLOCK / 32;
        }
        thread::sync_threads();
        let mut i = warp;
        while i < SIDE {
            let mut j = lane;
            while j < SIDE {
                let (row, column) = (first_column + i, first_row + j);
                if row < columns && column < rows {
                    // SAFETY: another thread has written the slot before the barrier; the place is this thread's.
                    unsafe { to.add(row as usize * pitch + column as usize).write(*slot(j, i)) };
                }
                j += 32;
            }
            i += BLOCK / 32;
        }
        thread::sync_threads();
        index += thread::grid_dim_x();
    }
}
