//! Loads of neighbouring elements of a stored line, which may start anywhere.

use crate::unroll::unroll;
use cuda_std::launch::Scalar;
use cuda_std::memory::{Load, U32x4, Vector, load_as};

/// How the elements of a line are loaded: one by one.
pub const SINGLE: u32 = 0;

/// 16 bytes at once, from lines that start on 16-byte boundaries.
pub const ALIGNED: u32 = 1;

/// 16 bytes at once, of which each load of a line that does not start on such a boundary takes parts of two vectors.
pub const SHIFTED: u32 = 2;

/// As [`ALIGNED`], of a matrix that is read once: the caches are to keep other data.
pub const STREAMED: u32 = 3;

/// Loads the `W` elements from `at` on.
///
/// # Safety
/// There are `W` elements; for [`ALIGNED`] and [`STREAMED`], they start on a 16-byte boundary, and for the latter they
/// are in global memory; for [`SHIFTED`], the 32 bytes from the boundary before `at` on are in the same allocation.
#[inline(always)]
pub unsafe fn load<B: Scalar, const W: usize, const MODE: u32>(at: *const B) -> [B; W] {
    // SAFETY: the caller upholds the contract.
    unsafe {
        match MODE {
            SINGLE => core::array::from_fn(|i| at.add(i).read()),
            ALIGNED => Vector::<B, W>::load(at.cast()).0,
            STREAMED => core::mem::transmute_copy(&load_as(Load::Streaming, at.cast::<U32x4>())),
            _ => {
                let offset = at.addr() % 16;
                let vectors = at.byte_sub(offset).cast::<U32x4>();
                let words = shift([U32x4::load(vectors).0, U32x4::load(vectors.add(1)).0], offset as u32);
                core::mem::transmute_copy(&words)
            }
        }
    }
}

/// The 16 bytes from byte `offset` of two vectors on; `offset` is even and below 16.
#[inline(always)]
fn shift([low, high]: [[u32; 4]; 2], offset: u32) -> [u32; 4] {
    let mut words = [low[0], low[1], low[2], low[3], high[0], high[1], high[2], high[3]];
    if offset & 8 != 0 {
        unroll!(i < 6 => { words[i] = words[i + 2]; });
    }
    if offset & 4 != 0 {
        unroll!(i < 5 => { words[i] = words[i + 1]; });
    }
    if offset & 2 != 0 {
        unroll!(i < 4 => { words[i] = words[i] >> 16 | words[i + 1] << 16; });
    }
    [words[0], words[1], words[2], words[3]]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_offset_gives_the_bytes_behind_it() {
        let bytes: [u8; 32] = core::array::from_fn(|i| i as u8);
        let word = |i: usize| u32::from_le_bytes(core::array::from_fn(|byte| bytes[4 * i + byte]));
        let vectors = [core::array::from_fn(word), core::array::from_fn(|i| word(4 + i))];
        for offset in (0..16).step_by(2) {
            let words = shift(vectors, offset);
            let found: [u8; 16] = core::array::from_fn(|i| words[i / 4].to_le_bytes()[i % 4]);
            assert_eq!(found, core::array::from_fn(|i| i as u8 + offset as u8), "{offset}");
        }
    }
}
