//! Correctly rounded sums of floats: the exact sum of all elements, rounded once, to nearest with ties to even.
//!
//! A sum of floats is exact in fixed point: every `f32` is a multiple of 2^-149 below 2^128, so that 277 bits hold any
//! of them, and a few more the sum of all (U. Kulisch's *superaccumulator*; 2098 bits for `f64`). Fixed point is added
//! like integers, in any order. So the result has the same bits for any order of the elements, any block, grid and
//! device, and on the CPU.
//!
//! The rungs: [`superaccumulator`] adds every element to the fixed-point number of its lane. [`best`] adds floats that
//! are never rounded, and turns only their results into fixed point: its loop is bound by memory.
//!
//! - *Special values*: NaN, or infinities of both signs, give NaN; an infinity gives that infinity. An exact sum of 0
//!   is +0, also of elements that are all -0. Only the rounded sum overflows: no order of additions does.
//! - *Sources*: U. Kulisch, W. Miranker, "The Arithmetic of the Digital Computer" (1986), for the accumulator; S.
//!   Collange, D. Defour, S. Graillat, R. Iakymchuk, "Numerical reproducibility for the parallel reduction on multi-
//!   and many-core architectures" (2015), for floating-point expansions before it; D. Knuth's exact addition.

pub mod best;
mod bins;
mod digits;
mod expansion;
mod finish;
mod scaled;
pub mod superaccumulator;

pub use best::Real;
pub use digits::{WORDS, digit_count, on_host};
pub use finish::{round_totals, total_words};

/// Largest number of blocks, with which the sums of all blocks fit in the words of the total.
pub const MAX_GRID: u32 = 1 << 20;

/// Threads per block that the ladder offers, if the device has the shared memory.
pub const BLOCKS: [u32; 6] = [32, 64, 96, 128, 192, 256];
