//! Records that blocks publish for later blocks: a value and a tag for its kind, which become visible together.

use crate::number::Number;
use core::marker::PhantomData;
use core::mem::transmute_copy;
use cuda_std::atomic::{AtomicU64, Ordering};

/// Records of one value of 4 or 8 bytes and a tag.
///
/// A record is one 64-bit word per 4 bytes of the value, with the tag in the upper half of each. A word is read and
/// written as a whole, so relaxed accesses suffice: the tag and the value arrive in one register, and no fence has to
/// order them. A reader of an 8-byte value may find one half newer than the other; the tags then differ.
pub struct Records<T> {
    words: *mut u64,
    marker: PhantomData<T>,
}

impl<T: Number> Records<T> {
    /// Words per record.
    pub const WORDS: usize = size_of::<T>() / 4;

    /// Creates the view of the records that start at `words`.
    ///
    /// # Safety
    /// The words are initialised and, during the launch, accessed as records only.
    pub unsafe fn new(words: *mut u64) -> Self {
        Self { words, marker: PhantomData }
    }

    /// Packs 32 bits of the value, and the tag above them, into a word.
    const fn word(bits: u32, tag: u32) -> u64 {
        (tag as u64) << 32 | bits as u64
    }

    /// Publishes the value.
    ///
    /// # Safety
    /// Record `index` exists. No other thread writes it, and every value written to it has a different tag.
    #[inline(always)]
    pub unsafe fn publish(&self, index: usize, value: T, tag: u32) {
        // SAFETY: the caller upholds this function's contract; `T` has 4 or 8 bytes, and any bits are a valid integer.
        unsafe {
            let at = self.words.add(index * Self::WORDS);
            if Self::WORDS == 1 {
                AtomicU64::from_ptr(at).store(Self::word(transmute_copy(&value), tag), Ordering::Relaxed);
            } else {
                let bits: u64 = transmute_copy(&value);
                AtomicU64::from_ptr(at).store(Self::word(bits as u32, tag), Ordering::Relaxed);
                AtomicU64::from_ptr(at.add(1)).store(Self::word((bits >> 32) as u32, tag), Ordering::Relaxed);
            }
        }
    }

    /// The value and its tag; tag 0 while the value is incomplete.
    ///
    /// # Safety
    /// Record `index` exists.
    #[inline(always)]
    pub unsafe fn read(&self, index: usize) -> (T, u32) {
        // SAFETY: the caller upholds this function's contract; `T` has 4 or 8 bytes, and any bits are a valid number.
        unsafe {
            let at = self.words.add(index * Self::WORDS);
            let low = AtomicU64::from_ptr(at).load(Ordering::Relaxed);
            let tag = (low >> 32) as u32;
            if Self::WORDS == 1 {
                return (transmute_copy(&(low as u32)), tag);
            }
            let high = AtomicU64::from_ptr(at.add(1)).load(Ordering::Relaxed);
            let value = transmute_copy(&(high << 32 | low & 0xffff_ffff));
            (value, if (high >> 32) as u32 == tag { tag } else { 0 })
        }
    }
}
