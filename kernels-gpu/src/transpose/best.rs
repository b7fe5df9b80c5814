//! The rung to use: 16 bytes per lane on both sides of a larger tile.
//!
//! - A tile has `SIDE` x `SIDE` elements (64 x 64 of 4 bytes, 32 x 32 of 8). Each thread has all its 16-byte loads in
//!   flight before it waits for the first.
//! - A vector's elements go to `W` slots of one row of the tile; the thread that writes a vector of the result gathers
//!   it from `W` rows. See `slot` for how neither has bank conflicts.
//! - Where a row of the matrix does not start on 16 bytes, or at the matrix's edge, elements are moved singly: the tile
//!   is the same.

use super::{BLOCK, tile_origin};
use crate::number::Number;
use core::mem::MaybeUninit;
use cuda_std::{address_space, kernel, memory::Vector, thread};

/// The idea in one line.
pub const IDEA: &str =
    "16 bytes per lane and a larger tile: four loads in flight, no bank conflicts for 8 bytes either";

/// Rows and columns of a tile of elements of this size.
pub const fn side(bytes: usize) -> u32 {
    256 / bytes as u32
}

/// Index of an element in the tile. Vectors are `W` elements apart, so half a row of them fills the banks once, and the
/// other half would conflict with them, so it is shifted by half a vector. The same goes for columns, whose neighbours
/// are an odd pitch apart.
#[inline(always)]
const fn slot<const W: usize, const SIDE: u32>(row: u32, column: u32) -> usize {
    let (half, shift) = (SIDE / 2, W as u32 / 2);
    (row * ((SIDE + shift) | 1) + column + (row / half + column / half) * shift) as usize
}

const SLOTS: usize = slot::<4, { side(4) }>(side(4) - 1, side(4) - 1) + 1;
const _: () = assert!(2 * (slot::<2, { side(8) }>(side(8) - 1, side(8) - 1) + 1) <= SLOTS);

/// 4-byte slots for the larger tile, which is that of 4-byte elements.
#[address_space(shared)]
static mut ELEMENTS: [MaybeUninit<u64>; SLOTS.div_ceil(2)] = [MaybeUninit::uninit(); SLOTS.div_ceil(2)];

/// Transposes a row-major matrix of `rows` x `columns` elements into a row-major one of `columns` x `rows`.
///
/// # Safety
/// `input` and `output` have `rows * columns` elements and do not overlap; `BLOCK` threads, one block per tile.
#[kernel(for T in [f32, f64, i32, u32, i64, u64])]
pub unsafe fn transpose_best<T: Number>(input: &[T], rows: u32, columns: u32, output: *mut T) {
    // SAFETY: the caller upholds this function's contract.
    unsafe {
        match size_of::<T>() {
            4 => turn::<T, 4, { side(4) }, { (side(4) * side(4) / 4 / BLOCK) as usize }>(input, rows, columns, output),
            _ => turn::<T, 2, { side(8) }, { (side(8) * side(8) / 2 / BLOCK) as usize }>(input, rows, columns, output),
        }
    }
}

/// Moves one tile of `SIDE` x `SIDE` elements, `W` to a vector, `EACH` vectors per thread.
///
/// # Safety
/// The requirements are those of [`transpose_best()`].
#[inline(always)]
unsafe fn turn<T: Number, const W: usize, const SIDE: u32, const EACH: usize>(
    input: &[T],
    rows: u32,
    columns: u32,
    output: *mut T,
) {
    let tile = (&raw mut ELEMENTS).cast::<T>();
    let (first_row, first_column) = tile_origin(columns, SIDE);
    let inside = first_row + SIDE <= rows && first_column + SIDE <= columns;
    let aligned = |address: usize, pitch: u32| address.is_multiple_of(16) && pitch.is_multiple_of(W as u32);
    let tid = thread::thread_idx_x();

    if inside && aligned(input.as_ptr().addr(), columns) {
        let mut round = [MaybeUninit::<Vector<T, W>>::uninit(); EACH];
        let mut k = 0;
        while k < EACH {
            let (row, column) = place::<W, SIDE>(tid + k as u32 * BLOCK);
            let at = (first_row + row) as usize * columns as usize + (first_column + column) as usize;
            // SAFETY: the whole vector is inside a row of the matrix, on a boundary.
            round[k].write(unsafe { Vector::load(input.as_ptr().add(at).cast()) });
            k += 1;
        }
        let mut k = 0;
        while k < EACH {
            let (row, column) = place::<W, SIDE>(tid + k as u32 * BLOCK);
            // SAFETY: written above.
            let Vector(values) = unsafe { round[k].assume_init() };
            let mut j = 0;
            while j < W {
                // SAFETY: the element is inside the tile, and each element has one slot.
                unsafe { tile.add(slot::<W, SIDE>(row, column + j as u32)).write(values[j]) };
                j += 1;
            }
            k += 1;
        }
    } else {
        let mut i = tid;
        while i < SIDE * SIDE {
            let (row, column) = (i / SIDE, i % SIDE);
            if first_row + row < rows && first_column + column < columns {
                let at = (first_row + row) as usize * columns as usize + (first_column + column) as usize;
                // SAFETY: the element is inside the matrix and the tile, and each element has one slot.
                unsafe { tile.add(slot::<W, SIDE>(row, column)).write(*input.get_unchecked(at)) };
            }
            i += BLOCK;
        }
    }
    thread::sync_threads(); // the tile is complete before any thread reads what others wrote

    if inside && aligned(output.addr(), rows) {
        let mut k = 0;
        while k < EACH {
            // A row of the result is a column of the tile.
            let (column, row) = place::<W, SIDE>(tid + k as u32 * BLOCK);
            // SAFETY: `W` rows of the tile, all of it written.
            let values = core::array::from_fn(|j| unsafe { tile.add(slot::<W, SIDE>(row + j as u32, column)).read() });
            let at = (first_column + column) as usize * rows as usize + (first_row + row) as usize;
            // SAFETY: the whole vector is inside a row of the result, on a boundary, and no other thread writes it.
            unsafe { Vector::<T, W>(values).store(output.add(at).cast()) };
            k += 1;
        }
    } else {
        let mut i = tid;
        while i < SIDE * SIDE {
            let (column, row) = (i / SIDE, i % SIDE);
            if first_row + row < rows && first_column + column < columns {
                let at = (first_column + column) as usize * rows as usize + (first_row + row) as usize;
                // SAFETY: the element is inside the result; this element of the tile was written, because it is inside
                // the matrix.
                unsafe { output.add(at).write(tile.add(slot::<W, SIDE>(row, column)).read()) };
            }
            i += BLOCK;
        }
    }
}

/// Row, and first column, of vector `i` of a tile.
#[inline(always)]
fn place<const W: usize, const SIDE: u32>(i: u32) -> (u32, u32) {
    let across = SIDE / W as u32;
    (i / across, i % across * W as u32)
}
