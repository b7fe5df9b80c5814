//! The rung to use: 16 bytes per lane on both sides of a larger tile, also where rows do not start on 16 bytes.
//!
//! - A tile has `SIDE` x `SIDE` elements (64 x 64 of 4 bytes, 32 x 32 of 8). Each thread has all its 16-byte loads in
//!   flight before it waits for the first.
//! - A vector's elements go to `W` slots of one row of the tile; the thread that writes a vector of the result gathers
//!   it from `W` rows. See `slot` for how neither has bank conflicts.
//! - Where a row of the matrix does not start on 16 bytes, or at the matrix's edge, elements are copied singly and
//!   asynchronously: all of a thread's copies are in flight, and none takes a register.
//! - Where rows of the result do not start on a sector of 32 bytes, a tile's part of each of them is shifted to the
//!   next sector: it is stored in vectors, and no sector is written by two blocks, which would make the cache merge
//!   halves. The tile has a few more rows for that, `halo`, which its neighbour reads, too. (H200, 4095 x 4097 f32:
//!   41.4 us; without the shift about 50, and 55.8 with elements moved one after the other through registers.)
//! - Tiles of a large matrix are taken down its columns: blocks that run at the same time write whole pages of a few
//!   rows of the result. (H200, 16384 x 16384 f64: 1055 us; along the rows 1134.)

use super::BLOCK;
use crate::unroll::unroll;
use bytemuck::Pod;
use core::mem::MaybeUninit;
use cuda_std::{
    address_space, kernel,
    launch::{Instance, Scalar},
    memory::{SharedAddress, Vector, copy_async, copy_async_commit, copy_async_wait},
    thread,
};

/// The idea in one line.
pub const IDEA: &str = "16 bytes per lane, a larger tile that is shifted to the result's sectors, no bank conflicts";

/// Rows and columns of a tile of elements of this size.
pub const fn side(bytes: usize) -> u32 {
    256 / bytes as u32
}

/// Bytes that the L2 cache writes as a unit.
const SECTOR: usize = 32;

/// Rows by which a tile's part of a row of the result is shifted at most.
const fn halo(bytes: usize) -> u32 {
    (SECTOR / bytes) as u32 - 1
}

/// Tiles of a matrix from which they are taken down the columns. Smaller ones stay in the L2 cache, and are faster
/// along the rows (H200, 1024 x 1024 f64: 8.0 us instead of 8.3).
// tune: 1024 2048 4096 8192
const MANY_TILES: u32 = 2048;

/// Index of an element in the tile. Vectors are `W` elements apart, so half a row of them fills the banks once, and the
/// other half would conflict with them, so it is shifted by half a vector. The same goes for columns, whose neighbours
/// are an odd pitch apart.
#[inline(always)]
const fn slot<const W: usize, const SIDE: u32>(row: u32, column: u32) -> usize {
    let (half, shift) = (SIDE / 2, W as u32 / 2);
    (row * ((SIDE + shift) | 1) + column + (row / half + column / half) * shift) as usize
}

/// Number of elements of this size that a tile has room for.
const fn slots(bytes: usize) -> usize {
    let (row, column) = (side(bytes) + halo(bytes) - 1, side(bytes) - 1);
    1 + if bytes == 4 { slot::<4, { side(4) }>(row, column) } else { slot::<2, { side(8) }>(row, column) }
}

/// The tile of 4-byte elements.
#[address_space(shared)]
static mut ELEMENTS: [MaybeUninit<u32>; slots(4)] = [MaybeUninit::uninit(); slots(4)];

/// The tile of 8-byte elements, which is half as large: that leaves more to the L1 cache, from which the ragged ends of
/// neighbouring rows are read.
#[address_space(shared)]
static mut WIDE_ELEMENTS: [MaybeUninit<u64>; slots(8)] = [MaybeUninit::uninit(); slots(8)];

/// Transposes a row-major matrix of `rows` x `columns` elements into a row-major one of `columns` x `rows`. Elements of
/// any type of 4 or 8 bytes are moved as integers; those of 1 and 2 bytes by [`narrow`](super::narrow).
///
/// # Safety
/// `input` and `output` have `rows * columns` elements and do not overlap; `BLOCK` threads, one block per tile.
#[kernel(for T in [u32, u64])]
pub unsafe fn transpose_best<T: Pod + Scalar + Instance>(input: &[T], rows: u32, columns: u32, output: *mut T) {
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
unsafe fn turn<T: Pod + Scalar, const W: usize, const SIDE: u32, const EACH: usize>(
    input: &[T],
    rows: u32,
    columns: u32,
    output: *mut T,
) {
    let tile = if const { size_of::<T>() == 4 } {
        (&raw mut ELEMENTS).cast::<T>()
    } else {
        (&raw mut WIDE_ELEMENTS).cast::<T>()
    };
    let (first_row, first_column) = origin(rows, columns, SIDE);
    let inside = first_row + SIDE <= rows && first_column + SIDE <= columns;
    // Rows of the result start on sectors.
    let straight = output.addr().is_multiple_of(SECTOR) && rows.is_multiple_of(halo(size_of::<T>()) + 1);
    let tid = thread::thread_idx_x();

    if inside && straight && input.as_ptr().addr().is_multiple_of(16) && columns.is_multiple_of(W as u32) {
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
        let (column, mut row) = (tid % SIDE, tid / SIDE);
        let below = rows.min(first_row + SIDE + if straight { 0 } else { halo(size_of::<T>()) }) - first_row;
        let mut at = (first_row + row) as usize * columns as usize + (first_column + column) as usize;
        while row < below && first_column + column < columns {
            // SAFETY: the element is inside the matrix and the tile, and each element has one slot.
            unsafe {
                let to = SharedAddress::of(tile.add(slot::<W, SIDE>(row, column)));
                copy_async(to, input.as_ptr().add(at));
            }
            row += BLOCK / SIDE;
            at += (BLOCK / SIDE) as usize * columns as usize;
        }
        copy_async_commit();
        copy_async_wait::<0>();
    }
    thread::sync_threads(); // the tile is complete before any thread reads what others wrote

    if inside && straight {
        let mut k = 0;
        while k < EACH {
            // A row of the result is a column of the tile.
            let (column, row) = place::<W, SIDE>(tid + k as u32 * BLOCK);
            // SAFETY: `W` rows of the tile, all of it written.
            let values = unsafe { gather::<T, W, SIDE>(tile, row, column) };
            let at = (first_column + column) as usize * rows as usize + (first_row + row) as usize;
            // SAFETY: the whole vector is inside a row of the result, on a boundary, and no other thread writes it.
            unsafe { values.store(output.add(at).cast()) };
            k += 1;
        }
        return;
    }
    unroll!(k < EACH => {
        let (column, row) = place::<W, SIDE>(tid + k as u32 * BLOCK);
        if first_column + column < columns {
            // SAFETY: a row of the result, and a vector's place in it.
            unsafe {
                let to = output.add((first_column + column) as usize * rows as usize);
                store_shifted::<T, W, SIDE>(tile, to, row, column, first_row, rows);
            }
        }
    });
}

/// Stores a vector of a column of the tile, shifted to the next sector of the row of the result that starts at `to`: in
/// parts at the end of the row. In the first tile, threads also store the elements before the row's first sector.
///
/// # Safety
/// The tile's rows are written as far as the matrix has them; each thread has a place of its own.
#[inline(always)]
unsafe fn store_shifted<T: Pod + Scalar, const W: usize, const SIDE: u32>(
    tile: *const T,
    to: *mut T,
    row: u32,
    column: u32,
    first_row: u32,
    rows: u32,
) {
    let (mask, end) = (halo(size_of::<T>()), rows - first_row);
    let shift = (to.addr() / size_of::<T>()).wrapping_neg() as u32 & mask;
    let (head, row) = (row / W as u32, row + shift);
    // SAFETY: elements that are inside the matrix were loaded; those before the first sector belong to the first tile
    // alone, and no other thread writes the same elements of the result.
    unsafe {
        let element = |row| to.add((first_row + row) as usize).write(tile.add(slot::<W, SIDE>(row, column)).read());
        if row + W as u32 <= end {
            gather::<T, W, SIDE>(tile, row, column).store(to.add((first_row + row) as usize).cast());
        } else {
            let mut j = row;
            while j < end {
                element(j);
                j += 1;
            }
        }
        if first_row == 0 && head < shift.min(end) {
            element(head);
        }
    }
}

/// The block's tile: its first row and column. The grid is one-dimensional, since only its first axis can have more
/// than 65535 blocks.
#[inline(always)]
pub(super) fn origin(rows: u32, columns: u32, side: u32) -> (u32, u32) {
    let (down, across) = (rows.div_ceil(side), columns.div_ceil(side));
    let (index, many) = (thread::block_idx_x(), thread::grid_dim_x() >= MANY_TILES);
    // There is no block if there is no column; without `max` the compiler would keep a panic for a division by 0.
    let length = if many { down } else { across }.max(1);
    let (line, place) = (index / length * side, index % length * side);
    if many { (place, line) } else { (line, place) }
}

/// `W` neighbours of a column of the tile.
///
/// # Safety
/// They are written, and nothing writes them at the same time.
#[inline(always)]
unsafe fn gather<T: Pod + Scalar, const W: usize, const SIDE: u32>(
    tile: *const T,
    row: u32,
    column: u32,
) -> Vector<T, W> {
    // SAFETY: the caller upholds this function's contract.
    Vector(core::array::from_fn(|j| unsafe { tile.add(slot::<W, SIDE>(row + j as u32, column)).read() }))
}

/// Row, and first column, of vector `i` of a tile.
#[inline(always)]
fn place<const W: usize, const SIDE: u32>(i: u32) -> (u32, u32) {
    let across = SIDE / W as u32;
    (i / across, i % across * W as u32)
}
