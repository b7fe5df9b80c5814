//! Records that blocks publish for other blocks: a value and a tag for its kind, which become visible together.

use super::{MAX_BYTES, Pod};
use crate::unroll::unroll;
use core::marker::PhantomData;
use core::mem::transmute_copy;
use cuda_std::atomic::{AtomicU64, Ordering};

/// Records of one value and a tag.
///
/// A record is one 64-bit word per 4 bytes of the value, with the tag in the upper half of each. A word is read and
/// written as a whole, so relaxed accesses suffice: the tag and the value arrive in one register, and no fence has to
/// order them. A reader of a value of several words may find some newer than others; the tags then differ.
///
/// The words of a record lie side by side. Those of `INTERLEAVED` records do not: the first words of all records come
/// before all second ones, so that threads which read neighbouring records read neighbouring words.
pub struct Records<T, const INTERLEAVED: bool = false> {
    words: *mut u64,
    /// Number of records, if they are interleaved.
    count: usize,
    marker: PhantomData<T>,
}

impl<T: Pod> Records<T> {
    /// Creates the view of the records that start at `words`.
    ///
    /// # Safety
    /// The words are initialised and, during the launch, accessed as records only.
    pub unsafe fn new(words: *mut u64) -> Self {
        Self { words, count: 0, marker: PhantomData }
    }
}

impl<T: Pod> Records<T, true> {
    /// Creates the view of `count` interleaved records that start at `words`.
    ///
    /// # Safety
    /// That of [`new`](Records::new).
    pub unsafe fn interleaved(words: *mut u64, count: usize) -> Self {
        Self { words, count, marker: PhantomData }
    }
}

impl<T: Pod, const INTERLEAVED: bool> Records<T, INTERLEAVED> {
    /// Words per record.
    pub const WORDS: usize = words(size_of::<T>());

    /// The first word of a record.
    #[inline(always)]
    fn first(&self, index: usize) -> *mut u64 {
        self.words.wrapping_add(if INTERLEAVED { index } else { index * Self::WORDS })
    }

    /// A word of the record whose first one this is.
    #[inline(always)]
    fn word_of(&self, first: *mut u64, i: usize) -> *mut u64 {
        first.wrapping_add(if INTERLEAVED { i * self.count } else { i })
    }

    /// Packs 32 bits of the value, and the tag above them, into a word.
    const fn word(bits: u32, tag: u32) -> u64 {
        (tag as u64) << 32 | bits as u64
    }

    /// Publishes the value.
    ///
    /// # Safety
    /// Record `index` exists. No other thread writes it, and no reader takes words of two values with one tag for a
    /// value.
    #[inline(always)]
    pub unsafe fn publish(&self, index: usize, value: T, tag: u32) {
        let parts = split(value);
        let first = self.first(index);
        unroll!(i < const { size_of::<T>().div_ceil(4) } => {
            // SAFETY: the caller upholds this function's contract.
            unsafe { AtomicU64::from_ptr(self.word_of(first, i)) }.store(Self::word(parts[i], tag), Ordering::Relaxed);
        });
    }

    /// The value and its tag; tag 0 while the value is incomplete.
    ///
    /// # Safety
    /// Record `index` exists.
    #[inline(always)]
    pub unsafe fn read(&self, index: usize) -> (T, u32) {
        let first = self.first(index);
        let mut words = [0; MAX_BYTES / 4];
        unroll!(i < const { size_of::<T>().div_ceil(4) } => {
            // SAFETY: the caller upholds this function's contract.
            words[i] = unsafe { AtomicU64::from_ptr(self.word_of(first, i)) }.load(Ordering::Relaxed);
        });
        let tag = (words[0] >> 32) as u32;
        let mut complete = true;
        unroll!(i < const { size_of::<T>().div_ceil(4) } => { complete &= (words[i] >> 32) as u32 == tag });
        (join(words.map(|word| word as u32)), if complete { tag } else { 0 })
    }

    /// Gives the value to the thread that will [take](Records::take) it.
    ///
    /// # Safety
    /// Record `index` exists. No other thread writes it before the value is taken, and its tag is 0.
    #[inline(always)]
    pub unsafe fn give(&self, index: usize, value: T) {
        const { assert!(size_of::<T>() > 0, "a record of no words cannot be waited for") };
        // SAFETY: the caller upholds this function's contract. All words have tag 0 until this value's are written, and
        // again before the next value's are.
        unsafe { self.publish(index, value, GIVEN) };
    }

    /// Waits for the value that another thread gives, and leaves the record with tag 0. Lanes of a warp may wait for
    /// another lane of it, since threads of a warp are scheduled independently (compute capability 7.0).
    ///
    /// # Safety
    /// Record `index` exists. One thread takes the value, and the one that gives it runs or will run.
    #[inline(always)]
    pub unsafe fn take(&self, index: usize) -> T {
        loop {
            // SAFETY: the caller upholds this function's contract; after the value has arrived, the record is this
            // thread's.
            unsafe {
                let (value, tag) = self.read(index);
                if tag == GIVEN {
                    self.publish(index, T::zeroed(), 0);
                    return value;
                }
            }
        }
    }
}

/// The tag of a value that waits to be taken.
const GIVEN: u32 = 1;

/// Words of the record of a value of this size.
pub const fn words(bytes: usize) -> usize {
    bytes.div_ceil(4)
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
