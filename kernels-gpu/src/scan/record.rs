//! Records that blocks publish for later blocks: a value and a tag for its kind, which become visible together.

use crate::operator::{MAX_BYTES, Pod};
use crate::unroll::unroll;
use core::marker::PhantomData;
use core::mem::transmute_copy;
use cuda_std::atomic::{AtomicU64, Ordering};

/// Records of one value and a tag.
///
/// A record is one 64-bit word per 4 bytes of the value, with the tag in the upper half of each. A word is read and
/// written as a whole, so relaxed accesses suffice: the tag and the value arrive in one register, and no fence has to
/// order them. A reader of a value of several words may find some newer than others; the tags then differ.
pub struct Records<T> {
    words: *mut u64,
    marker: PhantomData<T>,
}

impl<T: Pod> Records<T> {
    /// Words per record.
    pub const WORDS: usize = size_of::<T>().div_ceil(4);

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
        let parts = split(value);
        let at = self.words.wrapping_add(index * Self::WORDS);
        unroll!(i < const { size_of::<T>().div_ceil(4) } => {
            // SAFETY: the caller upholds this function's contract.
            unsafe { AtomicU64::from_ptr(at.add(i)) }.store(Self::word(parts[i], tag), Ordering::Relaxed);
        });
    }

    /// The value and its tag; tag 0 while the value is incomplete.
    ///
    /// # Safety
    /// Record `index` exists.
    #[inline(always)]
    pub unsafe fn read(&self, index: usize) -> (T, u32) {
        let at = self.words.wrapping_add(index * Self::WORDS);
        let mut words = [0; MAX_BYTES / 4];
        unroll!(i < const { size_of::<T>().div_ceil(4) } => {
            // SAFETY: the caller upholds this function's contract.
            words[i] = unsafe { AtomicU64::from_ptr(at.add(i)) }.load(Ordering::Relaxed);
        });
        let tag = (words[0] >> 32) as u32;
        let mut complete = true;
        unroll!(i < const { size_of::<T>().div_ceil(4) } => { complete &= (words[i] >> 32) as u32 == tag });
        (join(words.map(|word| word as u32)), if complete { tag } else { 0 })
    }
}

/// The bytes of a value as words; the last one may be filled with zeros.
#[inline(always)]
fn split<T: Pod>(value: T) -> [u32; MAX_BYTES / 4] {
    let mut words = [0_u32; MAX_BYTES / 4];
    // SAFETY: the words have room for the value, whose bytes are all initialised.
    unsafe { words.as_mut_ptr().cast::<T>().write_unaligned(value) };
    words
}

/// The value that [`split`] divided.
#[inline(always)]
fn join<T: Pod>(words: [u32; MAX_BYTES / 4]) -> T {
    const { assert!(size_of::<T>() <= MAX_BYTES) };
    // SAFETY: there are as many bytes, and every bit pattern is valid.
    unsafe { transmute_copy(&words) }
}
