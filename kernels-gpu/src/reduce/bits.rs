//! The highest and the lowest bit that is set in any of many integers, in one read.
//!
//! The bitwise OR of all numbers has every bit that is set in any of them, so one `clz` (count leading zeros) of it
//! gives the highest and one `ctz` (count trailing zeros) the lowest, instead of one for each number. It is reduced as
//! in [`best`](super::best).
//!
//! The highest bit needs no OR of unsigned numbers: of two the larger one has the higher or an equally high bit, so
//! that the maximum has the highest bit of all. For the lowest bit the minimum does not help: of 8 and 9 it is 8, whose
//! lowest set bit is bit 3, although 9 has bit 0. Nor does the maximum help with negative numbers, which are two's
//! complements here: their sign bit is set, and is the highest.

use super::best::grid_value;
use crate::{number::Number, operator::Operator};
use cuda_std::{kernel, launch::Instance};

/// Default number of threads per block; a multiple of 32, at most 1024.
pub const BLOCK: u32 = super::best::BLOCK;

/// Blocks per multiprocessor.
pub const BLOCKS_PER_SM: u32 = super::best::BLOCKS_PER_SM;

/// The number that stands for no bit.
pub const NONE: u32 = u32::MAX;

/// Writes the number of the bit to `output[0]`, from 0 for the lowest bit on; [`NONE`] if no bit is set in any number.
///
/// # Safety
/// The block is a multiple of 32; `words` are those of [`Gather::start`](super::gather::Gather::start) for results of
/// type `T`.
#[kernel(for B in [Highest, Lowest], for T in [i32, u32, i64, u64])]
pub unsafe fn reduce_bit<B: Bit, T: Bits>(input: &[T], words: *mut u64, output: *mut u32) {
    // SAFETY: the caller upholds this function's contract.
    if let Some(all) = unsafe { grid_value::<Or, T, T>(input, |x| x, words) } {
        // SAFETY: only one thread of the grid takes this branch.
        unsafe { output.write(if all == T::ZERO { NONE } else { B::of(all) }) };
    }
}

/// Bitwise OR.
struct Or;

impl<T: Bits> Operator<T> for Or {
    const COMMUTATIVE: bool = true;

    #[inline(always)]
    fn identity() -> T {
        T::ZERO
    }
    #[inline(always)]
    fn combine(a: T, b: T) -> T {
        a.or(b)
    }
}

/// A bit of a number.
pub trait Bit: Instance {
    /// Number of the bit of a number that is not 0.
    fn of<T: Bits>(number: T) -> u32;
}

/// The highest bit that is set.
#[derive(Clone, Copy, Debug)]
pub struct Highest;

/// The lowest bit that is set.
#[derive(Clone, Copy, Debug)]
pub struct Lowest;

impl Instance for Highest {
    const NAME: &'static str = "highest";
}

impl Instance for Lowest {
    const NAME: &'static str = "lowest";
}

impl Bit for Highest {
    #[inline(always)]
    fn of<T: Bits>(number: T) -> u32 {
        number.highest()
    }
}

impl Bit for Lowest {
    #[inline(always)]
    fn of<T: Bits>(number: T) -> u32 {
        number.lowest()
    }
}

/// Integers; negative ones are two's complements.
pub trait Bits: Number {
    /// Bitwise OR.
    fn or(self, other: Self) -> Self;
    /// Number of the highest bit that is set; there is one.
    fn highest(self) -> u32;
    /// Number of the lowest bit that is set; there is one.
    fn lowest(self) -> u32;
}

macro_rules! bits {
    ($($t:ty)*) => { $(
        impl Bits for $t {
            #[inline(always)]
            fn or(self, other: $t) -> $t {
                self | other
            }
            #[inline(always)]
            fn highest(self) -> u32 {
                <$t>::BITS - 1 - self.leading_zeros()
            }
            #[inline(always)]
            fn lowest(self) -> u32 {
                self.trailing_zeros()
            }
        }
    )* };
}
bits!(i32 u32 i64 u64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_numbered_from_the_lowest() {
        assert_eq!((Highest::of(1_u32), Lowest::of(1_u32)), (0, 0));
        assert_eq!((Highest::of(-8_i32), Lowest::of(-8_i32)), (31, 3));
        assert_eq!((Highest::of(0x50_u64), Lowest::of(i64::MIN)), (6, 63));
        assert_eq!(Or::combine(Or::combine(8, 9), Or::identity()), 9);
    }
}
