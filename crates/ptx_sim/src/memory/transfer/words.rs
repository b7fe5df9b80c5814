//! Shared memory and kernel parameters: 32-bit words by address.

use super::{Sink, Source};
use crate::lanes;
use crate::registers::LANES;

/// Shared memory and kernel parameters.
impl Source for &[u32] {
    #[inline(always)]
    fn narrow(&self, _: usize, address: u64, bytes: u8) -> u32 {
        lanes::load_words(self, address, bytes) as u32
    }
    #[inline(always)]
    fn word(&self, _: usize, address: u64) -> u32 {
        self[(address >> 2) as usize]
    }
    #[inline(always)]
    fn long(&self, _: usize, address: u64) -> u64 {
        lanes::load_words(self, address, 8)
    }
    #[inline(always)]
    fn words<const N: usize>(&self, first: u64, row: &mut [u32; N]) -> bool {
        let words = self.get((first >> 2) as usize..).and_then(|words| words.first_chunk());
        words.map(|words| *row = *words).is_some()
    }
    #[inline(always)]
    fn longs(&self, first: u64, row: &mut [u64; LANES]) -> bool {
        let words = self.get((first >> 2) as usize..).and_then(|words| words.first_chunk::<{ 2 * LANES }>());
        let Some(words) = words else { return false };
        for (value, pair) in row.iter_mut().zip(words.chunks_exact(2)) {
            *value = u64::from(pair[0]) | u64::from(pair[1]) << 32;
        }
        true
    }
}

/// Shared memory.
impl Sink for &mut [u32] {
    #[inline(always)]
    fn put(&mut self, _: usize, address: u64, bytes: u8, value: u64) {
        lanes::store_words(self, address, bytes, value);
    }
    #[inline(always)]
    fn put_words(&mut self, first: u64, values: &[u32; LANES]) -> bool {
        let room = self.get_mut((first >> 2) as usize..).and_then(|words| words.first_chunk_mut());
        room.map(|room| *room = *values).is_some()
    }
    #[inline(always)]
    fn put_longs(&mut self, first: u64, values: &[u64; LANES]) -> bool {
        let room = self.get_mut((first >> 2) as usize..).and_then(|words| words.first_chunk_mut::<{ 2 * LANES }>());
        let Some(room) = room else { return false };
        for (pair, value) in room.chunks_exact_mut(2).zip(values) {
            pair.copy_from_slice(&[*value as u32, (*value >> 32) as u32]);
        }
        true
    }
}
