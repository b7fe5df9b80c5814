//! What the first rungs share: blocks of four warps, which compute tiles of 64 by 64, each warp a quarter of it.

use super::sums::Tile;
use super::{Factor, lines::Lines};
use crate::product::tile_of_block;
use crate::tensor::mixed::Sum;
use crate::unroll::unroll;
use cuda_std::prelude::*;

/// Threads per block.
pub const BLOCK: u32 = 128;

/// Rows and columns of a block's part of the product.
pub const TILE: u32 = 64;

/// Blocks of 16 rows and of 16 columns of a warp.
pub const WARP: usize = 2;

/// Bytes of the depth of a tile in shared memory.
pub const ROW: u32 = 64;

/// A warp's sums.
pub type WarpTile<P> = Tile<P, WARP, WARP>;

/// First row and column of the block's tile, and those of the warp's part in it.
#[inline(always)]
pub fn place(columns: u32) -> ([u32; 2], [u32; 2]) {
    let warp = thread::thread_idx_x() / 32;
    (tile_of_block(columns, TILE).map(|tile| tile as u32 * TILE), [warp / 2 * 32, warp % 2 * 32])
}

/// Copies the tile of a factor with lines from `line` on and elements of the depth from `k` on, which are zero beyond
/// the edges. `offset` is the place of a unit of 16 bytes of a line.
///
/// # Safety
/// All threads of the block call it together, and nothing else accesses the tile; the factor has its elements.
#[inline(always)]
pub unsafe fn fill<P: Factor>(tile: *mut u128, lines: Lines<P>, [line, k]: [u32; 2], offset: fn(u32, u32) -> u32) {
    let mut round = 0;
    while round < TILE * ROW / 16 / BLOCK {
        let index = round * BLOCK + thread::thread_idx_x();
        // Bytes that are neighbours in memory are read by neighbouring threads; wider elements lose more by the bank
        // conflicts of such stores than they gain (`docs/results/h200/2026-11-26-mma.txt`).
        let lines_first = lines.across() && P::SIZE == 1;
        let [row, unit] =
            if lines_first { [index % TILE, index / TILE] } else { [index / (ROW / 16), index % (ROW / 16)] };
        let mut bits = 0;
        unroll!(i < 4 => {
            let at = k + (unit * 16 + i as u32 * 4) / P::SIZE;
            // SAFETY: the caller upholds this function's contract.
            bits |= u128::from(unsafe { lines.word(line + row, at) }) << (32 * i);
        });
        // SAFETY: the unit is inside the tile, and this thread's.
        unsafe { tile.byte_add(offset(row, unit) as usize).write(bits) };
        round += 1;
    }
}

/// Stores a warp's sums, element by element, from `row` and `column` on.
///
/// # Safety
/// All lanes of the warp call it; `c` has room for the `m * n` elements of the product.
#[inline(always)]
pub unsafe fn store<P: Factor>(sums: &WarpTile<P>, c: *mut u8, [m, n]: [u32; 2], [row, column]: [u32; 2]) {
    let lane = warp::lane_id();
    unroll!(block < 2 * WARP * WARP => {
        let (i, j, half) = (block / (2 * WARP), block / 2 % WARP, block % 2);
        let place = [row + i as u32 * 16 + lane / 4, column + (j * 2 + half) as u32 * 8 + lane % 4 * 2];
        // SAFETY: the caller upholds this function's contract.
        unsafe { four::<P>(sums.0[i][j][half].registers(), c, [m, n], place) };
    });
}

/// Stores the four elements of a lane.
///
/// # Safety
/// As for [`store`].
#[inline(always)]
unsafe fn four<P: Factor>(sums: [P::Sum; 4], c: *mut u8, [m, n]: [u32; 2], [row, column]: [u32; 2]) {
    unroll!(i < 4 => {
        let (row, column) = (row + i as u32 / 2 * 8, column + i as u32 % 2);
        if row < m && column < n {
            let index = row as usize * n as usize + column as usize;
            // SAFETY: the element is inside the product.
            unsafe {
                if P::WIDE {
                    c.cast::<u32>().add(index).write(sums[i].bits());
                } else {
                    c.cast::<u16>().add(index).write(P::pack(sums[i].float(), 0.0) as u16);
                }
            }
        }
    });
}
