//! The set of sectors of global memory that a launch accesses: one bit each, with the first block that does so where
//! that is asked for, in pages that are allocated when they are first accessed.

use crate::observe::Touch;
use std::collections::HashMap;

/// Sectors per page, which covers 64 KiB of memory.
const PAGE: u64 = 2048;

/// Bytes per sector.
pub(super) const SECTOR: u64 = 32;

/// A set of sectors.
#[derive(Debug, Default)]
pub(super) struct Footprint {
    pages: HashMap<u64, Page>,
    /// Whether pages have blocks.
    by_block: bool,
}

/// Sectors of a page that are in the set, and the lowest number of a block that accesses each of them.
#[derive(Debug)]
struct Page {
    bits: [u64; PAGE as usize / 64],
    blocks: Option<Box<[u32; PAGE as usize]>>,
}

impl Page {
    fn new(by_block: bool) -> Self {
        Self { bits: [0; PAGE as usize / 64], blocks: by_block.then(|| Box::new([u32::MAX; PAGE as usize])) }
    }
}

impl Footprint {
    /// An empty set that keeps the first block of each sector, in 33 times the memory.
    pub fn by_block() -> Self {
        Self { by_block: true, ..Self::default() }
    }

    /// Adds the sectors of an access.
    pub fn touch(&mut self, touch: &Touch<'_>) {
        let block = touch.owner;
        let size = u64::from(touch.bytes.max(1));
        let last = |address: u64| address.saturating_add(size - 1) / SECTOR;
        let dense = touch.spread.stride.is_some_and(|stride| stride.unsigned_abs() <= SECTOR);
        if dense {
            return self.add(block, touch.spread.low / SECTOR, last(touch.spread.high));
        }
        crate::lanes::each(touch.mask, |lane| {
            self.add(block, touch.addresses[lane] / SECTOR, last(touch.addresses[lane]));
        });
    }

    /// Adds the sectors of a range of bytes that a block accesses.
    pub fn range(&mut self, block: u64, start: u64, bytes: u64) {
        self.add(block, start / SECTOR, start.saturating_add(bytes.max(1) - 1) / SECTOR);
    }

    fn add(&mut self, block: u64, first: u64, last: u64) {
        let block = u32::try_from(block).unwrap_or(u32::MAX);
        let mut sector = first;
        while sector <= last {
            let page = self.pages.entry(sector / PAGE).or_insert_with(|| Page::new(self.by_block));
            let end = (sector / PAGE * PAGE + PAGE - 1).min(last);
            for bit in sector % PAGE..=end % PAGE {
                page.bits[(bit / 64) as usize] |= 1 << (bit % 64);
                if let Some(blocks) = &mut page.blocks {
                    let least = &mut blocks[bit as usize];
                    *least = block.min(*least);
                }
            }
            sector = end + 1;
        }
    }

    /// The lowest number of a block that accesses a sector, if one does and the set keeps blocks.
    pub fn first_block(&self, sector: u64) -> Option<u32> {
        let page = self.pages.get(&(sector / PAGE))?;
        let block = page.blocks.as_ref()?[(sector % PAGE) as usize];
        (block != u32::MAX).then_some(block)
    }

    /// Returns the size of all sectors in bytes.
    pub fn bytes(&self) -> u64 {
        let bits = |page: &[u64; PAGE as usize / 64]| page.iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
        self.pages.values().map(|page| bits(&page.bits)).sum::<u64>() * SECTOR
    }

    /// Computes the union with another set.
    pub fn absorb(&mut self, other: Self) {
        for (number, theirs) in other.pages {
            let page = self.pages.entry(number).or_insert_with(|| Page::new(self.by_block));
            page.bits.iter_mut().zip(theirs.bits).for_each(|(mine, more)| *mine |= more);
            if let (Some(mine), Some(theirs)) = (&mut page.blocks, theirs.blocks) {
                mine.iter_mut().zip(theirs.iter()).for_each(|(mine, other)| *mine = (*mine).min(*other));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sector_counts_once() {
        let mut set = Footprint::default();
        set.add(0, 10, 13);
        set.add(0, 12, 20);
        set.add(0, PAGE - 1, PAGE);
        assert_eq!(set.bytes(), (11 + 2) * SECTOR);
        let mut other = Footprint::default();
        other.add(0, 20, 21);
        set.absorb(other);
        assert_eq!(set.bytes(), (12 + 2) * SECTOR);
    }

    #[test]
    fn the_lowest_block_of_a_sector_is_known() {
        let mut set = Footprint::by_block();
        set.add(7, 10, 13);
        set.add(5, 12, 14);
        assert_eq!([9, 10, 12, 14].map(|sector| set.first_block(sector)), [None, Some(7), Some(5), Some(5)]);
        // Another worker may have run an earlier block later.
        let mut other = Footprint::by_block();
        other.add(3, 10, 10);
        set.absorb(other);
        assert_eq!([10, 11].map(|sector| set.first_block(sector)), [Some(3), Some(7)]);
    }
}
