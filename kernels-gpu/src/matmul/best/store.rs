//! How a tile's sums become elements of the product. Those that are stored as they are, in whole runs of 16 bytes,
//! leave from the registers. All others go through shared memory, by one loop for whatever becomes of them:
//! neighbouring threads then store neighbouring elements, wherever rows start, and the code of 128 sums is there once.

use super::{engine::Engine, layout::pitch};
use crate::epilogue::{Epilogue, FINISHED};
use crate::matmul::{factor::Factor, outer::place};
use crate::unroll::unroll;
use cuda_std::{misc::opaque, thread};

/// Runs of which a thread loads the addends before it uses the first.
const AT_ONCE: usize = 2;

/// Equal parts of a tile's rows, each of which fits into a number of elements.
pub const fn parts([rows, columns]: [usize; 2], room: usize) -> usize {
    let mut parts = 1;
    while rows / parts * pitch(columns) > room {
        parts *= 2;
    }
    parts
}

/// A tile of the product, and what becomes of its sums.
#[derive(Clone, Copy)]
pub struct Target<T> {
    /// The product.
    pub c: *mut T,
    /// Elements from one of its rows, and of the addend's, to the next.
    pub pitch: u32,
    /// First row and column of the tile, which is moved inside the product, where it overlaps another one.
    pub first: [u32; 2],
    /// First row and column that this tile stores.
    pub own: [u32; 2],
    /// Rows and columns of the product.
    pub end: [u32; 2],
    /// Bits of [`crate::epilogue`].
    pub how: u32,
    /// What becomes of sums with [`FINISHED`].
    pub epilogue: Epilogue<T>,
}

/// A thread's part of a tile.
#[derive(Clone, Copy)]
pub struct Share {
    /// Row and column of its first sum in the tile.
    pub at: [usize; 2],
    /// Rows and columns that are neighbours.
    pub neighbours: [usize; 2],
    /// Whether it has sums.
    pub has_sums: bool,
}

impl<T: Factor> Target<T> {
    /// Whether rows of the product, and of the addend, consist of runs of 16 bytes on boundaries.
    #[inline(always)]
    fn is_wide(&self) -> bool {
        let whole = (self.end[1] | self.pitch).is_multiple_of(T::WIDTH as u32);
        whole && (self.c.addr() | self.epilogue.addend.addr()).is_multiple_of(16)
    }

    /// Whether sums are stored as they are, in runs of 16 bytes.
    #[inline(always)]
    pub fn takes_runs(&self, share: Share) -> bool {
        self.is_wide() && share.neighbours[1] == T::WIDTH && self.how & FINISHED == 0
    }

    /// Stores a tile of `BM` by `BN`, of which threads have `TM` by `TN`; `nothing` is that of
    /// [`store_runs`](Self::store_runs).
    ///
    /// # Safety
    /// The block's `THREADS` threads call it together; each sum of the tile belongs to one of them, and a warp's are in
    /// the same one of `parts` equal parts of the tile's rows. `shared` has room for such a part, in rows of [`pitch`],
    /// which is not in use once all threads are here. The product has room, and the epilogue its vectors and matrix;
    /// nothing else uses the rows and columns of this tile from `own` on.
    #[inline(always)]
    pub unsafe fn store<const BM: usize, const BN: usize, const TM: usize, const TN: usize, const THREADS: usize>(
        self,
        shared: *mut T,
        parts: usize,
        share: Share,
        nothing: u32,
        sums: &[[T; TN]; TM],
    ) {
        if self.takes_runs(share) {
            // SAFETY: the caller upholds this function's contract.
            return unsafe { self.store_runs(share, nothing, sums) };
        }
        let wide = self.is_wide();
        let rows = BM / parts;
        let mut part = 0;
        while part < parts {
            thread::sync_threads(); // separates reads of what was there before from the writes of this part
            if share.has_sums && share.at[0] / rows == part {
                unroll!(i < TM => {
                    let row = place(share.at[0], Engine::<T>::LANES[0], share.neighbours[0], i) % rows;
                    // SAFETY: the row is in the part, for which there is room.
                    unsafe { write_row(shared.wrapping_add(row * pitch(BN)), share, &moved(&sums[i], nothing)) };
                });
            }
            thread::sync_threads(); // the part is complete
            // SAFETY: the part is complete, and rows are made of runs where it says so; the caller upholds the rest.
            unsafe {
                if wide {
                    self.copy::<BN, THREADS, true>(shared, part * rows, rows);
                } else {
                    self.copy::<BN, THREADS, false>(shared, part * rows, rows);
                }
            }
            part += 1;
        }
    }

    /// Stores a thread's sums as they are, if it has any.
    ///
    /// A store of 16 bytes takes neighbouring registers. If they were those of the main loop, up to half of its
    /// multiply-adds would read three registers of one bank, and wait for the third. They are others if `nothing`,
    /// which is 0, is not a constant (see [`Factor::moved`]).
    ///
    /// # Safety
    /// The product [`takes_runs`](Self::takes_runs) and has room; no other thread writes these elements.
    #[inline(always)]
    pub unsafe fn store_runs<const TM: usize, const TN: usize>(self, share: Share, nothing: u32, sums: &[[T; TN]; TM]) {
        if !share.has_sums {
            return;
        }
        let [rows, columns] = Engine::<T>::LANES;
        let first = [0, 1].map(|side| self.first[side] as usize + share.at[side]);
        unroll!(i < TM => {
            let sums = moved(&sums[i], nothing);
            let row = place(first[0], rows, share.neighbours[0], i);
            if self.own[0] as usize <= row && row < self.end[0] as usize {
                let to = self.c.wrapping_add(row * self.pitch as usize);
                let own = [self.own[1], self.end[1]].map(|column| column as usize);
                // SAFETY: the row is inside the product; the caller upholds the rest of the contract.
                unsafe { write_runs(to, columns, first[1], own, &sums) };
            }
        });
    }

    /// Finishes and stores `rows` rows of the tile from `first` on.
    ///
    /// # Safety
    /// The rows are in `shared`; the block's `THREADS` threads call it together. If `WIDE`, rows of the product and of
    /// the addend are made of runs of 16 bytes. The product has room, and the epilogue its vectors and matrix.
    #[inline(always)]
    unsafe fn copy<const BN: usize, const THREADS: usize, const WIDE: bool>(
        self,
        shared: *const T,
        first: usize,
        rows: usize,
    ) {
        let width = if WIDE { T::WIDTH } else { 1 };
        let (across, [top, left]) = (BN / width, self.first.map(|first| first as usize));
        let mut index = thread::thread_idx_x() as usize;
        while index < rows * across {
            // Row and column in the product, of a run that is stored.
            let run = |i: usize| {
                let index = index + i * THREADS;
                let (row, column) = (top + first + index / across, left + index % across * width);
                let inside = |at: usize, side: usize| self.own[side] as usize <= at && at < self.end[side] as usize;
                (index < rows * across && inside(row, 0) && inside(column, 1)).then_some([row, column])
            };
            let mut addends = [[T::ZERO; 4]; AT_ONCE];
            unroll!(i < AT_ONCE => {
                if let Some(place) = run(i) {
                    let addend = self.epilogue.addend.cast_mut().cast::<T>();
                    if !addend.is_null() {
                        // SAFETY: the run is inside the product, and so is the addend's.
                        unsafe { load::<T, WIDE>(self.element(addend, place), &mut addends[i]) };
                    }
                }
            });
            let (mut i, runs) = (0, opaque(AT_ONCE as u64) as usize);
            while i < runs {
                if let Some(place) = run(i) {
                    let index = index + i * THREADS;
                    let from = shared.wrapping_add(index / across * pitch(BN) + index % across * width);
                    // SAFETY: the same, and the sums are there.
                    unsafe { self.finish::<WIDE>(place, from, &addends[0]) };
                }
                // Not unrolled, because LLVM does not know the end, so what may become of sums is there once; registers
                // have no index.
                addends = [addends[1], addends[0]];
                i += 1;
            }
            index += AT_ONCE * THREADS;
        }
    }

    /// Where an element of a matrix of the product's size is.
    #[inline(always)]
    fn element(self, matrix: *mut T, [row, column]: [usize; 2]) -> *mut T {
        matrix.wrapping_add(row * self.pitch as usize + column)
    }

    /// Finishes a run of sums, and stores it.
    ///
    /// # Safety
    /// The run is inside the product, its sums are at `from`, and the epilogue has its vectors; if `WIDE`, both lie on
    /// boundaries of 16 bytes.
    #[inline(always)]
    unsafe fn finish<const WIDE: bool>(self, [row, column]: [usize; 2], from: *const T, addends: &[T; 4]) {
        let (to, epilogue) = (self.element(self.c, [row, column]), self.epilogue);
        let mut sums = [T::ZERO; 4];
        // SAFETY: the caller upholds this function's contract.
        unsafe {
            load::<T, WIDE>(from, &mut sums);
            if self.how & FINISHED != 0 {
                let (scales, columns) = ([epilogue.row(row); 4], epilogue.columns(column, self.end[1] as usize));
                epilogue.finish(&mut sums, &scales, &columns, addends, self.how);
            }
            if WIDE {
                T::store_wide(to, &sums, 0);
            } else {
                to.write(sums[0]);
            }
        }
    }
}

/// Reads a run of 16 bytes if `WIDE`, else one element.
///
/// # Safety
/// The elements are there; if `WIDE`, they lie on a boundary of 16 bytes.
#[inline(always)]
unsafe fn load<T: Factor, const WIDE: bool>(from: *const T, to: &mut [T; 4]) {
    // SAFETY: the caller upholds this function's contract.
    unsafe {
        if WIDE {
            T::load_wide(from, to, 0);
        } else {
            to[0] = from.read();
        }
    }
}

/// [`Factor::moved`] of a row.
#[inline(always)]
fn moved<T: Factor, const TN: usize>(sums: &[T; TN], nothing: u32) -> [T; TN] {
    let mut others = *sums;
    unroll!(j < TN => {
        others[j] = sums[j].moved(nothing);
    });
    others
}

/// Writes runs of 16 bytes of a thread, `lanes` runs apart, to columns `own..end` of a row.
///
/// # Safety
/// Runs between `own` and `end` are inside the row, on boundaries; no other thread writes these columns.
#[inline(always)]
unsafe fn write_runs<T: Factor, const TN: usize>(
    row: *mut T,
    lanes: usize,
    column: usize,
    [own, end]: [usize; 2],
    sums: &[T; TN],
) {
    unroll!(run < TN / T::WIDTH => {
        let column = place(column, lanes, T::WIDTH, run * T::WIDTH);
        if own <= column && column < end {
            // SAFETY: the run is inside the row.
            unsafe { T::store_wide(row.add(column), sums, run * T::WIDTH) };
        }
    });
}

/// Writes a thread's sums of a row of the tile to that row in shared memory.
///
/// # Safety
/// There is room for the row, from a boundary of 16 bytes on; no other thread accesses these elements.
#[inline(always)]
unsafe fn write_row<T: Factor, const TN: usize>(row: *mut T, share: Share, sums: &[T; TN]) {
    let (first, lanes, neighbours) = (share.at[1], Engine::<T>::LANES[1], share.neighbours[1]);
    // SAFETY: the caller upholds this function's contract.
    unsafe {
        if neighbours == T::WIDTH {
            return write_runs(row, lanes, first, [0, usize::MAX], sums);
        }
        unroll!(j < TN => {
            row.add(place(first, lanes, neighbours, j)).write(sums[j]);
        });
    }
}
