//! What follows the main loop: the sums of the slices of a block, and of the parts of a tile that several blocks
//! compute, are added up.

use crate::matmul::factor::Factor;
use crate::reduce::collective::Sharing;
use crate::unroll::unroll;
use cuda_std::{thread, warp};

/// Adds the sums of all slices to those of slice 0: in rounds, in each of which the upper half of the slices that are
/// left gives its sums to the lower half.
///
/// # Safety
/// All threads of the block call it, and the shared memory, which has room for the sums of half of the slices, is not
/// in use.
#[inline(always)]
pub unsafe fn join<T: Factor, const TM: usize, const TN: usize, const SLICES: usize, const THREADS: usize>(
    shared: *mut T,
    slice: usize,
    tid: usize,
    sums: &mut [[T; TN]; TM],
) {
    let threads = THREADS / SLICES;
    let mut half = SLICES / 2;
    while half > 0 {
        if half <= slice && slice < 2 * half {
            unroll!(i < TM => {
                // SAFETY: each thread of the slice has a place for each of its sums; neighbouring threads have
                // neighbouring places.
                unsafe { write_row(sums_of::<T, TM, TN>(shared, slice - half, i, tid, threads), threads, &sums[i]) };
            });
        }
        thread::sync_threads(); // separates the writes of the upper half's sums from their reads
        if slice < half {
            unroll!(i < TM => {
                // SAFETY: written above by the thread of the same part of the tile.
                unsafe { add_row(sums_of::<T, TM, TN>(shared, slice, i, tid, threads), threads, &mut sums[i]) };
            });
        }
        half /= 2;
        if half > 0 {
            thread::sync_threads(); // separates the reads of these sums from the next round's writes
        }
    }
}

/// Where row `i` of a thread's sums lies in memory for the sums of several groups of threads: neighbouring threads have
/// neighbouring places.
#[inline(always)]
fn sums_of<T: Factor, const TM: usize, const TN: usize>(
    memory: *mut T,
    group: usize,
    i: usize,
    tid: usize,
    threads: usize,
) -> *mut T {
    memory.wrapping_add((group * TM + i) * TN * threads + tid)
}

/// How the depth of products is divided among blocks.
#[derive(Clone, Copy)]
pub struct Division<T> {
    /// Depth of a part.
    pub depth: u32,
    /// The first tiles, which are not divided: as many as fill the device a number of times. Parts of the others follow
    /// them, so that no multiprocessor waits for a whole tile of another one at the end.
    pub whole: u32,
    /// Room for the sums of every part of every tile that is divided, if there are several parts.
    pub sums: *mut T,
    /// A ticket for each tile that is divided, if there are several parts.
    pub tickets: *mut u32,
}

impl<T> Division<T> {
    /// The part of this block of a launch of products that are `k` deep, in tiles of `elements`.
    ///
    /// # Safety
    /// There are at least `whole` tiles; if there are several parts, `sums` and `tickets` for all tiles but these.
    #[inline(always)]
    pub unsafe fn parts(self, k: u32, block: u32, elements: usize) -> Parts<T> {
        if block < self.whole {
            let sharing = Sharing { pieces: 1, piece: 0, group: 0 };
            return Parts { tile: block, depth: k, sharing, sums: self.sums, tickets: self.tickets };
        }
        // A product without depth has one part.
        let sharing = Sharing::of(block - self.whole, k.div_ceil(self.depth.max(1)).max(1));
        let (group, count) = (sharing.group as usize, sharing.pieces as usize);
        let sums = self.sums.wrapping_add(group * count * elements);
        Parts { tile: self.whole + sharing.group, depth: self.depth, sharing, sums, tickets: self.tickets }
    }
}

/// The blocks that compute one tile, each from a part of the depth.
#[derive(Clone, Copy)]
pub struct Parts<T> {
    /// Number of the tile.
    pub tile: u32,
    /// Depth of a part.
    pub depth: u32,
    /// These blocks.
    pub sharing: Sharing,
    /// Room for the sums of each of them.
    pub sums: *mut T,
    /// A ticket for each tile that is divided.
    pub tickets: *mut u32,
}

impl<T: Factor> Parts<T> {
    /// Sums that a thread reads at a time.
    const TOGETHER: usize = 128 / size_of::<T>();

    /// Stores the sums of slice 0 and draws a ticket. In the block that draws the last one, slice 0 gets the sums of
    /// all parts, in an order that does not depend on which block is the last; all threads of the others get none.
    ///
    /// # Safety
    /// All threads of the block call it once, and the shared memory has room as for [`join`]; `sums` has room for
    /// the tile of each of them, and the tickets were 0 before the launch, which alone uses both.
    #[inline(always)]
    pub unsafe fn add_up<const TM: usize, const TN: usize, const SLICES: usize, const THREADS: usize>(
        self,
        shared: *mut T,
        slice: usize,
        tid: usize,
        sums: &[[T; TN]; TM],
    ) -> Option<[[T; TN]; TM]> {
        let (threads, own) = (THREADS / SLICES, self.sharing.piece as usize);
        if slice == 0 {
            unroll!(i < TM => {
                // SAFETY: there is room for this part, in which each thread of the slice has a place for each sum.
                unsafe { write_row(sums_of::<T, TM, TN>(self.sums, own, i, tid, threads), threads, &sums[i]) };
            });
        }
        thread::sync_threads(); // the part is complete before the ticket says so
        // SAFETY: the caller upholds this function's contract.
        if !unsafe { self.sharing.is_last(self.tickets) } {
            return None;
        }
        let mut all = [[T::ZERO; TN]; TM];
        let mut part = slice;
        while part < self.sharing.pieces as usize {
            unroll!(i < TM => {
                // SAFETY: every part is complete: its block has drawn a ticket before the last one.
                unsafe { add_row(sums_of::<T, TM, TN>(self.sums, part, i, tid, threads), threads, &mut all[i]) };
                // ptxas moves no load across it. All of them in flight would need more registers than there are.
                if (i + 1).is_multiple_of(Self::TOGETHER / TN) {
                    // SAFETY: the lanes of a warp belong to the same slice, which has the same parts.
                    unsafe { warp::sync_warp(u32::MAX) };
                }
            });
            part += SLICES;
        }
        // SAFETY: the caller upholds this function's contract, and all threads have left the shared memory.
        unsafe { join::<T, TM, TN, SLICES, THREADS>(shared, slice, tid, &mut all) };
        Some(all)
    }
}

/// Writes values `step` places apart.
///
/// # Safety
/// The places exist, and no other thread uses them.
#[inline(always)]
unsafe fn write_row<T: Factor, const N: usize>(to: *mut T, step: usize, values: &[T; N]) {
    unroll!(j < N => {
        // SAFETY: the caller upholds this function's contract.
        unsafe { to.add(j * step).write(values[j]) };
    });
}

/// Adds what [`write_row`] wrote.
///
/// # Safety
/// The values were written before, and they are not written meanwhile.
#[inline(always)]
unsafe fn add_row<T: Factor, const N: usize>(from: *const T, step: usize, sums: &mut [T; N]) {
    unroll!(j < N => {
        // SAFETY: the caller upholds this function's contract.
        sums[j] = sums[j].add(unsafe { from.add(j * step).read() });
    });
}
