//! Local memory: 32-bit words by address, one per lane.

use super::{Sink, Source};
use crate::isa::lift::{blend, every};
use crate::lanes;
use crate::registers::LANES;

/// Local memory.
impl Source for &[[u32; LANES]] {
    const COMMON: bool = false;

    #[inline(always)]
    fn narrow(&self, lane: usize, address: u64, bytes: u8) -> u32 {
        lanes::load_local(self, lane, address, bytes) as u32
    }
    #[inline(always)]
    fn word(&self, lane: usize, address: u64) -> u32 {
        self[(address >> 2) as usize][lane]
    }
    #[inline(always)]
    fn long(&self, lane: usize, address: u64) -> u64 {
        lanes::load_local(self, lane, address, 8)
    }
    #[inline(always)]
    fn words<const N: usize>(&self, _: u64, _: &mut [u32; N]) -> bool {
        false
    }
    #[inline(always)]
    fn longs(&self, _: u64, _: &mut [u64; LANES]) -> bool {
        false
    }
    #[inline(always)]
    fn same_word(&self, address: u64) -> [u32; LANES] {
        self[(address >> 2) as usize]
    }
    #[inline(always)]
    fn same_long(&self, address: u64) -> [u64; LANES] {
        let (low, high) = (&self[(address >> 2) as usize], &self[(address >> 2) as usize + 1]);
        every(|lane| u64::from(low[lane]) | u64::from(high[lane]) << 32)
    }
}

/// Local memory.
impl Sink for &mut [[u32; LANES]] {
    #[inline(always)]
    fn put(&mut self, lane: usize, address: u64, bytes: u8, value: u64) {
        lanes::store_local(self, lane, address, bytes, value);
    }
    #[inline(always)]
    fn put_words(&mut self, _: u64, _: &[u32; LANES]) -> bool {
        false
    }
    #[inline(always)]
    fn put_longs(&mut self, _: u64, _: &[u64; LANES]) -> bool {
        false
    }
    #[inline(always)]
    fn put_same(&mut self, address: u64, mask: u32, values: &[u32; LANES]) -> bool {
        blend(&mut self[(address >> 2) as usize], mask, values);
        true
    }
}
