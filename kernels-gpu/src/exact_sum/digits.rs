//! Fixed-point numbers of digits of 32 bits, each in a word of 64: a word takes 2^31 additions before it can overflow,
//! so that carries are left to the end.
//!
//! Digit `d` counts multiples of 2^(32 * d) units. The unit is half the smallest positive number of the type, so that a
//! biased exponent `e` is the position of its mantissa's lowest bit.

use crate::number::Number;
use crate::reduce::{WARP, collective::is_last_block};
use cuda_std::{
    atomic::{Atomic, AtomicI64, AtomicU32, Ordering},
    shared::dynamic_shared_mem,
    thread, warp,
};

/// Bits of a digit.
pub const DIGIT_BITS: u32 = 32;

/// The bits of a digit.
const DIGIT: i64 = u32::MAX as i64;

/// Number of digits that hold the sum of 2^64 numbers of a type with this size in bytes: 342 and 2163 bits.
pub const fn digit_count(bytes: usize) -> usize {
    if bytes == size_of::<f32>() { 11 } else { 68 }
}

/// Number of words of 32 bits that a launch uses besides the total, which are 0 before and after: the ticket, and the
/// special values among the elements.
pub const WORDS: usize = 2;

/// Special values: there is a NaN, +inf, -inf.
const NAN: u32 = 1;
const PLUS: u32 = 2;
const MINUS: u32 = 4;

/// Reports that the total is in use.
pub const USED: u32 = 8;

/// A float as sign, position and mantissa.
pub trait Parts: Number {
    /// Number of digits of a sum.
    const DIGITS: usize = digit_count(size_of::<Self>());
    /// Number of digits that a mantissa at any position extends over.
    const PIECES: usize;
    /// Whether the number is negative, the position of the mantissa's lowest bit in units, and the mantissa. A special
    /// value has the position [`Parts::SPECIAL`].
    fn parts(self) -> (bool, u32, u64);
    /// The position of NaN and infinities.
    const SPECIAL: u32;
    /// The nearest number to `mantissa * 2^position` units, with this sign. The mantissa has its highest bit set, and
    /// its lowest one if the exact value has more bits.
    fn round(negative: bool, mantissa: u64, position: i32) -> Self;
    /// The number for these bits of special values.
    fn special(bits: u32) -> Self;
}

impl Parts for f32 {
    const PIECES: usize = 2;
    const SPECIAL: u32 = 0xff;

    #[inline(always)]
    fn parts(self) -> (bool, u32, u64) {
        let bits = self.to_bits();
        let (exponent, fraction) = (bits >> 23 & 0xff, bits & 0x7f_ffff);
        let hidden = if exponent == 0 { 0 } else { 1 << 23 };
        ((bits as i32) < 0, exponent.max(1), u64::from(fraction | hidden))
    }
    #[inline(always)]
    fn round(negative: bool, mantissa: u64, position: i32) -> f32 {
        // In f64 the scaling is exact. It ends below f32's normal numbers only if there is nothing to round.
        let value = scale(f64::from(mantissa as f32), position - 150) as f32;
        if negative { -value } else { value }
    }
    #[inline(always)]
    fn special(bits: u32) -> f32 {
        f64::special(bits) as f32
    }
}

impl Parts for f64 {
    const PIECES: usize = 3;
    const SPECIAL: u32 = 0x7ff;

    #[inline(always)]
    fn parts(self) -> (bool, u32, u64) {
        let bits = self.to_bits();
        let (exponent, fraction) = ((bits >> 52) as u32 & 0x7ff, bits & 0xf_ffff_ffff_ffff);
        let hidden = if exponent == 0 { 0 } else { 1 << 52 };
        ((bits as i64) < 0, exponent.max(1), fraction | hidden)
    }
    #[inline(always)]
    fn round(negative: bool, mantissa: u64, position: i32) -> f64 {
        // In two steps, of which the first one stays among the normal numbers; the second one ends below them only if
        // there is nothing to round.
        let exponent = position - 1075;
        let value = scale(scale(mantissa as f64, exponent / 2), exponent - exponent / 2);
        if negative { -value } else { value }
    }
    #[inline(always)]
    fn special(bits: u32) -> f64 {
        match bits {
            PLUS => f64::INFINITY,
            MINUS => f64::NEG_INFINITY,
            _ => f64::NAN,
        }
    }
}

/// `x * 2^exponent`, without rounding if the result is a normal number, for exponents from -1022 to 1023.
#[inline(always)]
pub fn scale(x: f64, exponent: i32) -> f64 {
    x * f64::from_bits(((1023 + exponent) as u64) << 52)
}

/// The bit of a special value.
#[inline(always)]
pub fn special_bit(x: f64) -> u32 {
    if x == f64::INFINITY {
        PLUS
    } else if x == f64::NEG_INFINITY {
        MINUS
    } else {
        NAN
    }
}

/// A fixed-point number in shared memory. That of a lane has digit `d` in word `32 * d`, so that the lanes of a warp
/// access different banks whatever the elements.
#[derive(Clone, Copy)]
pub struct Column {
    at: *mut i64,
    /// Words from one digit to the next.
    stride: usize,
}

/// The correctly rounded sum, on the CPU.
pub fn on_host<T: Parts>(input: &[T]) -> T {
    let mut digits = [0_i64; digit_count(size_of::<f64>())];
    let number = Column::of_digits(digits.as_mut_ptr());
    let mut special = 0;
    for part in input.chunks(1 << 30) {
        // SAFETY: there are enough digits for the widest type, and the carries leave room for 2^30 numbers.
        unsafe {
            part.iter().for_each(|&x| special |= number.add(x));
            carry::<T>(number.at, 1);
        }
    }
    if special != 0 {
        return T::special(special);
    }
    // SAFETY: the digits are this function's.
    unsafe { round_digits(number.at) }
}

/// Bytes of dynamic shared memory per warp for a column per lane.
pub const fn column_bytes(digits: usize) -> u32 {
    WARP * (digits * size_of::<i64>()) as u32
}

impl Column {
    /// A number whose digits are neighbours.
    #[inline(always)]
    pub fn of_digits(at: *mut i64) -> Self {
        Self { at, stride: 1 }
    }

    /// The column of the calling lane, of this number of words.
    ///
    /// # Safety
    /// The block has [`column_bytes`] of dynamic shared memory per warp.
    #[inline(always)]
    pub unsafe fn of_lane(words: usize) -> Self {
        let warp = thread::thread_idx_x() / WARP;
        let word = warp as usize * words * WARP as usize + warp::lane_id() as usize;
        // SAFETY: the caller upholds this function's contract.
        Self { at: unsafe { dynamic_shared_mem::<i64>().add(word) }, stride: WARP as usize }
    }

    /// Where a word is.
    #[inline(always)]
    pub fn word(self, number: usize) -> *mut i64 {
        self.at.wrapping_add(number * self.stride)
    }

    /// Sets this number of words to 0.
    ///
    /// # Safety
    /// Only this lane accesses the column until the next barrier.
    #[inline(always)]
    pub unsafe fn clear(self, words: usize) {
        let mut w = 0;
        while w < words {
            // SAFETY: the word is in the column.
            unsafe { self.word(w).write(0) };
            w += 1;
        }
    }

    /// Adds a number, and returns 0, or the bit of a special value, which is not added.
    ///
    /// # Safety
    /// As for [`Column::clear`]; the column takes at most 2^31 - 1 numbers.
    #[inline(always)]
    pub unsafe fn add<T: Parts>(self, x: T) -> u32 {
        let (negative, position, mantissa) = x.parts();
        if position == T::SPECIAL {
            return special_bit(x.to_f64());
        }
        let (digit, shift) = (position / DIGIT_BITS, position % DIGIT_BITS);
        let low = mantissa << shift;
        // In two steps, since a shift by 64 is not defined.
        let high = mantissa >> 1 >> (63 - shift);
        let pieces = [low & DIGIT as u64, low >> DIGIT_BITS, high];
        let mut k = 0;
        while k < T::PIECES {
            let piece = pieces[k] as i64;
            // SAFETY: the highest position and the pieces after it are in the column.
            unsafe {
                let at = self.word(digit as usize + k);
                at.write(at.read() + if negative { -piece } else { piece });
            }
            k += 1;
        }
        0
    }
}

/// Adds the numbers of all lanes of the block to the total.
///
/// # Safety
/// All threads of the block call it, a barrier after their last access to the columns, which are all initialised.
#[inline(always)]
pub unsafe fn add_columns<T: Parts>(total: *mut i64) {
    let columns = dynamic_shared_mem::<i64>();
    let warps = thread::block_dim_x() / WARP;
    let mut d = thread::thread_idx_x() as usize;
    while d < T::DIGITS {
        let top = d + 1 == T::DIGITS;
        let (mut low, mut high) = (0, 0);
        let mut k = 0;
        while k < warps * WARP {
            // Threads with neighbouring digits read different lanes, and so different banks.
            let lane = (d as u32 + k) % WARP;
            let word = ((k / WARP) as usize * T::DIGITS + d) * WARP as usize + lane as usize;
            // SAFETY: the word is one of a column.
            let value = unsafe { columns.add(word).read() };
            // The highest digit has the sign. It is small: a sum has fewer bits than the digits.
            low += if top { value } else { value & DIGIT };
            high += if top { 0 } else { value >> DIGIT_BITS };
            k += 1;
        }
        // SAFETY: the total has a word for this digit, and for the next one if this is not the last.
        unsafe {
            add_word(total, d, low);
            add_word(total, d + 1, high);
        }
        d += thread::block_dim_x() as usize;
    }
}

/// Adds to a word of the total.
///
/// # Safety
/// If the value is not 0, the total has the word, which the threads of this launch access by atomics.
#[inline(always)]
pub unsafe fn add_word(total: *mut i64, word: usize, value: i64) {
    if value != 0 {
        // SAFETY: the caller upholds this function's contract.
        let word: &AtomicI64 = unsafe { Atomic::from_ptr(total.add(word)) };
        word.fetch_add(value, Ordering::Relaxed);
    }
}

/// Adds the sum of what all lanes of the warp have, in multiples of 2^`position` units, to the total.
///
/// # Safety
/// All lanes call it with the same position; the sum of all is below 2^63, or does not count, since there are special
/// values; the total has words for the digit of the position and the two after it, which the threads of this launch
/// access by atomics.
#[inline(always)]
pub unsafe fn add_lanes(total: *mut i64, position: u32, mut sum: i64) {
    // SAFETY: all lanes call it.
    if !unsafe { warp::any(warp::ALL, sum != 0) } {
        return;
    }
    let mut delta = WARP / 2;
    while delta > 0 {
        // SAFETY: all lanes of the warp have the same answer from the vote.
        sum = sum.wrapping_add(unsafe { warp::shuffle_xor(warp::ALL, sum, delta) });
        delta /= 2;
    }
    // The sum extends over three digits, of which the highest has the sign.
    let (digit, shift) = (position / DIGIT_BITS, position % DIGIT_BITS);
    let lane = warp::lane_id();
    let piece = match lane {
        0 => (sum << shift) & DIGIT,
        1 => (sum >> (DIGIT_BITS - shift)) & DIGIT,
        2 => sum >> 32 >> (DIGIT_BITS - shift),
        _ => 0,
    };
    // SAFETY: the caller upholds this function's contract.
    unsafe { add_word(total, (digit + lane) as usize, piece) };
}

/// Reports special values among the elements, or [`USED`].
///
/// # Safety
/// `words` is that of the launch.
#[inline(always)]
pub unsafe fn report(words: *mut u32, bits: u32) {
    if bits != 0 {
        // SAFETY: the caller upholds this function's contract; the launch accesses the word by atomics.
        let seen: &AtomicU32 = unsafe { Atomic::from_ptr(words.add(1)) };
        seen.fetch_or(bits, Ordering::Relaxed);
    }
}

/// What all blocks have reported, in the last block.
///
/// # Safety
/// `words` is that of the launch.
#[inline(always)]
pub unsafe fn seen(words: *mut u32) -> u32 {
    // SAFETY: the caller upholds this function's contract; the launch accesses the word by atomics.
    let seen: &AtomicU32 = unsafe { Atomic::from_ptr(words.add(1)) };
    seen.load(Ordering::Relaxed)
}

/// Whether the calling block is the last one to come here, and sees what all blocks have added and reported.
///
/// # Safety
/// All threads of the grid call it once; `words` is that of the launch.
#[inline(always)]
pub unsafe fn is_last(words: *mut u32) -> bool {
    thread::sync_threads(); // separates the block's additions from the drawing of its ticket
    // SAFETY: the caller upholds this function's contract; the ticket is the first word.
    unsafe { is_last_block(words) }
}

/// Rounds a fixed-point number, whose digits it changes.
///
/// # Safety
/// There are `T::DIGITS` digits, which only this thread accesses.
pub unsafe fn round_digits<T: Parts>(digits: *mut i64) -> T {
    // SAFETY: every index is below the number of digits.
    unsafe {
        let negative = carry::<T>(digits, 1) < 0;
        if negative {
            carry::<T>(digits, -1);
        }
        // The digit `back` places before digit `d`: 0 before the first.
        let digit = |d: usize, back: usize| if back > d { 0 } else { digits.add(d - back).read() as u64 };
        let mut highest = T::DIGITS - 1;
        while highest > 0 && digits.add(highest).read() == 0 {
            highest -= 1;
        }
        let top = digit(highest, 0) << DIGIT_BITS | digit(highest, 1);
        if top == 0 {
            return T::ZERO;
        }
        // The highest bit moves to bit 63, and bits of the third digit fill in.
        let shift = top.leading_zeros();
        let third = digit(highest, 2) << shift;
        let mut rest = third & DIGIT as u64;
        let mut back = 3;
        while back <= highest {
            rest |= digit(highest, back);
            back += 1;
        }
        let mantissa = top << shift | third >> DIGIT_BITS | u64::from(rest != 0);
        let position = DIGIT_BITS as i32 * (highest as i32 - 1) - shift as i32;
        T::round(negative, mantissa, position)
    }
}

/// Multiplies the number by `sign`, and reduces each digit but the highest to 32 bits, without a sign. Returns the
/// highest digit.
///
/// # Safety
/// As for [`round_digits`].
#[inline(always)]
pub unsafe fn carry<T: Parts>(digits: *mut i64, sign: i64) -> i64 {
    let mut carry = 0;
    let mut d = 0;
    // SAFETY: every index is below the number of digits.
    unsafe {
        while d + 1 < T::DIGITS {
            let value = digits.add(d).read() * sign + carry;
            digits.add(d).write(value & DIGIT);
            carry = value >> DIGIT_BITS;
            d += 1;
        }
        let top = digits.add(d).read() * sign + carry;
        digits.add(d).write(top);
        top
    }
}
