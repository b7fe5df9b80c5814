//! Fixed-point numbers of `f64` in words of 64 bits, of which word `w` counts multiples of 2^(51 * w) units, the unit
//! of [`digits`](super::digits).
//!
//! A number is scaled by a power of two that leaves it with at most 52 fractional bits and 51 before them. The fraction
//! goes to one word and the integer part to the next. Additions of large numbers separate the two, and turn each into a
//! 64-bit integer with its sign: 21 machine instructions in all, of which most go to units that are idle otherwise.
//! Shifts, masks and negations of the mantissa take 29 and more, and those have one unit. (H200, 2^28 elements of every
//! exponent, blocks of 128 threads, three on a multiprocessor: 3.6 TB/s; mantissas that are shifted into words 52 bits
//! apart, 3.1; into three digits of 32 bits, 3.3.)
//!
//! A word takes 2046 numbers before its carry has to go to the next one.

use super::digits::{Column, Parts, add_lanes, column_bytes};
use crate::reduce::WARP;
use cuda_std::{shared::dynamic_shared_mem, thread, warp};

/// Bits from one word to the next.
const SPACING: u32 = 51;

/// Words of a number: those of the highest exponent and the one above, which has the sign and stays small.
const WORDS: usize = 42;

/// Numbers that a column takes between two carries: each adds at most 2^52 to a word, and a carry leaves less there.
pub const ADDITIONS: u32 = (1 << 11) - 2;

/// Bytes of dynamic shared memory per warp.
pub const WARP_BYTES: u32 = column_bytes(WORDS);

/// Numbers up to 2^51 of either sign, added to this one, are rounded to integers. Neighbours have neighbouring bits.
const INTEGERS: f64 = 1.5 * (1_u64 << 52) as f64;

/// The same for multiples of 2^-52 up to 1/2.
const FRACTIONS: f64 = 1.5;

/// The word of a biased exponent: its quotient by the spacing, without LLVM's corrections for longer numbers.
const fn word_of(exponent: u32) -> u32 {
    ((exponent as u64 * (u32::MAX / SPACING + 1) as u64) >> 32) as u32
}

const _: () = {
    let mut exponent = 0;
    while exponent <= f64::SPECIAL {
        assert!(word_of(exponent) == exponent / SPACING && (word_of(exponent) as usize) + 1 < WORDS);
        exponent += 1;
    }
};

/// The number of a lane.
#[derive(Clone, Copy)]
pub struct Scaled(Column);

impl Scaled {
    /// The number of the calling lane.
    ///
    /// # Safety
    /// The block has [`WARP_BYTES`] of dynamic shared memory per warp.
    #[inline(always)]
    pub unsafe fn of_lane() -> Self {
        // SAFETY: the caller upholds this function's contract.
        Self(unsafe { Column::of_lane(WORDS) })
    }

    /// Sets the number to 0.
    ///
    /// # Safety
    /// Only this lane accesses the column until the next barrier.
    #[inline(always)]
    pub unsafe fn clear(self) {
        // SAFETY: the caller upholds this function's contract.
        unsafe { self.0.clear(WORDS) };
    }

    /// Adds a number. After NaN or an infinity the column is no sum any more.
    ///
    /// # Safety
    /// As for [`Scaled::clear`], after it; there are at most [`ADDITIONS`] between two carries.
    #[inline(always)]
    pub unsafe fn add(self, x: f64) {
        let word = word_of((x.to_bits() >> 52) as u32 & f64::SPECIAL);
        // By 2^(1023 - 51 * word), which is exact: subnormal numbers have the largest factor.
        let scaled = x * f64::from_bits(u64::from(2 * 1023 - SPACING * word) << 52);
        let shifted = scaled + INTEGERS;
        let fraction = scaled - (shifted - INTEGERS);
        let integer = shifted.to_bits().wrapping_sub(INTEGERS.to_bits());
        let fraction = (fraction + FRACTIONS).to_bits().wrapping_sub(FRACTIONS.to_bits());
        // SAFETY: the highest exponent has a word above its own.
        unsafe {
            let at = self.0.word(word as usize);
            at.write(at.read().wrapping_add(fraction as i64));
            let at = self.0.word(word as usize + 1);
            // An integer is 2^52 units of the word below, which are two of this word.
            at.write(at.read().wrapping_add(integer.wrapping_mul(2) as i64));
        }
    }

    /// Reduces each word but the last to 51 bits, without a sign.
    ///
    /// # Safety
    /// As for [`Scaled::clear`], after it.
    #[inline(always)]
    pub unsafe fn carry(self) {
        let mut carry = 0;
        let mut w = 0;
        while w < WORDS {
            // SAFETY: the word is in the column.
            unsafe {
                let at = self.0.word(w);
                let value = at.read().wrapping_add(carry); // only after a special value it wraps
                carry = value >> SPACING;
                at.write(if w + 1 == WORDS { value } else { value & ((1 << SPACING) - 1) });
            }
            w += 1;
        }
    }
}

/// Adds the numbers of all lanes of the block to the total.
///
/// # Safety
/// All threads of the block call it, in whole warps, a barrier after the last access to the columns, in which nothing
/// is left to carry.
#[inline(always)]
pub unsafe fn add_columns(total: *mut i64) {
    let columns = dynamic_shared_mem::<i64>();
    let warps = thread::block_dim_x() / WARP;
    let mut word = thread::thread_idx_x() / WARP;
    while word < WORDS as u32 {
        let mut sum = 0_i64;
        let mut w = 0;
        while w < warps {
            // SAFETY: the index is that of a word.
            let value = unsafe { columns.add(((w * WORDS as u32 + word) * WARP + warp::lane_id()) as usize).read() };
            sum = value.wrapping_add(sum); // only after a special value it wraps
            w += 1;
        }
        // SAFETY: the whole warp has this word; the last one is at 2091 bits, in the 66th of 68 digits. Words that have
        // just carried are below 2^51, and the last one below 2^39, so that the sums of 1024 threads are below 2^61.
        unsafe { add_lanes(total, SPACING * word, sum) };
        word += warps;
    }
}
