//! Operations on bytes and half-words. PTX ISA, "Scalar Video Instructions" and "SIMD Video Instructions".
//!
//! The last source of a row is a [`Control`]: the parts that the operands select and the signs of the types, which the
//! decoder makes of the text.

mod scalar;
mod simd;

use super::facts::Fidelity::Exact;
use super::facts::Latency::Alu;
use super::facts::Undefined::Any;
use super::facts::Work::Integer;
use super::facts::{Facts, facts};
use super::table::Table;

pub use scalar::{Second, scalar_part};

/// Facts of an operation on a part of each operand, or on two or four parts.
const fn video(operations: u8) -> Facts {
    facts(Any, Integer(operations), Alu, Exact)
}

/// Properties of a video instruction that its row does not have, in a word.
///
/// | bits | contents |
/// |---|---|
/// | 0 to 11, 12 to 23 | parts of `a` and of `b`, 3 bits each; a scalar instruction has one of each |
/// | 3 to 10 | of a scalar instruction: [`Second`], `.po`, sign of the product, sign of `c`, distance of the shift |
/// | 24 to 27 | elements, or the part, of the destination |
/// | 28, 29, 30, 31 | whether the destination, `a`, `b` are signed; whether the result is limited |
#[derive(Clone, Copy, Default)]
pub struct Control(u32);

impl Control {
    const SECOND: u32 = 3;
    const PLUS_ONE: u32 = 5;
    const MINUS: [u32; 2] = [6, 7];
    const SHIFT: u32 = 8;
    const DESTINATION: u32 = 24;
    const SIGNED: [u32; 3] = [28, 29, 30];
    const SATURATED: u32 = 31;

    /// Sets the part of operand `a` (0) or `b` (1) that is the source of element `i`.
    pub fn select(self, operand: u32, i: u32, part: u32) -> Self {
        Self(self.0 | part << (12 * operand + 3 * i))
    }

    /// Sets the elements, or the part, of the destination that are written.
    pub fn destination(self, mask: u32) -> Self {
        Self(self.0 | mask << Self::DESTINATION)
    }

    /// Sets that the destination (0), `a` (1) or `b` (2) is signed.
    pub fn signed(self, operand: usize) -> Self {
        Self(self.0 | 1 << Self::SIGNED[operand])
    }

    /// Sets that results are limited to the type of the destination.
    pub fn saturated(self) -> Self {
        Self(self.0 | 1 << Self::SATURATED)
    }

    /// Sets the second operation of a scalar instruction.
    pub fn second(self, second: Second) -> Self {
        Self(self.0 | (second as u32) << Self::SECOND)
    }

    /// Sets that `vmad` adds one, `.po`.
    pub fn plus_one(self) -> Self {
        Self(self.0 | 1 << Self::PLUS_ONE)
    }

    /// Sets that `vmad` changes the sign of the product (0) or of `c` (1).
    pub fn minus(self, which: usize) -> Self {
        Self(self.0 | 1 << Self::MINUS[which])
    }

    /// Sets that `vmad` shifts its sum to the right by 7 or 15 bits.
    pub fn shifted(self, distance: u32) -> Self {
        Self(self.0 | ((distance + 1) / 8) << Self::SHIFT)
    }

    /// Returns the word that the row takes.
    pub fn word(self) -> u32 {
        self.0
    }

    fn bit(self, place: u32) -> bool {
        self.0 >> place & 1 != 0
    }

    fn part(self, operand: u32, i: u32) -> u32 {
        self.0 >> (12 * operand + 3 * i) & 7
    }

    fn is_signed(self, operand: usize) -> bool {
        self.bit(Self::SIGNED[operand])
    }

    fn is_saturated(self) -> bool {
        self.bit(Self::SATURATED)
    }
}

/// Extracts bits and extends them by their sign or by zeros.
fn extract(word: u64, (low, width): (u32, u32), signed: bool) -> i64 {
    let unused = 64 - width;
    if signed { ((word >> low << unused) as i64) >> unused } else { (word >> low << unused >> unused) as i64 }
}

/// Returns the smallest and the largest number of a width.
fn range(width: u32, signed: bool) -> (i64, i64) {
    if signed { (-(1 << (width - 1)), (1 << (width - 1)) - 1) } else { (0, (1 << width) - 1) }
}

/// Adds this chapter's rows, whose names are those of the instructions after `video.`, as the decoder looks them up.
pub fn list(t: &mut Table) {
    simd::list(t);
    scalar::list(t);
}
