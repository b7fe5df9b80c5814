//! Chunks: the fewest neighbouring values that fill a multiple of 16 bytes.
//!
//! A thread loads a chunk in as many instructions as it has 16 bytes. One value of 16, 32 or 48 bytes is a chunk, two
//! of 24, four of 4, 12 or 20, and so on.

use bytemuck::Pod;
use core::mem::MaybeUninit;
use cuda_std::memory::U32x4;

/// Neighbouring values on a boundary of 16 bytes.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
pub struct Chunk<T, const W: usize>(pub [T; W]);

impl<T: Pod, const W: usize> Chunk<T, W> {
    /// Whether the values do not fill a multiple of 16 bytes.
    const PADDING: bool = !(size_of::<T>() * W).is_multiple_of(16);

    /// Reads the chunk at `at`, 16 bytes in an instruction if its values fill them.
    ///
    /// # Safety
    /// `at` must be aligned to 16 bytes and point to initialised memory that is not written meanwhile.
    #[inline(always)]
    pub unsafe fn load(at: *const Self) -> Self {
        if const { Self::PADDING } {
            // SAFETY: the caller upholds this function's contract.
            return unsafe { at.read() };
        }
        let mut chunk = MaybeUninit::<Self>::uninit();
        // LLVM unrolls a loop of these few steps early enough to keep the chunk in registers.
        let mut i = 0;
        while i < size_of::<Self>() / 16 {
            // SAFETY: the caller upholds this function's contract; a chunk is as long as its parts of 16 bytes
            // together, and its bytes are all initialised, since there is no padding.
            unsafe { chunk.as_mut_ptr().cast::<U32x4>().add(i).write(U32x4::load(at.cast::<U32x4>().add(i))) };
            i += 1;
        }
        // SAFETY: all bytes were written, and every bit pattern is valid.
        unsafe { chunk.assume_init() }
    }

    /// Writes the chunk to `at`, 16 bytes in an instruction if its values fill them.
    ///
    /// # Safety
    /// `at` must be aligned to 16 bytes and point to memory that no other thread accesses meanwhile.
    #[inline(always)]
    pub unsafe fn store(self, at: *mut Self) {
        if const { Self::PADDING } {
            // SAFETY: the caller upholds this function's contract.
            return unsafe { at.write(self) };
        }
        let from = (&raw const self).cast::<U32x4>();
        let mut i = 0;
        while i < size_of::<Self>() / 16 {
            // SAFETY: the caller upholds this function's contract; the bytes are as in `load`.
            unsafe { from.add(i).read().store(at.cast::<U32x4>().add(i)) };
            i += 1;
        }
    }
}

/// Values that fill 8 bytes, on such a boundary.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
struct Short<T, const W: usize>([T; W]);

/// Reads values that fill 8 bytes or a few times 16.
///
/// # Safety
/// As for [`Chunk::load`]; for 8 bytes `at` must be aligned to these.
#[inline(always)]
pub unsafe fn read<T: Pod, const W: usize>(at: *const T) -> [T; W] {
    // SAFETY: the caller upholds this function's contract.
    unsafe {
        if const { size_of::<T>() * W == 8 } {
            at.cast::<Short<T, W>>().read().0
        } else {
            Chunk::load(at.cast::<Chunk<T, W>>()).0
        }
    }
}

/// Writes values that fill 8 bytes or a few times 16.
///
/// # Safety
/// As for [`Chunk::store`]; for 8 bytes `at` must be aligned to these.
#[inline(always)]
pub unsafe fn write<T: Pod, const W: usize>(at: *mut T, values: [T; W]) {
    // SAFETY: the caller upholds this function's contract.
    unsafe {
        if const { size_of::<T>() * W == 8 } {
            at.cast::<Short<T, W>>().write(Short(values));
        } else {
            Chunk(values).store(at.cast());
        }
    }
}

/// Number of values of this size in a chunk: a power of two, at most 16.
pub const fn width(bytes: usize) -> usize {
    assert!(bytes > 0, "values of operators have at least one byte");
    let mut width = 1;
    while !(bytes * width).is_multiple_of(16) {
        width *= 2;
    }
    width
}

/// Whether values of this size are loaded in chunks. Those of an odd size above 8 bytes are not: their chunks would
/// take too many registers.
pub const fn fits(bytes: usize) -> bool {
    bytes * width(bytes) <= 128
}

/// Most chunks of this size that a thread holds: a power of two, at most 8. Eight of 16 bytes are enough loads in
/// flight to cover the latency of memory, and all that fits in registers beside the rest.
pub const fn most_rows(bytes: usize) -> usize {
    match bytes {
        0..=16 => 8,
        17..=32 => 4,
        33..=64 => 2,
        _ => 1,
    }
}

/// `with_width!(bytes, W => expression)`: evaluates the expression with the constant `W`, the [`width`] of values of
/// this constant size. The compiler drops the other arms.
macro_rules! with_width {
    ($bytes:expr, $w:ident => $body:expr) => {
        match const { $crate::operator::chunk::width($bytes) } {
            1 => {
                const $w: usize = 1;
                $body
            }
            2 => {
                const $w: usize = 2;
                $body
            }
            4 => {
                const $w: usize = 4;
                $body
            }
            8 => {
                const $w: usize = 8;
                $body
            }
            _ => {
                const $w: usize = 16;
                $body
            }
        }
    };
}
pub(crate) use with_width;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_fill_16_bytes() {
        for (bytes, values) in [(1, 16), (2, 8), (3, 16), (4, 4), (8, 2), (12, 4), (16, 1), (20, 4), (24, 2), (32, 1)] {
            assert_eq!(width(bytes), values, "{bytes}");
        }
        assert_eq!([16, 32, 48, 64, 80].map(most_rows), [8, 4, 2, 2, 1]);
        assert_eq!([4, 20, 24, 28, 7, 9, 60].map(fits), [true, true, true, true, true, false, false]);
    }
}
