//! A warp's part of a tile: `R` rows of `W` neighbouring elements for each lane, scanned in place. A lane that has only
//! neighbours has one long row.
//!
//! In a scan by key a lane takes the value of one below if no head is between them. A ballot of all lanes tells: no
//! head is shuffled.

use super::runs::{Runs, of_row};
use crate::operator::chunk::{self, Chunk};
use crate::operator::{Operator, Pod, shuffle};
use crate::reduce::WARP;
use crate::reduce::form::Form;
use crate::scan::collective::{lane_before, warp_scans};
use crate::unroll::unroll;
use cuda_std::warp;

/// The scan of a warp's part.
pub struct Part<T, const R: usize> {
    /// The value of the run before each of the thread's chunks, as far as the run is in the part.
    pub before: [T; R],
    /// Bit `r` is set if no head is between the start of the part and the chunk of row `r`.
    pub open: u32,
    /// The value from the last head of the part on.
    pub total: T,
    /// Whether the part has a head.
    pub has_head: bool,
}

impl<T: Pod, const R: usize> Part<T, R> {
    /// What is before each of the thread's chunks, if `carry` is before the part.
    #[inline(always)]
    pub fn after<O: Operator<T>>(&self, carry: T) -> [T; R] {
        let mut before = self.before;
        unroll!(row < R => {
            let whole = O::combine(carry, before[row]);
            before[row] = if self.open >> row & 1 != 0 { whole } else { before[row] };
        });
        before
    }
}

/// Scans the rows of a warp's part.
///
/// # Safety
/// All lanes of the warp call it together.
#[inline(always)]
pub unsafe fn scan_rows<O: Operator<T>, T: Pod, X: Runs, const W: usize, const R: usize>(
    chunks: &[[T; W]; R],
    heads: u64,
) -> Part<T, R> {
    let lane = warp::lane_id();
    let mut scans = [O::identity(); R];
    // The lanes with a head.
    let mut lanes = [0; R];
    // SAFETY: the caller upholds this function's contract.
    unsafe {
        unroll!(row < R => {
            scans[row] = chunk_total::<O, T, W>(&chunks[row], of_row::<W>(heads, row));
            if X::KEYED {
                lanes[row] = warp::ballot(warp::ALL, of_row::<W>(heads, row) != 0);
            }
        });
        scans = if X::KEYED { scan_runs::<O, T, R>(scans, &lanes) } else { warp_scans::<O, T, R>(scans) };

        let mut part = Part { before: [O::identity(); R], open: u32::MAX, total: O::identity(), has_head: false };
        if X::KEYED {
            part.open = 0;
        }
        unroll!(row < R => {
            let previous = lane_before::<O, T>(scans[row]);
            let whole = O::combine(part.total, previous);
            let continues = !X::KEYED || lanes[row] & below(lane) == 0;
            part.before[row] = if continues { whole } else { previous };
            if X::KEYED {
                part.open |= u32::from(continues && !part.has_head) << row;
            }
            let last = shuffle::idx(scans[row], WARP - 1);
            let whole = O::combine(part.total, last);
            let closed = X::KEYED && lanes[row] != 0;
            part.total = if closed { last } else { whole };
            part.has_head |= closed;
        });
        part
    }
}

/// Inclusive scans over the lanes, each of which ends at the nearest of its lanes with a head.
///
/// # Safety
/// All lanes of the warp call it together.
#[inline(always)]
unsafe fn scan_runs<O: Operator<T>, T: Pod, const R: usize>(mut values: [T; R], lanes: &[u32; R]) -> [T; R] {
    let lane = warp::lane_id();
    // The distance to the nearest lane with a head at or below this one, or to lane 0.
    let distance = lanes.map(|lanes| ((lanes | 1) << (WARP - 1 - lane)).leading_zeros());
    let mut delta = 1;
    while delta < WARP {
        let mut row = 0;
        while row < R {
            // SAFETY: the caller upholds this function's contract.
            let other = unsafe { shuffle::up(values[row], delta) };
            if delta <= distance[row] {
                values[row] = O::combine(other, values[row]);
            }
            row += 1;
        }
        delta *= 2;
    }
    values
}

/// The lanes below this one.
#[inline(always)]
const fn below(lane: u32) -> u32 {
    (1 << lane) - 1
}

/// The values of a chunk from its last head on, combined in order.
#[inline(always)]
fn chunk_total<O: Operator<T>, T: Pod, const W: usize>(chunk: &[T; W], heads: u32) -> T {
    let mut total = chunk[0];
    unroll!(k < W => {
        if k > 0 {
            total = step::<O, T>(total, chunk[k], heads >> k & 1 != 0);
        }
    });
    total
}

/// What `value` makes of a lane's chunk of each row, with all loads in flight at once.
///
/// # Safety
/// The chunks are there, of 8 bytes or a few times 16, on boundaries of 8 or 16; `first` is that of row 0.
#[inline(always)]
pub unsafe fn load_rows<T: Pod, const W: usize, const R: usize>(
    first: *const T,
    value: impl Fn([T; W]) -> [T; W],
) -> [[T; W]; R] {
    // SAFETY: the caller upholds this function's contract.
    core::array::from_fn(|row| value(unsafe { chunk::read(first.add(row * pitch::<W>())) }))
}

/// Whether the element `at` elements after `first` lies before the end at `len`.
///
/// Places from the start are numbers of 64 bits, which stay in registers from the loads to the stores: in a scan by
/// key, where registers are few, each place is compared with what is left.
#[inline(always)]
pub fn is_before<X: Runs>(len: usize, first: usize, at: usize) -> bool {
    if X::KEYED { at < len.saturating_sub(first) } else { first + at < len }
}

/// Writes a lane's chunk of each row: `first` is the place of that of row 0, and `inside` says that all of the tile
/// lies before the end at `len`.
///
/// # Safety
/// The elements before the end are the lane's.
#[inline(always)]
pub unsafe fn store_rows<T: Pod, X: Runs, const W: usize, const R: usize>(
    output: *mut T,
    first: usize,
    len: usize,
    inside: bool,
    chunk: impl Fn(usize) -> [T; W],
) {
    // These are unrolled by a macro: a loop that the optimiser keeps would place the chunks in local memory.
    // SAFETY: the caller upholds this function's contract; a tile inside begins on 16 bytes if the output does.
    unsafe {
        if inside && output.addr().is_multiple_of(16) {
            unroll!(row < R => { Chunk(chunk(row)).store(output.add(first + row * pitch::<W>()).cast()) });
        } else {
            unroll!(row < R => {
                let chunk = chunk(row);
                unroll!(k < W => {
                    let at = row * pitch::<W>() + k;
                    if is_before::<X>(len, first, at) {
                        output.add(first + at).write(chunk[k]);
                    }
                });
            });
        }
    }
}

/// The elements of the scan of a chunk that `before` precedes.
#[inline(always)]
pub fn scan_chunk<F: Form<T>, T: Pod, const W: usize>(
    mut chunk: [T; W],
    heads: u32,
    mut before: T,
    exclusive: u32,
) -> [T; W] {
    let mut at = |k: usize| {
        let head = heads >> k & 1 != 0;
        let after = step::<F::Operator, T>(before, chunk[k], head);
        let none = if head { F::Operator::identity() } else { before };
        chunk[k] = F::element(if exclusive != 0 { none } else { after });
        before = after;
    };
    unroll!(k < W => { at(k) });
    chunk
}

/// The value up to and with `next`, which is alone if it is a head.
#[inline(always)]
fn step<O: Operator<T>, T: Pod>(before: T, next: T, head: bool) -> T {
    let both = O::combine(before, next);
    if head { next } else { both }
}

/// Elements of a row.
#[inline(always)]
pub const fn pitch<const W: usize>() -> usize {
    WARP as usize * W
}

/// The first element of a warp's part in a tile.
#[inline(always)]
pub const fn first_of_warp<const W: usize, const R: usize>(warp: u32) -> usize {
    warp as usize * R * pitch::<W>()
}
