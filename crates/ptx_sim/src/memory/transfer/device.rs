//! Device memory: one allocation, or several.

use super::{Sink, Source};
use crate::memory::storage::Storage;
use crate::memory::{Snapshot, View};
use crate::registers::LANES;
use std::sync::atomic::Ordering::Relaxed;

/// One allocation of device memory, and its address.
pub struct Allocated<'a> {
    pub(super) storage: &'a Storage,
    pub(super) base: u64,
}

impl<'a> Allocated<'a> {
    pub fn new(view: &'a View) -> Self {
        Self { storage: &view.storage, base: view.base }
    }
}

impl Source for Allocated<'_> {
    #[inline(always)]
    fn narrow(&self, _: usize, address: u64, bytes: u8) -> u32 {
        self.storage.load(address - self.base, bytes) as u32
    }
    #[inline(always)]
    fn word(&self, _: usize, address: u64) -> u32 {
        self.storage.u32()[((address - self.base) >> 2) as usize].load(Relaxed)
    }
    #[inline(always)]
    fn long(&self, _: usize, address: u64) -> u64 {
        self.storage.u64()[((address - self.base) >> 3) as usize].load(Relaxed)
    }
    #[inline(always)]
    fn words<const N: usize>(&self, first: u64, row: &mut [u32; N]) -> bool {
        let cells = self.storage.u32().get(((first - self.base) >> 2) as usize..);
        let Some(cells) = cells.and_then(|cells| cells.first_chunk::<N>()) else { return false };
        for (value, cell) in row.iter_mut().zip(cells) {
            *value = cell.load(Relaxed);
        }
        true
    }
    #[inline(always)]
    fn longs(&self, first: u64, row: &mut [u64; LANES]) -> bool {
        let cells = self.storage.u64().get(((first - self.base) >> 3) as usize..);
        let Some(cells) = cells.and_then(|cells| cells.first_chunk::<LANES>()) else { return false };
        for (value, cell) in row.iter_mut().zip(cells) {
            *value = cell.load(Relaxed);
        }
        true
    }
}

impl Sink for Allocated<'_> {
    #[inline(always)]
    fn put(&mut self, _: usize, address: u64, bytes: u8, value: u64) {
        self.storage.store(address - self.base, bytes, value);
    }
    #[inline(always)]
    fn put_words(&mut self, first: u64, values: &[u32; LANES]) -> bool {
        let cells = self.storage.u32().get(((first - self.base) >> 2) as usize..);
        let Some(cells) = cells.and_then(|cells| cells.first_chunk::<LANES>()) else { return false };
        for (cell, value) in cells.iter().zip(values) {
            cell.store(*value, Relaxed);
        }
        true
    }
    #[inline(always)]
    fn put_longs(&mut self, first: u64, values: &[u64; LANES]) -> bool {
        let cells = self.storage.u64().get(((first - self.base) >> 3) as usize..);
        let Some(cells) = cells.and_then(|cells| cells.first_chunk::<LANES>()) else { return false };
        for (cell, value) in cells.iter().zip(values) {
            cell.store(*value, Relaxed);
        }
        true
    }
}

/// Device memory when the lanes access several allocations.
impl Source for &Snapshot {
    #[inline(always)]
    fn narrow(&self, _: usize, address: u64, bytes: u8) -> u32 {
        self.at(address).map_or(0, |view| view.storage.load(address - view.base, bytes) as u32)
    }
    #[inline(always)]
    fn word(&self, lane: usize, address: u64) -> u32 {
        self.narrow(lane, address, 4)
    }
    #[inline(always)]
    fn long(&self, _: usize, address: u64) -> u64 {
        self.at(address).map_or(0, |view| view.storage.load(address - view.base, 8))
    }
    #[inline(always)]
    fn words<const N: usize>(&self, _: u64, _: &mut [u32; N]) -> bool {
        false
    }
    #[inline(always)]
    fn longs(&self, _: u64, _: &mut [u64; LANES]) -> bool {
        false
    }
}

impl Sink for &Snapshot {
    #[inline(always)]
    fn put(&mut self, _: usize, address: u64, bytes: u8, value: u64) {
        if let Some(view) = self.at(address) {
            view.storage.store(address - view.base, bytes, value);
        }
    }
    #[inline(always)]
    fn put_words(&mut self, _: u64, _: &[u32; LANES]) -> bool {
        false
    }
    #[inline(always)]
    fn put_longs(&mut self, _: u64, _: &[u64; LANES]) -> bool {
        false
    }
}
