//! The set of sectors of global memory that a launch accesses: one bit each, in pages that are allocated when they are
//! first accessed.

use crate::observe::Touch;
use std::collections::HashMap;

/// Sectors per page, which covers 64 KiB of memory.
const PAGE: u64 = 2048;

/// Bytes per sector.
pub(super) const SECTOR: u64 = 32;

/// A set of sectors.
#[derive(Debug, Default)]
pub(super) struct Footprint {
    pages: HashMap<u64, Box<[u64; PAGE as usize / 64]>>,
}

impl Footprint {
    /// Adds the sectors of an access.
    pub fn touch(&mut self, touch: &Touch<'_>) {
        let size = u64::from(touch.bytes.max(1));
        let last = |address: u64| address.saturating_add(size - 1) / SECTOR;
        let dense = touch.spread.stride.is_some_and(|stride| stride.unsigned_abs() <= SECTOR);
        if dense {
            return self.add(touch.spread.low / SECTOR, last(touch.spread.high));
        }
        crate::lanes::each(touch.mask, |lane| {
            self.add(touch.addresses[lane] / SECTOR, last(touch.addresses[lane]));
        });
    }

    /// Adds the sectors of a range of bytes.
    pub fn range(&mut self, start: u64, bytes: u64) {
        self.add(start / SECTOR, start.saturating_add(bytes.max(1) - 1) / SECTOR);
    }

    fn add(&mut self, first: u64, last: u64) {
        let mut sector = first;
        while sector <= last {
            let page = self.pages.entry(sector / PAGE).or_insert_with(|| Box::new([0; PAGE as usize / 64]));
            let end = (sector / PAGE * PAGE + PAGE - 1).min(last);
            for bit in sector % PAGE..=end % PAGE {
                page[(bit / 64) as usize] |= 1 << (bit % 64);
            }
            sector = end + 1;
        }
    }

    /// Returns the size of all sectors in bytes.
    pub fn bytes(&self) -> u64 {
        let bits = |page: &[u64; PAGE as usize / 64]| page.iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
        self.pages.values().map(|page| bits(page)).sum::<u64>() * SECTOR
    }

    /// Computes the union with another set.
    pub fn absorb(&mut self, other: Self) {
        for (number, theirs) in other.pages {
            let page = self.pages.entry(number).or_insert_with(|| Box::new([0; PAGE as usize / 64]));
            page.iter_mut().zip(theirs.iter()).for_each(|(mine, more)| *mine |= more);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sector_counts_once() {
        let mut set = Footprint::default();
        set.add(10, 13);
        set.add(12, 20);
        set.add(PAGE - 1, PAGE);
        assert_eq!(set.bytes(), (11 + 2) * SECTOR);
        let mut other = Footprint::default();
        other.add(20, 21);
        set.absorb(other);
        assert_eq!(set.bytes(), (12 + 2) * SECTOR);
    }
}
