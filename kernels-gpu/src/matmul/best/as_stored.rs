//! Tiles of one factor in shared memory as the factor is stored: in rows along `x` where neighbours in memory are
//! neighbours in `x`, else along `k`. Nothing is turned, so that all copies and all loads take 16 bytes.

use super::layout::{Run, pitch};
use crate::matmul::{factor::Factor, outer::runs, side::Side};
use crate::unroll::unroll;
use cuda_std::memory::{SharedAddress, copy_async_or_zero};

/// Rows and columns of a tile.
pub const X: usize = 32;
/// Depth of a tile.
pub const K: usize = 16;
/// Threads of a block: one warp.
pub const THREADS: usize = 32;
/// `k` that are loaded together: a run of 16 bytes where rows lie along `k`.
pub const TOGETHER: usize = 4;

/// A thread's share of every tile of one factor, with rows along `k` if `ALONG_K`.
#[derive(Clone, Copy)]
pub struct AsStored<'a, T, const ALONG_K: bool> {
    side: Side<'a, T>,
    /// The first row or column of the product.
    first: usize,
    tid: usize,
}

impl<'a, T: Factor, const ALONG_K: bool> AsStored<'a, T, ALONG_K> {
    /// Elements of a row of the tile.
    const ROW: usize = if ALONG_K { K } else { X };
    /// Elements of a tile in shared memory.
    pub const ELEMENTS: usize = X * K / Self::ROW * pitch(Self::ROW);
    /// Neighbouring rows or columns of the product that a thread has.
    pub const NEIGHBOURS: usize = if ALONG_K { 1 } else { TOGETHER };

    /// The share of thread `tid` of the tiles that start at row or column `first`.
    #[inline(always)]
    pub fn new(side: Side<'a, T>, first: usize, tid: usize) -> Self {
        const {
            assert!(T::WIDTH == TOGETHER, "a run along `k` is what is loaded together");
        }
        Self { side, first, tid }
    }

    /// Starts the copies of the tile that begins at `k`. Elements beyond the depth become zeros, rows and columns
    /// beyond the factor copies of its last one.
    ///
    /// # Safety
    /// The factor has elements, and the tile is not in use.
    #[inline(always)]
    pub unsafe fn copy(&self, k: usize, tile: *mut T) {
        // SAFETY: the caller upholds this function's contract.
        unsafe { if self.side.is_wide() { self.copy_in::<TOGETHER>(k, tile) } else { self.copy_in::<1>(k, tile) } };
    }

    /// Starts the copies, each of `W` elements.
    ///
    /// # Safety
    /// As for [`copy`](Self::copy); runs of `W` elements start on boundaries, and rows of the factor are made of them.
    #[inline(always)]
    unsafe fn copy_in<const W: usize>(&self, k: usize, tile: *mut T) {
        let Self { side, first, tid } = self;
        // SAFETY: the tile is shared memory.
        let (to, across) = (unsafe { SharedAddress::of(tile) }, Self::ROW / W);
        let mut run = *tid;
        // Not unrolled: the compiler would keep an address for each copy.
        while run < X * K / W {
            let (row, along) = (run / across, run % across * W);
            let to = to.add(((row * pitch(Self::ROW) + along) * size_of::<T>()) as u32);
            let (x, k) = if ALONG_K { (first + row, k + along) } else { (first + along, k + row) };
            let from = side.address(x.min(side.x - if ALONG_K { 1 } else { W }), k);
            // SAFETY: the run is inside the factor, or it is not read; the tile has room.
            unsafe { copy_async_or_zero::<Run<T, W>>(to, from.cast(), k < side.k) };
            run += THREADS;
        }
    }

    /// The thread's rows or columns of [`TOGETHER`] `k` from `k` on, for each of these `k`. The rows or columns of
    /// `lanes` threads follow each other from `first` on.
    ///
    /// # Safety
    /// The elements are inside the tile, complete, and not written meanwhile.
    #[inline(always)]
    pub unsafe fn load<const N: usize>(tile: *const T, k: usize, first: usize, lanes: usize) -> [[T; N]; TOGETHER] {
        let mut values = [[T::ZERO; N]; TOGETHER];
        if ALONG_K {
            unroll!(i < N => {
                let mut run = [T::ZERO; TOGETHER];
                // SAFETY: the caller upholds this function's contract; rows start on 16-byte boundaries.
                unsafe { T::load_wide(tile.add((first + i * lanes) * pitch(K) + k), &mut run, 0) };
                unroll!(j < TOGETHER => {
                    values[j][i] = run[j];
                });
            });
        } else {
            unroll!(j < TOGETHER => {
                // SAFETY: the caller upholds this function's contract.
                values[j] = unsafe { runs(tile.add((k + j) * pitch(X) + first), lanes) };
            });
        }
        values
    }
}
