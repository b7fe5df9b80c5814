//! What becomes of the total: it is rounded, or written out as digits.

use super::digits::{Column, Parts, USED, carry, digit_count, round_digits};
use cuda_std::{
    atomic::{Atomic, AtomicI64, Ordering},
    shared::dynamic_shared_mem,
    thread,
};

/// What the last block makes of the total.
pub trait Finish<T: Parts> {
    /// The result.
    type Result;
    /// Whether it is made of digits also where two numbers represent the total.
    const DIGITS: bool;
    /// The result for two numbers whose exact sum is the total, unless it is made of digits.
    fn of_pair(self, high: T, low: T) -> Option<Self::Result>;
    /// The result for a number whose digits are in the total, and the special values among the elements, if there are
    /// any.
    ///
    /// # Safety
    /// There are `T::DIGITS` digits, which only this thread accesses.
    unsafe fn of_digits(self, digits: *mut i64, special: u32) -> Self::Result;
}

/// The total is rounded to the nearest number.
pub struct Rounded;

impl<T: Parts> Finish<T> for Rounded {
    type Result = T;
    const DIGITS: bool = false;

    #[inline(always)]
    fn of_pair(self, high: T, low: T) -> Option<T> {
        // Both are exact, so that one addition rounds once. An exact 0 is +0.
        Some(high.add(low))
    }
    #[inline(always)]
    unsafe fn of_digits(self, digits: *mut i64, special: u32) -> T {
        if special != 0 {
            return T::special(special);
        }
        // SAFETY: the caller upholds this function's contract.
        unsafe { round_digits(digits) }
    }
}

/// The total is written out, so that totals of several devices can be added: a word for each digit, and one for the
/// special values.
pub struct Written(
    /// Room for [`total_words`] words.
    pub *mut i64,
);

/// Number of words of a total that is written out, for numbers of this size in bytes.
pub const fn total_words(bytes: usize) -> usize {
    digit_count(bytes) + 1
}

impl<T: Parts> Finish<T> for Written {
    type Result = ();
    const DIGITS: bool = true;

    #[inline(always)]
    fn of_pair(self, _: T, _: T) -> Option<()> {
        None
    }
    #[inline(always)]
    unsafe fn of_digits(self, digits: *mut i64, special: u32) {
        // SAFETY: the caller upholds this function's contract, and there is room for the words.
        unsafe {
            carry::<T>(digits, 1);
            let mut d = 0;
            while d < T::DIGITS {
                self.0.add(d).write(digits.add(d).read());
                d += 1;
            }
            self.0.add(T::DIGITS).write(i64::from(special));
        }
    }
}

/// The sum of totals that were written out, each by at most 2^30 devices, correctly rounded, on the CPU.
pub fn round_totals<'t, T: Parts>(totals: impl IntoIterator<Item = &'t [i64]>) -> T {
    let mut sum = [0_i64; digit_count(size_of::<f64>())];
    let mut special = 0;
    for total in totals {
        sum.iter_mut().zip(&total[..T::DIGITS]).for_each(|(word, digit)| *word += digit);
        special |= total[T::DIGITS] as u32;
    }
    // SAFETY: there are enough digits for the widest type, which are this function's.
    unsafe { Rounded.of_digits(sum.as_mut_ptr(), special) }
}

/// Adds two numbers to the total and finishes it in thread 0 of the last block; other threads return `None`. Total and
/// words are 0 afterwards.
///
/// # Safety
/// All threads of the last block call it, after [`is_last`](super::digits::is_last); the block has dynamic shared
/// memory for the digits, which no thread accesses meanwhile.
#[inline(always)]
pub unsafe fn finish_total<T: Parts, F: Finish<T>>(
    more: [T; 2],
    total: *mut i64,
    words: *mut u32,
    finish: F,
) -> Option<F::Result> {
    let digits = dynamic_shared_mem::<i64>();
    let mut d = thread::thread_idx_x() as usize;
    while d < T::DIGITS {
        // SAFETY: the total has a word for each digit, and the shared memory too.
        unsafe {
            let word: &AtomicI64 = Atomic::from_ptr(total.add(d));
            digits.add(d).write(word.swap(0, Ordering::Relaxed));
        }
        d += thread::block_dim_x() as usize;
    }
    thread::sync_threads(); // separates the copy of the digits from their rounding
    if thread::thread_idx_x() != 0 {
        return None;
    }
    // SAFETY: only this thread accesses the word: all others of the grid are done.
    let special = unsafe { words.add(1).replace(0) } & !USED;
    // SAFETY: only this thread accesses the digits, which have room for two more numbers.
    unsafe {
        let number = Column::of_digits(digits);
        let special = special | number.add(more[0]) | number.add(more[1]);
        Some(finish.of_digits(digits, special))
    }
}
