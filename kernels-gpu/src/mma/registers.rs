//! How a warp's lines of a factor come from a stage to the registers of its lanes, 16 lines at a time.

use super::Factor;
use super::factor::Part;
use super::layout::start_along;
use crate::unroll::unroll;
use core::marker::PhantomData;
use cuda_std::memory::SharedAddress;
use cuda_std::mma::{Left, Right};

/// Where a lane finds its part of a factor that lies across the depth if `ACROSS`: of A, or if `RIGHT` of B.
pub struct Registers<P, const ACROSS: bool, const RIGHT: bool> {
    pitch: u32,
    start: u32,
    precision: PhantomData<P>,
}

impl<P: Factor, const ACROSS: bool, const RIGHT: bool> Registers<P, ACROSS, RIGHT> {
    /// The part of a lane, of the lines from `line` on, in rows of `pitch` bytes.
    #[inline(always)]
    pub fn new(pitch: u32, line: u32, lane: u32) -> Self {
        let start =
            if ACROSS { P::start_across::<RIGHT>(pitch, line, lane) } else { start_along::<RIGHT>(pitch, line, lane) };
        Self { pitch, start, precision: PhantomData }
    }

    /// The part of a block of lines that lie across it.
    #[inline(always)]
    fn part(&self, tile: SharedAddress, block: usize, step: u32) -> Part<P> {
        let Self { pitch, start, precision } = *self;
        Part { tile, pitch, start, block: block as u32, row: step * P::STEP, precision }
    }

    /// The lane's place in a block of lines that lie along the depth.
    #[inline(always)]
    fn along(&self, tile: SharedAddress, block: usize, step: u32) -> SharedAddress {
        tile.add((self.start ^ (step * 32)) + block as u32 * 16 * self.pitch)
    }
}

impl<P: Factor, const ACROSS: bool> Registers<P, ACROSS, false> {
    /// Loads `M` blocks of lines, for step `step` of the stage at `tile`.
    ///
    /// # Safety
    /// All lanes of the warp call it together; the stage is complete.
    #[inline(always)]
    pub unsafe fn load<const M: usize>(&self, tile: SharedAddress, step: u32) -> [Left<P::Type>; M] {
        let mut out = [Left::from_registers([0; 4]); M];
        unroll!(block < M => {
            // SAFETY: the caller upholds this function's contract.
            out[block] = unsafe {
                if ACROSS {
                    P::left_across(self.part(tile, block, step))
                } else {
                    Left::load(self.along(tile, block, step))
                }
            };
        });
        out
    }
}

impl<P: Factor, const ACROSS: bool> Registers<P, ACROSS, true> {
    /// Loads `N` blocks of lines, for step `step` of the stage at `tile`.
    ///
    /// # Safety
    /// All lanes of the warp call it together; the stage is complete.
    #[inline(always)]
    pub unsafe fn load<const N: usize>(&self, tile: SharedAddress, step: u32) -> [[Right<P::Type>; 2]; N] {
        let mut out = [[Right::from_registers([0; 2]); 2]; N];
        unroll!(block < N => {
            // SAFETY: the caller upholds this function's contract.
            out[block] = unsafe {
                if ACROSS {
                    P::right_across(self.part(tile, block, step))
                } else {
                    Right::load_two(self.along(tile, block, step))
                }
            };
        });
        out
    }
}
