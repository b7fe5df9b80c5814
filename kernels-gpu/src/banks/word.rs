//! The words that a lane moves at once: 1, 2 or 4 elements of 4 bytes.

use cuda_std::launch::Instance;

/// Neighbouring `u32` that are loaded and stored together.
pub trait Word: Copy + Instance + 'static {
    /// Number of elements.
    const LEN: usize;
    /// The word whose elements are all zero.
    const ZERO: Self;

    /// Loads the elements from `first` on; those past the end are zero.
    fn load(input: &[u32], first: usize) -> Self;

    /// Adds element by element; wraps.
    fn add(self, other: Self) -> Self;

    /// Writes the elements to `first..`, as far as they are among the `len` elements at `output`.
    ///
    /// # Safety
    /// `output` has `len` elements, and no other thread writes these.
    unsafe fn store(self, output: *mut u32, first: usize, len: usize);
}

macro_rules! word {
    ($(#[$doc:meta])* $name:ident $entry:literal $len:literal $align:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        #[repr(C, align($align))]
        pub struct $name([u32; $len]);

        impl Instance for $name {
            const NAME: &'static str = $entry;
        }

        impl Word for $name {
            const LEN: usize = $len;
            const ZERO: Self = Self([0; $len]);

            #[inline(always)]
            fn load(input: &[u32], first: usize) -> Self {
                Self(core::array::from_fn(|k| if first + k < input.len() { input[first + k] } else { 0 }))
            }
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                Self(core::array::from_fn(|k| self.0[k].wrapping_add(other.0[k])))
            }
            #[inline(always)]
            unsafe fn store(self, output: *mut u32, first: usize, len: usize) {
                let mut k = 0;
                while k < $len {
                    if first + k < len {
                        // SAFETY: the caller upholds this function's contract.
                        unsafe { output.add(first + k).write(self.0[k]) };
                    }
                    k += 1;
                }
            }
        }
    };
}
word!(
    /// One element.
    Bytes4 "bytes4" 1 4
);
word!(
    /// Two elements.
    Bytes8 "bytes8" 2 8
);
word!(
    /// Four elements: the most that one instruction moves per lane.
    Bytes16 "bytes16" 4 16
);
