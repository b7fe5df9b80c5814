//! The types of factors, and how sixteen lines come to the registers of a warp from a tile that lies across the depth.

use super::layout::{UNIT, offset};
use crate::tensor::mixed::{Bf16, F16, Precision, S8, Tf32};
use core::marker::PhantomData;
use cuda_std::math::select_bytes;
use cuda_std::memory::SharedAddress;
use cuda_std::mma::{self, Left, Right};

/// A type of factors that warps multiply.
pub trait Factor: Precision {
    /// The type of the instruction.
    type Type: mma::Factor<Sum = Self::Sum>;

    /// Bytes of an element.
    const SIZE: u32 = size_of::<Self::Bits>() as u32;

    /// Elements of the depth in an instruction.
    const STEP: u32 = 32 / Self::SIZE;

    /// Whether lines that lie across the depth are loaded in another order: instead of lines `g` and `g + 8` to the
    /// lanes with `lane / 4 = g`, lines `2 g` and `2 g + 1`.
    const INTERLEAVED: bool = false;

    /// The number of the swizzle for row `k` of a tile that lies across the depth.
    fn turn(k: u32) -> u32;

    /// Offset from which the lane loads its part of the 16 lines from `line` on, a multiple of 32, in such a tile with
    /// rows of `pitch` bytes: for a left factor, or if `RIGHT` for right ones.
    fn start_across<const RIGHT: bool>(pitch: u32, line: u32, lane: u32) -> u32;

    /// Loads a part of A.
    ///
    /// # Safety
    /// All lanes of the warp call it together; the tile is there, and nothing writes it.
    unsafe fn left_across(part: Part<Self>) -> Left<Self::Type>;

    /// Loads a part of B.
    ///
    /// # Safety
    /// That of [`Factor::left_across`].
    unsafe fn right_across(part: Part<Self>) -> [Right<Self::Type>; 2];
}

/// A part of a tile that lies across the depth, 16 lines and 32 bytes of the depth, as a lane finds it.
#[derive(Clone, Copy)]
pub struct Part<P> {
    /// The tile.
    pub tile: SharedAddress,
    /// Bytes of its rows.
    pub pitch: u32,
    /// What [`Factor::start_across`] returns for the lane.
    pub start: u32,
    /// Number of the 16 lines, counted from the line of `start`.
    pub block: u32,
    /// The first row.
    pub row: u32,
    /// The type.
    pub precision: PhantomData<P>,
}

impl<P: Factor> Part<P> {
    /// The lane's place, `line` lines and `k` rows further.
    #[inline(always)]
    fn at(&self, line: u32, k: u32) -> SharedAddress {
        self.tile.add((self.start ^ ((self.block * 16 + line) * P::SIZE)) + (self.row + k) * self.pitch)
    }
}

/// The two right factors with these registers of a left one.
#[inline(always)]
pub const fn rights<T: mma::Factor>([a, b, c, d]: [u32; 4]) -> [Right<T>; 2] {
    [Right::from_registers([a, c]), Right::from_registers([b, d])]
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
            unsafe fn left_across(part: Part<Self>) -> Left<mma::$t> {
                // SAFETY: the caller upholds this function's contract.
                unsafe { Left::load_across(part.at(0, 0)) }
            }
            #[inline(always)]
            unsafe fn right_across(part: Part<Self>) -> [Right<mma::$t>; 2] {
                // SAFETY: the caller upholds this function's contract.
                unsafe { Right::load_two_across(part.at(0, 0)) }
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
    #[inline(always)]
    unsafe fn left_across(part: Part<Self>) -> Left<mma::Tf32> {
        // SAFETY: the caller upholds this function's contract.
        Left::from_registers(unsafe { elements(part) })
    }
    #[inline(always)]
    unsafe fn right_across(part: Part<Self>) -> [Right<mma::Tf32>; 2] {
        // SAFETY: the caller upholds this function's contract.
        rights(unsafe { elements(part) })
    }
}

/// The registers of a left factor, each of which is an element and loaded by itself.
///
/// # Safety
/// That of [`Factor::left_across`].
#[inline(always)]
unsafe fn elements(part: Part<Tf32>) -> [u32; 4] {
    // SAFETY: the caller upholds this function's contract.
    unsafe { [part.at(0, 0).load(), part.at(8, 0).load(), part.at(0, 4).load(), part.at(8, 4).load()] }
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
    #[inline(always)]
    unsafe fn left_across(part: Part<Self>) -> Left<mma::S8> {
        // SAFETY: the caller upholds this function's contract.
        Left::from_registers(unsafe { bytes(part) })
    }
    #[inline(always)]
    unsafe fn right_across(part: Part<Self>) -> [Right<mma::S8>; 2] {
        // SAFETY: the caller upholds this function's contract.
        rights(unsafe { bytes(part) })
    }
}

/// The registers of a left factor. The hardware transposes pairs of bytes: a lane receives two lines of rows `4 t` and
/// `4 t + 1` in one register and of the two rows below in the next, and takes the registers apart into lines.
///
/// # Safety
/// That of [`Factor::left_across`].
#[inline(always)]
unsafe fn bytes(part: Part<S8>) -> [u32; 4] {
    // SAFETY: the caller upholds this function's contract.
    let [a, b, c, d] = unsafe { part.at(0, 0).load_matrices_transposed() };
    let [even, odd] = [select_bytes::<0x6420>, select_bytes::<0x7531>];
    [even(a, b), odd(a, b), even(c, d), odd(c, d)]
}
