//! Copies of tiles of one factor into shared memory, where rows run along `x`, one per `k`, so that the main loop reads
//! neighbours.
//!
//! - Where neighbours in memory are neighbours in `x` (the factor lies as the tile does), a thread copies `W` of them
//!   at once.
//! - Where they are neighbours in `k`, the tile is turned on the way: eight lanes copy 32 bytes (f32: one sector) of a
//!   row, one element each, to eight rows of the tile. Rows of the tile have 16 bytes of padding, so that the 32
//!   elements of a warp's copy go to 32 banks.

use super::layout::{DEPTH, Run, SINCE_SM_90, kept, pitch, turned_rows};
use crate::matmul::{factor::Factor, side::Side};
use crate::unroll::unroll;
use cuda_std::memory::{SharedAddress, copy_async_if, copy_async_or_zero};
use cuda_std::misc::opaque;

/// A thread's share of every tile of one factor: `K` by `X` elements, `W` to a copy; `TURN` where neighbours lie along
/// `k`.
#[derive(Clone, Copy)]
pub struct Feed<T, const X: usize, const K: usize, const W: usize, const THREADS: usize, const TURN: bool> {
    /// The thread's first element of the next tile.
    from: *const T,
    /// Bytes from one of the thread's copies to the next.
    pass: usize,
    /// Bytes from a row of `k` to the next.
    along_k: usize,
    /// Bytes from a tile to the next.
    tile: usize,
    /// Destination in the first stage.
    to: SharedAddress,
    /// The thread's first `k` of each tile.
    k: usize,
}

impl<T: Factor, const X: usize, const K: usize, const W: usize, const THREADS: usize, const TURN: bool>
    Feed<T, X, K, W, THREADS, TURN>
{
    /// Elements of a copy.
    const WIDTH: usize = if TURN { 1 } else { W };
    /// Copies of a thread per tile.
    const COPIES: usize = X * K / Self::WIDTH / THREADS;
    /// Rows of `x` (turned) or of `k` that the block copies at once.
    const ROWS: usize = if TURN { turned_rows(THREADS) } else { THREADS * W / X };
    const FITS: () = assert!(
        if TURN {
            X.is_multiple_of(Self::ROWS) && K.is_multiple_of(DEPTH)
        } else {
            (THREADS * W).is_multiple_of(X) && K.is_multiple_of(Self::ROWS)
        },
        "every thread copies as much as the others"
    );

    /// Creates the thread's share of the tiles that start at `x`. Where all copies of a thread have the same row or
    /// column (see `least`), one beyond the factor is a copy of the last one.
    ///
    /// # Safety
    /// All threads of the block call it; `tile` is where this factor's part of the first stage starts. The factor has
    /// at least a copy's elements along `x` or, if the block's copies have several rows of a turned one, the whole
    /// tile's.
    #[inline(always)]
    pub unsafe fn new(side: &Side<'_, T>, x: usize, tid: usize, tile: SharedAddress) -> Self {
        const { Self::FITS };
        let (in_k, in_x) = if TURN { (tid % DEPTH, tid / DEPTH) } else { (tid * W / X, tid * W % X) };
        let x = if !TURN || X == turned_rows(THREADS) { (x + in_x).min(side.x - Self::WIDTH) } else { x + in_x };
        let to = (in_k * pitch(X) + in_x) * size_of::<T>();
        let bytes = side.pitch() * size_of::<T>();
        Self {
            from: side.address(x, in_k),
            pass: fixed(Self::ROWS * bytes),
            along_k: if TURN { size_of::<T>() } else { bytes },
            tile: if TURN { K * size_of::<T>() } else { fixed(K * bytes) },
            // SAFETY: all lanes of the warp reach this call.
            to: tile.add(unsafe { kept(to as u32) }),
            k: in_k,
        }
    }

    /// Starts part `part` of `parts` of the thread's copies of the next tile, if it is `there`, to the stage that
    /// begins `stage` bytes after the first.
    ///
    /// # Safety
    /// The tile is inside the factor if it is there, but for what [`Feed::new`] moves inside, and the stage is not in
    /// use.
    #[inline(always)]
    pub unsafe fn copy(&self, part: usize, parts: usize, stage: u32, there: bool) {
        unroll!(c < Self::COPIES => {
            if c * parts / Self::COPIES == part {
                let (from, to) = self.place(c);
                // SAFETY: the caller upholds this function's contract.
                unsafe {
                    if Self::WIDTH == 1 {
                        copy_async_if::<T>(self.to.add(stage + to), from, there);
                    } else {
                        copy_async_if::<Run<T, W>>(self.to.add(stage + to), from.cast(), there);
                    }
                }
            }
        });
    }

    /// Starts all copies of a tile that has `depth` rows only, and fills the others with zeros.
    ///
    /// # Safety
    /// These rows are inside the factor, and the first stage is not in use.
    #[inline(always)]
    pub unsafe fn copy_first(&self, depth: usize) {
        unroll!(c < Self::COPIES => {
            let (from, to) = self.place(c);
            let k = self.k + if TURN { c % (K / DEPTH) * DEPTH } else { c * Self::ROWS };
            // SAFETY: the caller upholds this function's contract, and rows outside are not read.
            unsafe {
                if Self::WIDTH == 1 {
                    copy_async_or_zero::<T>(self.to.add(to), from, k < depth);
                } else {
                    copy_async_or_zero::<Run<T, W>>(self.to.add(to), from.cast(), k < depth);
                }
            }
        });
    }

    /// Advances beyond the first tile, of this depth.
    #[inline(always)]
    pub fn advance_first(&mut self, depth: usize) {
        self.from = self.from.wrapping_byte_add(depth * self.along_k);
    }

    /// Advances to the next tile.
    #[inline(always)]
    pub fn advance(&mut self) {
        self.from = further(self.from, self.tile);
    }

    /// Source of copy `c`, and the distance in bytes of its destination from the thread's first.
    #[inline(always)]
    fn place(&self, c: usize) -> (*const T, u32) {
        let (pass, along, to) = if TURN {
            let (i, j) = (c / (K / DEPTH), c % (K / DEPTH) * DEPTH);
            (i, j, j * pitch(X) + i * Self::ROWS)
        } else {
            (c, 0, c * Self::ROWS * pitch(X))
        };
        let mut from = self.from;
        unroll!(i < Self::COPIES => {
            if i < pass {
                from = further(from, self.pass);
            }
        });
        (from.wrapping_add(along), (to * size_of::<T>()) as u32)
    }
}

/// The address that is `distance` bytes further. LLVM would multiply the distance instead of adding it again.
#[inline(always)]
fn further<T>(from: *const T, distance: usize) -> *const T {
    let to = from.wrapping_byte_add(distance);
    if SINCE_SM_90 { fixed(to.expose_provenance()) as *const T } else { to }
}

/// The same value, which LLVM does not compute anew in every round. Before sm_90 this does nothing.
#[inline(always)]
fn fixed(value: usize) -> usize {
    if SINCE_SM_90 { opaque(value as u64) as usize } else { value }
}
