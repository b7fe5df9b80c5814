//! How a warp's sums leave the registers: through shared memory, so that neighbouring lanes write neighbouring bytes.
//! Sums that are stored as they are go by 16 rows and all columns of the warp; those with an epilogue, and matrices
//! whose rows do not start at multiples of 16 bytes, by 16 rows and 32 columns.

use super::Factor;
use super::layout::{UNIT, offset};
use super::sums::Tile;
use crate::epilogue::FINISHED;
use crate::tensor::mixed::problem::{Product, WIDE};
use crate::tensor::mixed::store::{copy_elements, finish};
use crate::tensor::mixed::{COPY_ROWS, Sum};
use crate::unroll::unroll;
use cuda_std::memory::SharedAddress;
use cuda_std::mma::Sums;
use cuda_std::prelude::*;

/// Bytes of a row of 32 sums.
const ROW: u32 = 128;

/// Bytes of shared memory that a warp with `n` blocks of 16 columns needs.
pub const fn room(n: usize) -> u32 {
    COPY_ROWS * n as u32 * 16 * size_of::<u32>() as u32
}

/// Stores a warp's sums from `row` and `column` on. `A` and `B`: whether the factor lies across the depth, so that its
/// lines may be in the order of [`Factor::INTERLEAVED`].
///
/// # Safety
/// All lanes of the warp call it together. `at` is the warp's, [`room`] bytes; the product has room.
#[inline(always)]
pub unsafe fn store<P: Factor, const A: bool, const B: bool, const M: usize, const N: usize>(
    product: &Product,
    sums: &Tile<P, M, N>,
    at: SharedAddress,
    place: [u32; 2],
) {
    let wide = P::WIDE || product.how & WIDE != 0;
    let row = u64::from(product.n | product.pitch) * if wide { 4 } else { 2 };
    let aligned = row.is_multiple_of(UNIT.into()) && product.out.addr().is_multiple_of(UNIT as usize);
    // SAFETY: the caller upholds this function's contract.
    unsafe {
        if product.how & FINISHED != 0 || !aligned {
            by_parts::<P, A, B, M, N>(product, sums, at, place);
        } else if wide {
            by_rows::<P, A, B, true, M, N>(product, sums, at, place);
        } else {
            by_rows::<P, A, B, false, M, N>(product, sums, at, place);
        }
    }
}

/// Stores sums as they are, 16 rows at a time, as units of 16 bytes.
///
/// # Safety
/// As for [`store`]; rows of the product consist of whole units.
#[inline(always)]
unsafe fn by_rows<P: Factor, const A: bool, const B: bool, const WIDE: bool, const M: usize, const N: usize>(
    product: &Product,
    sums: &Tile<P, M, N>,
    at: SharedAddress,
    [row, column]: [u32; 2],
) {
    unroll!(i < M => {
        // SAFETY: the caller upholds this function's contract; between the barriers the room is written and read.
        unsafe {
            write_row::<P, A, B, WIDE, N>(&sums.0[i], at);
            warp::sync_warp(warp::ALL);
            copy_units::<WIDE, N>(product, at, [row + i as u32 * 16, column]);
            warp::sync_warp(warp::ALL);
        }
    });
}

/// Bytes of an element of the product.
const fn size(wide: bool) -> u32 {
    if wide { 4 } else { 2 }
}

/// The number of [`offset`] for a row: with it the pairs that a warp writes, and half a warp if they have 8 bytes, are
/// in different banks.
const fn turn(wide: bool, row: u32) -> u32 {
    if wide { row % 4 * 2 } else { row % 8 }
}

/// Writes 16 rows.
///
/// # Safety
/// As for [`store`]; no lane reads the room.
#[inline(always)]
unsafe fn write_row<P: Factor, const A: bool, const B: bool, const WIDE: bool, const N: usize>(
    sums: &[[Sums<P::Sum>; 2]; N],
    at: SharedAddress,
) {
    let pitch = N as u32 * 16 * size(WIDE);
    unroll!(each < 4 * N => {
        let (block, half, down) = (each / 4, each / 2 % 2, each % 2);
        let (pair, [row, column]) = pair::<P, A, B>(&sums[block], half, down);
        let byte = (block as u32 * 16 + column) * size(WIDE);
        let to = at.add(offset(pitch, row, byte / UNIT, turn(WIDE, row)) + byte % UNIT);
        // SAFETY: the pair is inside the room.
        unsafe {
            if WIDE {
                to.store(pair.map(Sum::bits));
            } else {
                to.store(P::pack(pair[0].float(), pair[1].float()));
            }
        }
    });
}

/// Copies 16 rows from the room to the product.
///
/// # Safety
/// As for [`by_rows`]; the rows are there.
#[inline(always)]
unsafe fn copy_units<const WIDE: bool, const N: usize>(
    product: &Product,
    at: SharedAddress,
    [first_row, first_column]: [u32; 2],
) {
    let pitch = N as u32 * 16 * size(WIDE);
    let units = pitch / UNIT;
    let lane = warp::lane_id();
    unroll!(i < (16 * N as u32 * 16 * size(WIDE) / UNIT / 32) as usize => {
        let index = i as u32 * 32 + lane;
        let (down, unit) = (index / units, index % units);
        let (row, column) = (first_row + down, first_column + unit * (UNIT / size(WIDE)));
        if row < product.m && column < product.n {
            let to = product.index([row, column]) * size(WIDE) as usize;
            // SAFETY: the unit is in the room, and inside the product, whose rows consist of whole units.
            unsafe {
                let bits: u128 = at.add(offset(pitch, down, unit, turn(WIDE, down))).load();
                product.out.byte_add(to).cast::<u128>().write(bits);
            }
        }
    });
}

/// Stores sums 16 rows and 32 columns at a time.
///
/// # Safety
/// As for [`store`].
#[inline(always)]
unsafe fn by_parts<P: Factor, const A: bool, const B: bool, const M: usize, const N: usize>(
    product: &Product,
    sums: &Tile<P, M, N>,
    at: SharedAddress,
    [row, column]: [u32; 2],
) {
    let lane = warp::lane_id();
    let mut part = 0;
    // One loop around code that is there once for all parts; only the registers differ.
    while part < (M * N / 2) as u32 {
        let place = [column + part % (N / 2) as u32 * 32, row + part / (N / 2) as u32 * 16];
        // SAFETY: the caller upholds this function's contract; between the barriers the room is written and read.
        unsafe {
            unroll!(known < M * N / 2 => {
                if known as u32 == part {
                    let (i, j) = (known / (N / 2), known % (N / 2) * 2);
                    write_part::<P, A, B>([&sums.0[i][j], &sums.0[i][j + 1]], at);
                }
            });
            warp::sync_warp(warp::ALL);
            if product.how & (WIDE | FINISHED) == WIDE {
                copy_elements(product, at, place, lane);
            } else {
                finish::<P>(product, at, place, lane);
            }
            warp::sync_warp(warp::ALL);
        }
        part += 1;
    }
}

/// Writes two blocks of 16 rows and 16 columns to the room, in the order of a swizzle of 128 bytes.
///
/// # Safety
/// As for [`store`]; no lane reads the room.
#[inline(always)]
unsafe fn write_part<P: Factor, const A: bool, const B: bool>(blocks: [&[Sums<P::Sum>; 2]; 2], at: SharedAddress) {
    unroll!(each < 8 => {
        let (pair, [row, column]) = pair::<P, A, B>(blocks[each / 4], each / 2 % 2, each % 2);
        let byte = (each as u32 / 4 * 16 + column) * 4;
        // SAFETY: the pair is inside the room.
        unsafe { at.add(offset(ROW, row, byte / UNIT, row % 8) + byte % UNIT).store(pair.map(Sum::bits)) };
    });
}

/// Two neighbouring columns of a lane's 16 by 16 sums, and their row and column: pair `half` of row `down` of the two
/// that the lane has.
#[inline(always)]
fn pair<P: Factor, const A: bool, const B: bool>(
    blocks: &[Sums<P::Sum>; 2],
    half: usize,
    down: usize,
) -> ([P::Sum; 2], [u32; 2]) {
    let (g, t) = (warp::lane_id() / 4, warp::lane_id() % 4);
    let [first, second] = [blocks[0].registers(), blocks[1].registers()];
    let row = if A && P::INTERLEAVED { 2 * g + down as u32 } else { g + 8 * down as u32 };
    if B && P::INTERLEAVED {
        return ([first[2 * down + half], second[2 * down + half]], [row, 4 * t + 2 * half as u32]);
    }
    let of = if half == 0 { first } else { second };
    ([of[2 * down], of[2 * down + 1]], [row, half as u32 * 8 + 2 * t])
}
