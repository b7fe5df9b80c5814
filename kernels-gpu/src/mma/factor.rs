//! The types of factors, and how sixteen lines come to the registers of a warp from a tile that lies across the depth: to
//! the four registers of a [`Left`](mma::Left), or of two [`Right`](mma::Right), for which the two in the middle are exchanged.

use super::layout::{UNIT, offset};
use crate::tensor::mixed::{Bf16, F16, Precision, S8, Tf32};
use cuda_std::math::select_bytes;
use cuda_std::memory::SharedAddress;
use cuda_std::mma;

/// A type of factors that warps multiply.
pub trait Factor: Precision {
    /// The type of the instruction.
    type Type: mma::Factor<Sum = Self::Sum>;

    /// Bytes of an element.
    const SIZE: u32 = size_of::<Self::Bits>() as u32;

    /// Elements of the depth in an instruction.
    const STEP: u32 = 32 / Self::SIZE;

    /// Whether [`Factor::across`] gives lines in another order: instead of lines `g` and `g + 8` to the lanes with
    /// `lane / 4 = g`, lines `2 g` and `2 g + 1`.
    const INTERLEAVED: bool = false;

    /// The number of [`offset`] for row `k` of a tile that lies across the depth.
    fn turn(k: u32) -> u32;

    /// Offset from which the lane loads its part of the 16 lines from `line` on, a multiple of 32, in such a tile with
    /// rows of `pitch` bytes.
    fn start_across<const RIGHT: bool>(pitch: u32, line: u32, lane: u32) -> u32;

    /// Loads 16 lines and 32 bytes of the depth from such a tile: block `block` of 16 lines from `start` on, from row
    /// `row` on.
    ///
    /// # Safety
    /// All lanes of the warp call it together; the tile at `tile` is there, and nothing writes it.
    unsafe fn across<const RIGHT: bool>(tile: SharedAddress, pitch: u32, start: u32, block: u32, row: u32) -> [u32; 4];
}

/// Types of 16 bits: the hardware transposes them.
macro_rules! half {
    ($($t:ident)*) => { $(
        impl Factor for $t {
            type Type = mma::$t;

            #[inline(always)]
            fn turn(k: u32) -> u32 {
                k % 8
            }
            #[inline(always)]
            fn start_across<const RIGHT: bool>(pitch: u32, line: u32, lane: u32) -> u32 {
                let [first, second] = [lane / 16, lane / 8 % 2];
                let [k, unit] = if RIGHT { [second, first] } else { [first, second] };
                let k = k * 8 + lane % 8;
                offset(pitch, k, line * Self::SIZE / UNIT + unit, Self::turn(k))
            }
            #[inline(always)]
            unsafe fn across<const RIGHT: bool>(tile: SharedAddress, pitch: u32, start: u32, block: u32, row: u32) -> [u32; 4] {
                let at = tile.add((start ^ (block * 16 * Self::SIZE)) + row * pitch);
                // SAFETY: the caller upholds this function's contract.
                unsafe { at.load_matrices_transposed() }
            }
        }
    )* };
}
half!(F16 Bf16);

impl Factor for Tf32 {
    type Type = mma::Tf32;

    #[inline(always)]
    fn turn(k: u32) -> u32 {
        k % 4 * 2
    }
    #[inline(always)]
    fn start_across<const RIGHT: bool>(pitch: u32, line: u32, lane: u32) -> u32 {
        let (g, t) = (lane / 4, lane % 4);
        offset(pitch, t, (line + g) * Self::SIZE / UNIT, Self::turn(t)) + g % 4 * Self::SIZE
    }
    /// Each register is an element, which is loaded by itself.
    #[inline(always)]
    unsafe fn across<const RIGHT: bool>(tile: SharedAddress, pitch: u32, start: u32, block: u32, row: u32) -> [u32; 4] {
        let load = |line: u32, k: u32| {
            let at = tile.add((start ^ (line * Self::SIZE)) + (row + k) * pitch);
            // SAFETY: the caller upholds this function's contract.
            unsafe { at.load() }
        };
        let first = block * 16;
        if RIGHT {
            [load(first, 0), load(first, 4), load(first + 8, 0), load(first + 8, 4)]
        } else {
            [load(first, 0), load(first + 8, 0), load(first, 4), load(first + 8, 4)]
        }
    }
}

impl Factor for S8 {
    type Type = mma::S8;
    const INTERLEAVED: bool = true;

    #[inline(always)]
    fn turn(k: u32) -> u32 {
        (k / 4 * 2 + k % 2) % 8
    }
    #[inline(always)]
    fn start_across<const RIGHT: bool>(pitch: u32, line: u32, lane: u32) -> u32 {
        let (matrix, row) = (lane / 8, lane % 8);
        let k = matrix / 2 * 16 + matrix % 2 * 2 + row / 2 * 4 + row % 2;
        offset(pitch, k, line / UNIT, Self::turn(k))
    }
    /// The hardware transposes pairs of bytes: a lane receives two lines of rows `4 t` and `4 t + 1` in one register and
    /// of the two rows below in the next, and takes the registers apart into lines.
    #[inline(always)]
    unsafe fn across<const RIGHT: bool>(tile: SharedAddress, pitch: u32, start: u32, block: u32, row: u32) -> [u32; 4] {
        // SAFETY: the caller upholds this function's contract.
        let [a, b, c, d] = unsafe { tile.add((start ^ (block * 16)) + row * pitch).load_matrices_transposed() };
        let [even, odd] = [select_bytes::<0x6420>, select_bytes::<0x7531>];
        if RIGHT {
            [even(a, b), even(c, d), odd(a, b), odd(c, d)]
        } else {
            [even(a, b), odd(a, b), even(c, d), odd(c, d)]
        }
    }
}
