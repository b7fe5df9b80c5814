//! The set of sectors, or of words, of global memory that a launch accesses: one bit each, with the first block that
//! does so where that is asked for, in pages that are allocated when they are first accessed.

use crate::observe::Touch;
use std::collections::HashMap;

/// Sectors or words per page, which covers 64 or 8 KiB of memory.
const PAGE: u64 = 2048;

/// Bytes per sector.
pub(super) const SECTOR: u64 = 32;

/// Bytes per word.
const WORD: u64 = 4;

/// A set of sectors, or of words.
#[derive(Debug)]
pub(super) struct Footprint {
    pages: HashMap<u64, Page>,
    /// Bytes of an element of the set. Sets of sectors keep the first block of each.
    unit: u64,
}

/// Elements of a page that are in the set, and the lowest number of a block that accesses each of them.
#[derive(Debug)]
struct Page {
    bits: [u64; PAGE as usize / 64],
    blocks: Option<Box<[u32; PAGE as usize]>>,
}

impl Page {
    /// An empty page of a set whose elements have this size.
    fn new(unit: u64) -> Self {
        let blocks = (unit == SECTOR).then(|| Box::new([u32::MAX; PAGE as usize]));
        Self { bits: [0; PAGE as usize / 64], blocks }
    }
}

/// How device memory moves a set of sectors: at least two of them, the halves of 64 bytes, at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pairs {
    /// Pairs of sectors whose line's other pair is moved, too.
    pub beside: u64,
    /// Pairs of sectors whose line's other pair is not moved.
    pub lone: u64,
}

impl Pairs {
    /// The pairs of the line whose four sectors are the lowest bits.
    fn of(line: u64) -> Self {
        match (line & 3 != 0, line & 12 != 0) {
            (true, true) => Self { beside: 2, lone: 0 },
            (false, false) => Self::default(),
            _ => Self { beside: 0, lone: 1 },
        }
    }

    fn add(&mut self, other: Self) {
        self.beside += other.beside;
        self.lone += other.lone;
    }
}

/// What is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Written {
    /// Bytes of all sectors.
    pub bytes: u64,
    /// The pairs of these sectors.
    pub pairs: Pairs,
    /// Those that memory reads before, because parts of their sectors are not written and nothing else reads them.
    pub filled: Pairs,
}

impl Footprint {
    /// An empty set of sectors that keeps the first block of each, in 33 times the memory.
    pub fn by_block() -> Self {
        Self { pages: HashMap::new(), unit: SECTOR }
    }

    /// An empty set of words.
    pub fn of_words() -> Self {
        Self { pages: HashMap::new(), unit: WORD }
    }

    /// Adds the elements of an access.
    pub fn touch(&mut self, touch: &Touch<'_>) {
        let block = touch.owner;
        let size = u64::from(touch.bytes.max(1));
        let unit = self.unit;
        let last = |address: u64| address.saturating_add(size - 1) / unit;
        let dense = touch.spread.stride.is_some_and(|stride| stride.unsigned_abs() <= size.max(unit));
        if dense {
            return self.add(block, touch.spread.low / unit, last(touch.spread.high));
        }
        crate::lanes::each(touch.mask, |lane| {
            self.add(block, touch.addresses[lane] / unit, last(touch.addresses[lane]));
        });
    }

    /// Adds the elements of a range of bytes that a block accesses.
    pub fn range(&mut self, block: u64, start: u64, bytes: u64) {
        self.add(block, start / self.unit, start.saturating_add(bytes.max(1) - 1) / self.unit);
    }

    fn add(&mut self, block: u64, first: u64, last: u64) {
        let block = u32::try_from(block).unwrap_or(u32::MAX);
        let mut element = first;
        while element <= last {
            let page = self.pages.entry(element / PAGE).or_insert_with(|| Page::new(self.unit));
            let end = (element / PAGE * PAGE + PAGE - 1).min(last);
            let (from, to) = ((element % PAGE) as usize, (end % PAGE) as usize);
            for (i, bits) in (from / 64..).zip(&mut page.bits[from / 64..=to / 64]) {
                // The bits of this word that are at `from` or after it, and at `to` or before it.
                *bits |= u64::MAX << from.saturating_sub(64 * i) & u64::MAX >> (64 * i + 63).saturating_sub(to);
            }
            if let Some(blocks) = &mut page.blocks {
                blocks[from..=to].iter_mut().for_each(|least| *least = block.min(*least));
            }
            element = end + 1;
        }
    }

    /// The lowest number of a block that accesses a sector, if one does and the set keeps blocks.
    pub fn first_block(&self, sector: u64) -> Option<u32> {
        let page = self.pages.get(&(sector / PAGE))?;
        let block = page.blocks.as_ref()?[(sector % PAGE) as usize];
        (block != u32::MAX).then_some(block)
    }

    /// Returns the size of all sectors in bytes, of a set of sectors.
    pub fn bytes(&self) -> u64 {
        let bits = |page: &[u64; PAGE as usize / 64]| page.iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
        self.pages.values().map(|page| bits(&page.bits)).sum::<u64>() * SECTOR
    }

    /// The pairs of a set of sectors.
    pub fn pairs(&self) -> Pairs {
        let mut pairs = Pairs::default();
        for bits in self.pages.values().flat_map(|page| page.bits) {
            (0..64).step_by(4).for_each(|line| pairs.add(Pairs::of(bits >> line)));
        }
        pairs
    }

    /// What a set of written words means for sectors, where a set of sectors is read.
    pub fn written(&self, read: &Self) -> Written {
        let mut written = Written::default();
        for (number, page) in &self.pages {
            // Each 32 bits are the words of a line.
            for (i, bits) in page.bits.iter().enumerate() {
                for (half, words) in [*bits as u32, (*bits >> 32) as u32].into_iter().enumerate() {
                    let first = (number * PAGE + (64 * i + 32 * half) as u64) / (SECTOR / WORD);
                    let [mut any, mut partial] = [0, 0];
                    for (sector, words) in words.to_le_bytes().into_iter().enumerate() {
                        any |= u64::from(words != 0) << sector;
                        let is_filled = words != 0 && words != u8::MAX && !read.contains(first + sector as u64);
                        partial |= u64::from(is_filled) << sector;
                    }
                    written.bytes += u64::from(any.count_ones()) * SECTOR;
                    written.pairs.add(Pairs::of(any));
                    written.filled.add(Pairs::of(partial));
                }
            }
        }
        written
    }

    fn contains(&self, element: u64) -> bool {
        let bit = element % PAGE;
        self.pages.get(&(element / PAGE)).is_some_and(|page| page.bits[(bit / 64) as usize] >> (bit % 64) & 1 == 1)
    }

    /// Computes the union with another set.
    pub fn absorb(&mut self, other: Self) {
        for (number, theirs) in other.pages {
            let page = self.pages.entry(number).or_insert_with(|| Page::new(self.unit));
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
        let mut set = Footprint::by_block();
        set.add(0, 10, 13);
        set.add(0, 12, 20);
        set.add(0, PAGE - 1, PAGE);
        assert_eq!(set.bytes(), (11 + 2) * SECTOR);
        let mut other = Footprint::by_block();
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

    #[test]
    fn memory_moves_pairs_of_sectors_and_reads_those_that_are_written_in_part() {
        let mut read = Footprint::by_block();
        // Sectors 0 and 3 of one line, sector 1 of another.
        [0, 3, 5].into_iter().for_each(|sector| read.add(0, sector, sector));
        assert_eq!(read.pairs(), Pairs { beside: 2, lone: 1 });

        let mut set = Footprint::of_words();
        // One word of a sector that is read, one of sector 2 of that line, and all words of line 2.
        [0, 16].into_iter().for_each(|word| set.add(0, word, word));
        set.add(0, 64, 95);
        let filled = Pairs { beside: 0, lone: 1 };
        let expected = Written { bytes: 6 * SECTOR, pairs: Pairs { beside: 4, lone: 0 }, filled };
        assert_eq!(set.written(&read), expected);
        // The other words of sector 2, by another worker.
        let mut other = Footprint::of_words();
        other.add(0, 17, 23);
        set.absorb(other);
        assert_eq!(set.written(&read), Written { filled: Pairs::default(), ..expected });
    }
}
