//! `ldmatrix` loads four registers of every lane with one instruction: eight lanes give the addresses of the rows of a
//! matrix of 8 by 16 bytes, and the hardware passes the bytes to the lanes that need them.
//!
//! It reads eight rows of 16 bytes at a time, which should be in different banks. Lines of 64 bytes would start in two
//! of them; the units of a line are exchanged instead, by a number that differs among neighbouring lines (the swizzle).
//! A load then takes the four wavefronts that its 512 bytes need.

use super::block::{BLOCK as THREADS, ROW, WARP, WarpTile, fill, place, store};
use super::layout::{offset, start_along};
use super::{Bf16, F16, Factor, S8, Tf32, lines::Lines};
use crate::unroll::unroll;
use core::mem::MaybeUninit;
use cuda_std::memory::SharedAddress;
use cuda_std::mma::{Left, Right};
use cuda_std::prelude::*;

/// The idea in one line.
pub const IDEA: &str =
    "`ldmatrix` loads four registers of all lanes at once, from swizzled tiles without bank conflicts";

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
pub unsafe fn mma_ldmatrix<P: Factor>(a: *const u8, b: *const u8, c: *mut u8, m: u32, n: u32, k: u32, stored: u32) {
    let [a, b] = Lines::<P>::of([a, b], [m, n, k], stored);
    let ([row, column], [down, across]) = place(n);
    let tile_a = (&raw mut UNITS_OF_BOTH).cast::<u128>();
    let tile_b = tile_a.wrapping_add(UNITS);
    // SAFETY: the tiles are in shared memory.
    let (at_a, at_b) = unsafe { (SharedAddress::of(tile_a), SharedAddress::of(tile_b)) };
    let lane = warp::lane_id();
    let (start_a, start_b) = (start_along::<false>(ROW, down, lane), start_along::<true>(ROW, across, lane));
    let mut sums = WarpTile::<P>::zero();
    let mut at = 0;
    while at < k {
        // SAFETY: the tiles are this block's, and no thread reads them.
        unsafe {
            fill(tile_a, a, [row, at], |row, unit| offset(ROW, row, unit, row % 8));
            fill(tile_b, b, [column, at], |row, unit| offset(ROW, row, unit, row % 8));
        }
        thread::sync_threads(); // the tiles are complete before any thread reads them
        unroll!(step < (ROW / 32) as usize => {
            // SAFETY: the tiles are there, and the whole warp is here.
            unsafe {
                let step = step as u32 * 32;
                let (of_a, of_b) = (at_a.add(start_a ^ step), at_b.add(start_b ^ step));
                sums.add(&lines(of_a, Left::load), &lines(of_b, Right::load_two));
            }
        });
        thread::sync_threads(); // every thread has read the tiles before the next round overwrites them
        at += ROW / P::SIZE;
    }
    // SAFETY: by contract there is room for the product.
    unsafe { store(&sums, c, [m, n], [row + down, column + across]) };
}

/// Loads 32 lines, 16 with each call of `load`.
///
/// # Safety
/// That of `load`.
#[inline(always)]
unsafe fn lines<T>(at: SharedAddress, load: unsafe fn(SharedAddress) -> T) -> [T; WARP] {
    // SAFETY: the caller upholds this function's contract.
    unsafe { [load(at), load(at.add(16 * ROW))] }
}
