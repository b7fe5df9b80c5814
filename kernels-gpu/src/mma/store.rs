//! How a warp's sums leave the registers: 16 rows and 32 columns at a time through shared memory, so that neighbouring
//! lanes write neighbouring elements.

use super::Factor;
use super::sums::Tile;
use crate::tensor::mixed::epilogue::{FINISHED, WIDE};
use crate::tensor::mixed::problem::Product;
use crate::tensor::mixed::store::{copy_elements, finish};
use crate::tensor::mixed::{COPY_ROWS, Sum};
use crate::unroll::unroll;
use cuda_std::memory::SharedAddress;
use cuda_std::mma::Sums;
use cuda_std::prelude::*;

/// Bytes of a row of 32 sums.
const ROW: u32 = 128;

/// Bytes of shared memory that a warp needs.
pub const ROOM: u32 = COPY_ROWS * ROW;

/// Stores a warp's sums from `row` and `column` on. `TURNED`: whether the lines of A and of B are in the order that
/// [`Factor::INTERLEAVED`] says.
///
/// # Safety
/// All lanes of the warp call it together. `room` is the warp's, [`ROOM`] bytes; the product has room.
#[inline(always)]
pub unsafe fn store<P: Factor, const A: bool, const B: bool, const M: usize, const N: usize>(
    product: &Product,
    sums: &Tile<P, M, N>,
    room: SharedAddress,
    [row, column]: [u32; 2],
) {
    let lane = warp::lane_id();
    let mut part = 0;
    // One loop around code that is there once for all boxes; only the registers differ.
    while part < (M * N / 2) as u32 {
        let place = [column + part % (N / 2) as u32 * 32, row + part / (N / 2) as u32 * 16];
        // SAFETY: the caller upholds this function's contract; between the barriers the room is written and read.
        unsafe {
            unroll!(known < M * N / 2 => {
                if known as u32 == part {
                    let (i, j) = (known / (N / 2), known % (N / 2) * 2);
                    write::<P, A, B>([&sums.0[i][j], &sums.0[i][j + 1]], room, lane);
                }
            });
            warp::sync_warp(warp::ALL);
            if product.how & (WIDE | FINISHED) == WIDE {
                copy_elements(product, room, place, lane);
            } else {
                finish::<P>(product, room, place, lane);
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
unsafe fn write<P: Factor, const A: bool, const B: bool>(
    blocks: [&[Sums<P::Sum>; 2]; 2],
    room: SharedAddress,
    lane: u32,
) {
    let (g, t) = (lane / 4, lane % 4);
    unroll!(each < 8 => {
        let (block, half, down) = (each / 4, each / 2 % 2, each % 2);
        let [first, second] = [blocks[block][0].registers(), blocks[block][1].registers()];
        // A pair of neighbouring columns: of one of the two blocks of 8, or one of each.
        let (pair, column) = if B && P::INTERLEAVED {
            ([first[2 * down + half], second[2 * down + half]], 4 * t + 2 * half as u32)
        } else {
            let of = if half == 0 { first } else { second };
            ([of[2 * down], of[2 * down + 1]], half as u32 * 8 + 2 * t)
        };
        let (row, column) = (
            if A && P::INTERLEAVED { 2 * g + down as u32 } else { g + 8 * down as u32 },
            block as u32 * 16 + column,
        );
        let bits = u64::from(pair[0].bits()) | u64::from(pair[1].bits()) << 32;
        // SAFETY: the pair is inside the room.
        unsafe { room.add(row * ROW + ((column / 4) ^ (row % 8)) * 16 + column % 4 * 4).store(bits) };
    });
}
