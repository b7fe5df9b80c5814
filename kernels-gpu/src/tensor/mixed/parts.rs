//! The end of a product whose depth is divided: the blocks that have parts of a tile wait for each other, and each adds
//! the sums of all parts for its share of the tile.
//!
//! - A block writes its sums as they lie in registers, in units of 16 rows and 8 columns, which a warp writes by 16
//!   bytes of each lane; those beyond the edges of the product are left out.
//! - All blocks of the launch run at the same time, which a cooperative launch promises. They wait at a word for each
//!   tile, whose highest bit is the other one when all have arrived, and whose other bits are 0 again.
//! - Then they take turns with the units, an element for each thread, and add the parts in their order.
//!
//! A second launch for the sums takes 2.2 us more, and one block that adds those of all parts reads for longer.
//!
//! Source of the word: NVIDIA's cooperative groups (`grid.sync`).

use super::accumulator::{Accumulator, Sum};
use super::precision::Precision;
use super::problem::{Item, Problem};
use super::ring::{ROWS, WARPGROUPS};
use crate::unroll::unroll;
use cuda_std::atomic::{AtomicU32, Device, Ordering, fence};
use cuda_std::memory::{U32x4, Vector};
use cuda_std::prelude::*;

/// Threads that have sums, and wait for each other at [`BARRIER`].
const THREADS: u32 = WARPGROUPS * 128;

/// A barrier that nothing else uses.
const BARRIER: u32 = 1;

/// Rows and columns of a unit.
const UNIT_SIZE: [u32; 2] = [16, 8];

/// Sums of a unit: 4 of each lane.
const UNIT: u32 = UNIT_SIZE[0] * UNIT_SIZE[1];

/// Sums that a thread reads at once.
const AT_ONCE: usize = 32;

/// Number of parts up to which a thread reads those of several elements at once, and number of these.
const FEW: u32 = 8;
const UNITS: usize = 8;

/// The bit of a tile's word that says which round it is.
const ROUND: u32 = 1 << 31;

/// Number of sums of 32 bits for which a tile with these columns needs room, for each of its parts.
pub const fn room(columns: u32) -> u32 {
    ROWS * columns
}

/// Gives the sums of a part of a tile, and finishes a share of the tile's elements.
///
/// # Safety
/// All threads that multiply, of all blocks of a cooperative launch, call it once, each block for one item; `warp` is
/// the number of the thread's warp among those of its block. There is room for the sums and the product; the words have
/// been 0 before the first launch, and are used by one launch at a time.
#[inline(always)]
pub unsafe fn add_up<P: Precision, S: Accumulator<Sum = P::Sum>>(
    problem: &Problem<P>,
    sums: &S,
    item: &Item,
    warp: u32,
) {
    let (product, parts) = (&problem.product, problem.batch.count);
    // Units of the tile that have elements of the product, down and across.
    let [down, across] =
        [(product.m - item.row).div_ceil(UNIT_SIZE[0]), (product.n - item.column).div_ceil(UNIT_SIZE[1])];
    let [down, across] = [down.min(ROWS / UNIT_SIZE[0]), across.min(S::COLUMNS / UNIT_SIZE[1])];
    let tile = Tile {
        sums: problem.parts.sums.wrapping_add((item.tile * parts) as usize * room(S::COLUMNS) as usize).cast(),
        room: room(S::COLUMNS),
        parts,
        place: [item.row, item.column],
        units: [down, across],
    };
    if warp < down {
        unroll!(block < (S::COLUMNS / UNIT_SIZE[1]) as usize => {
            if (block as u32) < across {
                // SAFETY: there is room for the part, in which each lane of each warp has its places.
                unsafe { tile.give(sums, item.product, [warp, block as u32]) };
            }
        });
    }
    // SAFETY: the caller upholds this function's contract; all sums are there after the wait.
    unsafe {
        wait(problem.parts.words.wrapping_add(item.tile as usize), parts, item.product == 0);
        tile.finish::<P>(problem, item.product);
    }
}

/// Waits until the threads that multiply have arrived in the blocks of all parts of a tile; what they wrote before is
/// there after.
///
/// # Safety
/// Those threads call it, and the blocks run at the same time; `first` is true in one of them. `word` is the tile's.
#[inline(always)]
unsafe fn wait(word: *mut u32, parts: u32, first: bool) {
    let sync = || {
        // SAFETY: these threads are whole warps, and all of them are here.
        unsafe { thread::sync_some(BARRIER, THREADS) };
    };
    sync();
    if thread::thread_idx_x() == 128 {
        // SAFETY: every access to the word is one of these atomics.
        let word = unsafe { AtomicU32::from_ptr(word) };
        // Together the blocks add the bit of the round.
        let before = word.fetch_add(if first { ROUND - (parts - 1) } else { 1 }, Ordering::Release);
        while (before ^ word.load(Ordering::Relaxed)) & ROUND == 0 {}
        fence::<Device>(Ordering::Acquire);
    }
    sync();
}

/// A tile, whose depth is divided.
struct Tile<T> {
    /// The sums of the first part.
    sums: *mut T,
    /// Sums from one part to the next.
    room: u32,
    /// Number of parts.
    parts: u32,
    /// First row and column.
    place: [u32; 2],
    /// Units that have elements of the product, down and across.
    units: [u32; 2],
}

impl<T: Sum> Tile<T> {
    /// Where the sums of a unit start in a part.
    #[inline(always)]
    fn unit(&self, part: u32, number: u32) -> *mut T {
        self.sums.wrapping_add(part as usize * self.room as usize + (number * UNIT) as usize)
    }

    /// Writes the sums of a unit of the calling warp.
    ///
    /// # Safety
    /// There is room for the part.
    #[inline(always)]
    unsafe fn give<S: Accumulator<Sum = T>>(&self, sums: &S, part: u32, [down, across]: [u32; 2]) {
        let first = across as usize * 4;
        let of = |i: usize| sums.get(first + i).bits();
        let to = self.unit(part, down * self.units[1] + across).wrapping_add(warp::lane_id() as usize * 4);
        // SAFETY: the caller upholds this function's contract; the place is this lane's.
        unsafe { U32x4::store(Vector([of(0), of(1), of(2), of(3)]), to.cast()) };
    }

    /// Adds the parts of every element of this block's share, and finishes the sums.
    ///
    /// # Safety
    /// That of [`add_up`], after the sums of all parts are there.
    #[inline(always)]
    unsafe fn finish<P: Precision<Sum = T>>(&self, problem: &Problem<P>, part: u32) {
        let thread = thread::thread_idx_x() % 128;
        let (lane, of_lane) = (thread / 4, thread % 4);
        let [down, across] = self.units;
        let few = self.parts <= FEW;
        // Each warpgroup of each part takes a unit, and then others.
        let (all, step) = (down * across, self.parts * WARPGROUPS);
        let (mut unit, together) = (part * WARPGROUPS + thread::thread_idx_x() / 128 - 1, if few { UNITS } else { 1 });
        while unit < all {
            let mut sums = [T::ZERO; UNITS];
            // SAFETY: the caller upholds this function's contract.
            unsafe {
                if few {
                    self.add::<UNITS, { AT_ONCE / UNITS }>(&mut sums, [unit, step, thread]);
                } else {
                    self.add::<1, AT_ONCE>(&mut sums, [unit, step, thread]);
                }
            }
            let mut i = 0;
            // One loop around code that is there once; only the registers differ.
            while i < together && unit < all {
                let mut sum = T::ZERO;
                unroll!(known < UNITS => {
                    if known == i {
                        sum = sums[known];
                    }
                });
                // Without `max` the compiler would keep a panic for a division by 0.
                let (of_down, of_across) = (unit / across.max(1), unit % across.max(1));
                let row = self.place[0] + of_down * UNIT_SIZE[0] + lane / 4 + of_lane / 2 * 8;
                let column = self.place[1] + of_across * UNIT_SIZE[1] + lane % 4 * 2 + of_lane % 2;
                let product = &problem.product;
                if row < product.m && column < product.n {
                    // SAFETY: the element is inside the product, and this thread's.
                    unsafe { product.write::<P>([row, column], sum) };
                }
                (i, unit) = (i + 1, unit + step);
            }
        }
    }

    /// Adds the parts of one element in each of at most `N` units, from `first` on, which are `step` apart. It reads
    /// `EACH` parts at once.
    ///
    /// # Safety
    /// The sums are there.
    #[inline(always)]
    unsafe fn add<const N: usize, const EACH: usize>(&self, sums: &mut [T; UNITS], [first, step, thread]: [u32; 3]) {
        let all = self.units[0] * self.units[1];
        let mut part = 0;
        while part < self.parts {
            let mut of = [[T::ZERO; EACH]; N];
            unroll!(i < N => {
                let unit = first + i as u32 * step;
                if unit < all {
                    // SAFETY: the sums are there.
                    of[i] = unsafe { self.read(part, self.unit(part, unit).wrapping_add(thread as usize)) };
                }
            });
            unroll!(i < N => { sums[i] = total(sums[i], &of[i]) });
            part += EACH as u32;
        }
    }

    /// The sums of one element in `N` parts from `part` on; its sum in `part` is at `at`. Parts beyond the last one
    /// count as 0.
    ///
    /// # Safety
    /// The sums are there.
    #[inline(always)]
    unsafe fn read<const N: usize>(&self, part: u32, at: *const T) -> [T; N] {
        let mut of = [T::ZERO; N];
        unroll!(i < N => {
            if part + (i as u32) < self.parts {
                // SAFETY: the caller upholds this function's contract.
                of[i] = unsafe { *at.add(i * self.room as usize) };
            }
        });
        of
    }
}

/// Adds values in their order.
#[inline(always)]
fn total<T: Sum, const N: usize>(mut sum: T, values: &[T; N]) -> T {
    unroll!(i < N => { sum = sum.plus(values[i]) });
    sum
}
