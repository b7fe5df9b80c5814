//! How the product leaves the registers: through boxes in shared memory.

use super::accumulator::{Accumulator, Sum};
use super::precision::Precision;
use super::problem::{BY_ELEMENTS, Problem, Product, WIDE};
use super::ring::{COPIES, COPY_ROWS, ROW, Ring};
use crate::epilogue::FINISHED;
use crate::unroll::unroll;
use cuda_std::memory::{SharedAddress, fence_copies, wait_copies_read};
use cuda_std::prelude::*;

/// Columns of a box of elements of 16 bits; of 32 bits there are half as many.
const COLUMNS: u32 = 64;

/// Stores a warp's 16 rows.
///
/// # Safety
/// The whole warp calls it; `warp` is its number among those that multiply, and `copy` that of its room. The product,
/// which has this number, has room.
#[inline(always)]
pub unsafe fn store<P: Precision, S: Accumulator<Sum = P::Sum>>(
    problem: &Problem<P>,
    sums: &S,
    ring: Ring<S>,
    warp: u32,
    copy: &mut u32,
    [column, row, number]: [u32; 3],
) {
    let lane = warp::lane_id();
    let product = &problem.product.moved(u64::from(number) * problem.batch.steps[2]);
    let finished = product.how & FINISHED != 0;
    let wide = P::WIDE || finished || product.how & WIDE != 0;
    let across = if wide { COLUMNS / 2 } else { COLUMNS };
    let mut part = 0;
    // One loop around code that is there once for all boxes; only the registers differ.
    while part * across < S::COLUMNS {
        let place = [column + part * across, row];
        // SAFETY: the caller upholds this function's contract, and each box is written by the whole warp.
        unsafe {
            let room = room(ring, warp, copy, lane);
            if wide {
                unroll!(known < (2 * S::COLUMNS / COLUMNS) as usize => {
                    if known as u32 == part {
                        write_wide(sums, known * 16, room, lane);
                    }
                });
            } else {
                unroll!(known < (S::COLUMNS / COLUMNS) as usize => {
                    if known as u32 == part {
                        write_narrow::<P, S>(sums, known * 32, room, lane);
                    }
                });
            }
            if finished {
                warp::sync_warp(warp::ALL);
                finish::<P>(product, room, place, lane);
            } else {
                put(problem, product, room, [place[0], place[1], number], lane);
            }
        }
        part += 1;
    }
}

/// The next room for a box, which the last store from it has read.
///
/// # Safety
/// The whole warp calls it, as for [`store`].
#[inline(always)]
unsafe fn room<S: Accumulator>(ring: Ring<S>, warp: u32, copy: &mut u32, lane: u32) -> SharedAddress {
    let room = ring.store(warp * COPIES + *copy);
    *copy = (*copy + 1) % COPIES;
    if lane == 0 {
        wait_copies_read::<{ COPIES - 1 }>();
    }
    // SAFETY: the whole warp is here.
    unsafe { warp::sync_warp(warp::ALL) };
    room
}

/// Writes the box of the elements from `first` on, rounded to 16 bits, in the order of a swizzle of 128 bytes.
///
/// # Safety
/// The whole warp calls it, and no lane reads the room.
#[inline(always)]
unsafe fn write_narrow<P: Precision, S: Accumulator<Sum = P::Sum>>(
    sums: &S,
    first: usize,
    room: SharedAddress,
    lane: u32,
) {
    let row = room.add(lane % 16 * ROW);
    unroll!(run < 4 => {
        let at = first + run * 8;
        let pair = |i: usize| P::pack(sums.get(at + i).float(), sums.get(at + i + 1).float());
        let place = (run as u32 * 2 + lane / 16) ^ (lane % 8);
        // SAFETY: the caller upholds this function's contract.
        unsafe { row.add(place * 16).store_matrices([pair(0), pair(2), pair(4), pair(6)]) };
    });
}

/// Writes the box of the elements from `first` on, of 32 bits, in the order of a swizzle of 128 bytes.
///
/// # Safety
/// As for [`write_narrow`].
#[inline(always)]
unsafe fn write_wide<S: Accumulator>(sums: &S, first: usize, room: SharedAddress, lane: u32) {
    let (group, within) = (lane / 4, lane % 4);
    let row = room.add(group * ROW + within % 2 * 8);
    unroll!(block < 4 => {
        let at = first + block * 4;
        let pair = |i: usize| u64::from(sums.get(at + i).bits()) | u64::from(sums.get(at + i + 1).bits()) << 32;
        let place = (block as u32 * 2 + within / 2) ^ group;
        // SAFETY: the caller upholds this function's contract; the second pair is eight rows below.
        unsafe {
            row.add(place * 16).store(pair(0));
            row.add(place * 16 + 8 * ROW).store(pair(2));
        }
    });
}

/// Stores a box of the product with this number: by the map of C, or element by element, if the map cannot.
///
/// # Safety
/// The whole warp calls it after it has written the box.
#[inline(always)]
unsafe fn put<P>(
    problem: &Problem<P>,
    product: &Product,
    room: SharedAddress,
    [column, row, number]: [u32; 3],
    lane: u32,
) {
    // SAFETY: the caller upholds this function's contract.
    unsafe {
        if product.how & BY_ELEMENTS == 0 {
            fence_copies();
            warp::sync_warp(warp::ALL);
            if lane == 0 {
                problem.c.copy_out(room, [column, row, number]);
            }
        } else {
            warp::sync_warp(warp::ALL);
            copy_elements(product, room, [column, row], lane);
        }
    }
}

/// Copies a box from shared memory to the product, four bytes of each row by each lane.
///
/// # Safety
/// The whole warp calls it; the box is there, and there is room for the product.
#[inline(always)]
pub unsafe fn copy_elements(product: &Product, room: SharedAddress, [column, first]: [u32; 2], lane: u32) {
    let wide = product.how & WIDE != 0;
    let column = column + if wide { lane } else { lane * 2 };
    let mut i = 0;
    while i < COPY_ROWS {
        let (row, place) = (first + i, (lane / 4) ^ (i % 8));
        let index = product.index([row, column]);
        // SAFETY: the four bytes are in the box; the elements are inside the product.
        unsafe {
            let bits = room.add(i * ROW + place * 16 + lane % 4 * 4).load::<u32>();
            if row < product.m && column < product.n {
                if wide {
                    product.out.cast::<u32>().add(index).write(bits);
                } else {
                    product.out.cast::<u16>().add(index).write(bits as u16);
                }
            }
            if !wide && row < product.m && column + 1 < product.n {
                product.out.cast::<u16>().add(index + 1).write((bits >> 16) as u16);
            }
        }
        i += 1;
    }
}

/// Finishes the sums of a box and stores them, two neighbours of a row by each lane.
///
/// # Safety
/// The whole warp calls it; the box is there, of 32 bits, and there is room for the product.
#[inline(always)]
pub unsafe fn finish<P: Precision>(product: &Product, room: SharedAddress, [column, first]: [u32; 2], lane: u32) {
    let Product { epilogue, m, n, .. } = product;
    let (within, column) = (lane % 16, column + lane % 16 * 2);
    let (there, second) = (column < *n, column + 1 < *n);
    // Pairs can be stored at once if all of them start at even elements.
    let pairs = (n | product.pitch).is_multiple_of(2) && product.out.addr().is_multiple_of(8);
    // SAFETY: the product has `n` columns.
    let columns: [_; 2] = unsafe { epilogue.columns(column as usize, *n as usize) };
    let mut i = lane / 16;
    while i < COPY_ROWS {
        let row = first + i;
        if row < *m && there {
            let index = product.index([row, column]);
            // SAFETY: the pair is in the box; the elements are inside the product.
            unsafe {
                let place = (within / 2) ^ (i % 8);
                let sums: [P::Sum; 2] = room.add(i * ROW + place * 16 + within % 2 * 8).load();
                let scale = epilogue.row(row as usize);
                let low = product.finished::<P>(sums[0], scale, columns[0], index);
                let high = if second { product.finished::<P>(sums[1], scale, columns[1], index + 1) } else { 0.0 };
                write_pair::<P>(product, index, [low, high], [pairs, second]);
            }
        }
        i += 2;
    }
}

/// Writes two neighbours, at once if `pairs`; the second if it is there.
///
/// # Safety
/// The elements are the product's; for `pairs`, aligned to both.
#[inline(always)]
unsafe fn write_pair<P: Precision>(product: &Product, index: usize, [low, high]: [f32; 2], [pairs, second]: [bool; 2]) {
    let wide = product.how & WIDE != 0;
    // SAFETY: the caller upholds this function's contract.
    unsafe {
        match (wide, pairs) {
            (true, true) => {
                let both = u64::from(low.to_bits()) | u64::from(high.to_bits()) << 32;
                product.out.cast::<u32>().add(index).cast::<u64>().write(both);
            }
            (false, true) => product.out.cast::<u16>().add(index).cast::<u32>().write(P::pack(low, high)),
            (true, false) => {
                product.out.cast::<f32>().add(index).write(low);
                if second {
                    product.out.cast::<f32>().add(index + 1).write(high);
                }
            }
            (false, false) => {
                let both = P::pack(low, high);
                product.out.cast::<u16>().add(index).write(both as u16);
                if second {
                    product.out.cast::<u16>().add(index + 1).write((both >> 16) as u16);
                }
            }
        }
    }
}
