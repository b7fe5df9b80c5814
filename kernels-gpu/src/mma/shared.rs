//! The block brings tiles of both factors, 64 lines and 64 bytes of the depth, to shared memory, where every warp finds
//! its registers as words: a line is read from device memory once for two warps, and its bytes are put together once.
//!
//! The lines follow each other without gaps. The lanes of a warp read eight of them, which start in two banks: a load
//! takes four wavefronts.

use super::block::{BLOCK as THREADS, ROW, WARP, WarpTile, fill, place, store};
use super::{Bf16, F16, Factor, S8, Tf32, factor::rights, lines::Lines};
use crate::unroll::unroll;
use core::mem::MaybeUninit;
use cuda_std::mma::Left;
use cuda_std::prelude::*;

/// The idea in one line.
pub const IDEA: &str = "tiles of 64 lines in shared memory, from which lanes read their registers as words";

/// Threads per block.
pub const BLOCK: u32 = THREADS;

pub use super::block::TILE;

/// Units of 16 bytes in a tile of a factor.
const UNITS: usize = (TILE * ROW / 16) as usize;

/// A tile of A, then one of B.
#[address_space(shared)]
static mut UNITS_OF_BOTH: [MaybeUninit<u128>; 2 * UNITS] = [MaybeUninit::uninit(); 2 * UNITS];

/// Multiplies two matrices, as [`mma_naive`](super::naive::mma_naive) does.
///
/// # Safety
/// That of [`mma_naive`](super::naive::mma_naive).
#[kernel(for P in [F16, Bf16, Tf32, S8], launch_bounds(BLOCK, 1))]
pub unsafe fn mma_shared<P: Factor>(a: *const u8, b: *const u8, c: *mut u8, m: u32, n: u32, k: u32, stored: u32) {
    let [a, b] = Lines::<P>::of([a, b], [m, n, k], stored);
    let ([row, column], [down, across]) = place(n);
    let tile_a = (&raw mut UNITS_OF_BOTH).cast::<u128>();
    let tile_b = tile_a.wrapping_add(UNITS);
    let mut sums = WarpTile::<P>::zero();
    let mut at = 0;
    while at < k {
        // SAFETY: the tiles are this block's, and no thread reads them.
        unsafe {
            fill(tile_a, a, [row, at], |row, unit| row * ROW + unit * 16);
            fill(tile_b, b, [column, at], |row, unit| row * ROW + unit * 16);
        }
        thread::sync_threads(); // the tiles are complete before any thread reads them
        unroll!(step < (ROW / 32) as usize => {
            // SAFETY: the tiles are there, and the whole warp is here.
            let [of_a, of_b] = unsafe { [registers(tile_a, down, step), registers(tile_b, across, step)] };
            // SAFETY: as above.
            unsafe { sums.add(&of_a.map(Left::from_registers), &of_b.map(rights)) };
        });
        thread::sync_threads(); // every thread has read the tiles before the next round overwrites them
        at += ROW / P::SIZE;
    }
    // SAFETY: by contract there is room for the product.
    unsafe { store(&sums, c, [m, n], [row + down, column + across]) };
}

/// The lane's registers of 32 lines of a tile, for 32 bytes of the depth.
///
/// # Safety
/// The lines are in the tile.
#[inline(always)]
unsafe fn registers(tile: *const u128, line: u32, step: usize) -> [[u32; 4]; WARP] {
    let first = (line + warp::lane_id() / 4) * ROW + warp::lane_id() % 4 * 4 + step as u32 * 32;
    let words = tile.cast::<u32>().wrapping_byte_add(first as usize);
    let mut out = [[0; 4]; WARP];
    unroll!(i < WARP => {
        let word = |down: u32, bytes: u32| {
            let at = (i as u32 * 16 + down) * ROW + bytes;
            // SAFETY: the word is in the tile.
            unsafe { words.byte_add(at as usize).read() }
        };
        out[i] = [word(0, 0), word(8, 0), word(0, 16), word(8, 16)];
    });
    out
}
