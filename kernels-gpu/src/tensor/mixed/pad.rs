//! Copies matrices so that their rows start at multiples of 128 bytes: tensor maps want 16, and copies of boxes with
//! rows of whole cache lines take half the time.

use super::ring::ROW;
use crate::unroll::unroll;
use cuda_std::prelude::*;

/// Threads per block.
pub const BLOCK: u32 = 256;

/// Bytes of which a row of the matrix has to have a multiple for a map without a copy.
pub const UNIT: u32 = 16;

/// Bytes of which a row of the copy has a multiple.
pub const LINE: u32 = ROW;

/// Copies `count` matrices, `step` elements apart, of `rows` rows of `columns` elements, `pitch` apart, and fills each
/// row with zeros up to a multiple of [`LINE`] bytes. The copies follow each other without gaps.
///
/// # Safety
/// Whole warps, any number of blocks; `from` has the rows, and `to` room for the longer ones, which overlap nothing.
#[kernel(for T in [u8, u16, u32], launch_bounds(BLOCK))]
pub unsafe fn tensor_pad<T: Copy + Into<u32>>(
    from: *const T,
    to: *mut u128,
    count: u32,
    step: u64,
    rows: u32,
    columns: u32,
    pitch: u32,
) {
    // SAFETY: this kernel has the same contract.
    unsafe { copy_rows(from, to, [count, rows, columns], step, pitch) };
}

/// What [`tensor_pad`] does.
///
/// # Safety
/// That of [`tensor_pad`].
#[inline(always)]
pub unsafe fn copy_rows<T: Copy + Into<u32>>(
    from: *const T,
    to: *mut u128,
    [count, rows, columns]: [u32; 3],
    step: u64,
    pitch: u32,
) {
    let (size, width) = (size_of::<T>() as u32, UNIT / size_of::<T>() as u32);
    let units = columns.div_ceil(LINE / size) * (LINE / UNIT);
    // Without `max` the compiler would keep a panic for a division by 0.
    let each = (rows as usize).max(1);
    let mut row = thread::block_idx_x() as usize;
    while row < each * count as usize {
        let from = from.wrapping_add(row / each * step as usize + row % each * pitch as usize);
        let to = to.wrapping_add(row * units as usize);
        let mut unit = thread::thread_idx_x();
        while unit < units {
            let mut bits = 0_u128;
            unroll!(i < (UNIT as usize / size_of::<T>()) => {
                let at = unit * width + i as u32;
                if at < columns {
                    // SAFETY: the element is inside the row.
                    let element: u32 = unsafe { *from.add(at as usize) }.into();
                    bits |= u128::from(element) << (i * size_of::<T>() * 8);
                }
            });
            // SAFETY: by contract there is room.
            unsafe { to.add(unit as usize).write(bits) };
            unit += thread::block_dim_x();
        }
        row += thread::grid_dim_x() as usize;
    }
}
