//! Asynchronous copies of lines of a factor to a stage in shared memory, by a block or by a warp.

use super::Factor;
use super::layout::{UNIT, offset};
use crate::unroll::unroll;
use core::marker::PhantomData;
use cuda_std::memory::{SharedAddress, sm_80};
use cuda_std::prelude::*;

/// Threads per block.
pub const BLOCK: u32 = 256;

/// Bytes of the depth in a stage.
pub const ROW: u32 = 64;

/// Alignment of stages, so that units of a row lie in the banks that the swizzle means.
pub const ALIGNMENT: u32 = 128;

/// What one of `THREADS` threads, a block's or a warp's, copies of `LINES` lines of a factor, which lies across the
/// depth if `ACROSS`: units of 16 bytes, one column of them. Only with `ANY` can units start anywhere: around the
/// branch for them, ptxas moves the sums from registers to others.
pub struct Source<P, const ACROSS: bool, const LINES: u32, const ANY: bool, const THREADS: u32 = BLOCK> {
    /// The thread's first unit in the matrix.
    at: *const u8,
    /// Its offset in a stage.
    to: u32,
    /// Bytes of a row of the matrix.
    pitch: usize,
    /// Rows of the matrix from the thread's first on.
    rows: u32,
    /// Elements of a row from the first of the thread's unit on; 0 if there are none.
    columns: u32,
    /// Whether units start at multiples of 16 bytes.
    aligned: bool,
    precision: PhantomData<P>,
}

impl<P: Factor, const ACROSS: bool, const LINES: u32, const ANY: bool, const THREADS: u32>
    Source<P, ACROSS, LINES, ANY, THREADS>
{
    /// Rows of the matrix in a stage.
    const ROWS: u32 = if ACROSS { ROW / P::SIZE } else { LINES };

    /// Bytes of such a row, in shared memory.
    pub const PITCH: u32 = if ACROSS { LINES * P::SIZE } else { ROW };

    /// Units of such a row.
    const UNITS: u32 = Self::PITCH / UNIT;

    /// Rows from a thread's unit to its next.
    const NEXT: u32 = THREADS / Self::UNITS;

    /// Elements of a unit.
    const WIDTH: u32 = UNIT / P::SIZE;

    /// The part of this thread, for the lines from `line` on of a factor of `lines` by `depth`, whose rows are `pitch`
    /// elements apart.
    #[inline(always)]
    pub fn new(matrix: *const u8, line: u32, [lines, depth]: [u32; 2], pitch: u32, aligned: bool) -> Self {
        const { assert!(THREADS == BLOCK || THREADS == 32, "a block or a warp") };
        const { assert!(THREADS.is_multiple_of(Self::UNITS) && Self::ROWS.is_multiple_of(Self::NEXT)) };
        let tid = if THREADS == BLOCK { thread::thread_idx_x() } else { warp::lane_id() };
        let (row, unit) = (tid / Self::UNITS, tid % Self::UNITS);
        let turn = if ACROSS { P::turn(row) } else { row % 8 };
        let (first_row, first_column) = if ACROSS { (row, line) } else { (line + row, 0) };
        let [rows, columns] = if ACROSS { [depth, lines] } else { [lines, depth] };
        let (pitch, column) = (pitch as usize * size_of::<P::Bits>(), first_column + unit * Self::WIDTH);
        let start = first_row as usize * pitch + column as usize * size_of::<P::Bits>();
        Self {
            at: matrix.wrapping_add(start),
            to: offset(Self::PITCH, row, unit, turn),
            pitch,
            rows: rows.saturating_sub(first_row),
            columns: columns.saturating_sub(column),
            aligned,
            precision: PhantomData,
        }
    }

    /// Starts the copy of the elements of the depth from `k` on; units beyond the edges become zeros.
    ///
    /// # Safety
    /// The matrix has its elements, in rows of whole units; `stage` has room for [`Self::ROWS`] rows of
    /// [`Self::PITCH`] bytes, and no thread accesses it until the copies have been waited for.
    #[inline(always)]
    pub unsafe fn copy(&self, stage: SharedAddress, k: u32) {
        // What is left from the stage's first element of the depth on.
        let (row, column) = if ACROSS { (k, 0) } else { (0, k) };
        let (rows, columns) = (self.rows.saturating_sub(row), self.columns.saturating_sub(column));
        let from = self.at.wrapping_add(row as usize * self.pitch + column as usize * size_of::<P::Bits>());
        let to = stage.add(self.to);
        if !ANY || self.aligned {
            unroll!(i < (Self::ROWS / Self::NEXT) as usize => {
                let down = i as u32 * Self::NEXT;
                let from = from.wrapping_add(down as usize * self.pitch);
                // SAFETY: the caller upholds this function's contract; the unit is read only inside the matrix.
                unsafe { sm_80::copy(to.add(down * Self::PITCH), from, down < rows && columns > 0) };
            });
        } else {
            let mut down = 0;
            while down < Self::ROWS {
                let from = from.wrapping_add(down as usize * self.pitch);
                // SAFETY: as above.
                unsafe {
                    let bits = if down < rows && columns > 0 { unit::<P>(from) } else { [0; 2] };
                    to.add(down * Self::PITCH).store(bits);
                }
                down += Self::NEXT;
            }
        }
    }
}

/// Reads a unit element by element.
///
/// # Safety
/// Its elements are there.
#[inline(always)]
unsafe fn unit<P: Factor>(from: *const u8) -> [u64; 2] {
    let (mut halves, mut i) = ([0; 2], 0);
    while i < UNIT / P::SIZE {
        // SAFETY: the caller upholds this function's contract.
        let element: u32 = unsafe { *from.cast::<P::Bits>().add(i as usize) }.into();
        let bit = i * P::SIZE * 8;
        let placed = u64::from(element) << (bit % 64);
        if bit < 64 {
            halves[0] |= placed
        } else {
            halves[1] |= placed
        }
        i += 1;
    }
    halves
}
