//! Copies a matrix so that its rows start at multiples of 128 bytes: tensor maps want 16, and copies of boxes with rows
//! of whole cache lines take half the time.

use crate::unroll::unroll;
use cuda_std::prelude::*;

/// Threads per block.
pub const BLOCK: u32 = 256;

/// Elements of a row of the matrix have to be a multiple of this for a map without a copy.
pub const UNIT: u32 = 8;

/// Elements of a row of the copy are a multiple of this.
pub const LINE: u32 = 64;

/// Copies `rows` rows of `columns` elements of 16 bits, and fills each with zeros up to a multiple of [`LINE`].
///
/// # Safety
/// Whole warps, any number of blocks; `from` has the rows, and `to` room for the longer ones, which overlap nothing.
#[kernel(launch_bounds(BLOCK))]
pub unsafe fn tensor_half_pad(from: *const u16, to: *mut u128, rows: u32, columns: u32) {
    let units = columns.next_multiple_of(LINE) / UNIT;
    let mut row = thread::block_idx_x();
    while row < rows {
        let (from, to) =
            (from.wrapping_add(row as usize * columns as usize), to.wrapping_add(row as usize * units as usize));
        let mut unit = thread::thread_idx_x();
        while unit < units {
            let mut bits = 0_u128;
            unroll!(i < UNIT as usize => {
                let at = unit * UNIT + i as u32;
                if at < columns {
                    // SAFETY: the element is inside the row.
                    let element = unsafe { *from.add(at as usize) };
                    bits |= u128::from(element) << (i * 16);
                }
            });
            // SAFETY: by contract there is room.
            unsafe { to.add(unit as usize).write(bits) };
            unit += thread::block_dim_x();
        }
        row += thread::grid_dim_x();
    }
}
