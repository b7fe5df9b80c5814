//! Copies a matrix so that its rows start at multiples of 16 bytes, as tensor maps want it.

use cuda_std::prelude::*;

/// Threads per block.
pub const BLOCK: u32 = 256;

/// Elements that fill 16 bytes: rows of the copy have a multiple of them.
pub const UNIT: u32 = 8;

/// Copies `rows` rows of `columns` elements of 16 bits, and fills each with zeros up to a multiple of [`UNIT`].
///
/// # Safety
/// Whole warps, any number of blocks; `from` has the rows, and `to` room for the longer ones, which overlap nothing.
#[kernel(launch_bounds(BLOCK))]
pub unsafe fn tensor_half_pad(from: *const u16, to: *mut u128, rows: u32, columns: u32) {
    // Without `max` the compiler would keep a panic for a division by 0.
    let units = columns.div_ceil(UNIT).max(1) as usize;
    let columns = columns as usize;
    let mut i = thread::global_index();
    while i < rows as usize * units {
        let (row, first) = (i / units, i % units * UNIT as usize);
        let mut bits = 0_u128;
        let mut at = 0;
        while at < UNIT as usize {
            if first + at < columns {
                // SAFETY: the element is inside the row.
                let element = unsafe { *from.add(row * columns + first + at) };
                bits |= u128::from(element) << (at * 16);
            }
            at += 1;
        }
        // SAFETY: by contract there is room.
        unsafe { to.add(i).write(bits) };
        i += thread::grid_stride();
    }
}
