//! Shadow memory: for all touched memory, who last wrote it and who accessed it since then.
//!
//! Pages of 4 KiB, made when they are first touched. A cell takes 3 bytes for the last write and 3 for the accesses
//! since then, each kept only in pages where there were any. What many cells have in common is in the page's
//! [`Tables`].
//!
//! A cell stands for bytes with one history: which lane accessed which of them follows from its [`Mark`]. In device
//! memory cells start large, since neighbouring lanes mostly access neighbouring elements; a page gets smaller ones,
//! for good, as soon as an access begins or ends inside a cell, or is told apart byte by byte.

use super::clock::Who;
use super::marks::Mark;
use super::tables::Tables;
use crate::registers::LANES;
use std::ops::Range;

const PAGE_BITS: u32 = 12;
pub(super) const PAGE_BYTES: u64 = 1 << PAGE_BITS;
/// Pages in one part of the directory.
const PART: usize = 1024;
type Part = Box<[Option<Box<Page>>]>;
/// log2 of the bytes of a cell: what a page of device memory starts with, a word, and less.
const SIZES: [u32; 4] = [5, WORD, 1, 0];
const WORD: u32 = 2;
/// Cells of the largest size that a warp's words lie in.
const SMALL: usize = (LANES * 4) >> SIZES[0];

/// The shadow of 4 KiB.
#[derive(Debug)]
pub(super) struct Page {
    /// Bytes of a cell: 1 << shift, one of `SIZES`.
    shift: u32,
    pub tables: Tables,
    /// Record of the last ordinary write.
    pub writes: Half,
    /// Set of the other accesses since then, and the lane of the latest of them.
    pub sets: Half,
    /// A word in it has been synchronised through.
    pub synchronises: bool,
}

/// By cell: what it refers to, and the lanes. Empty as long as all are 0.
#[derive(Debug, Default)]
pub(super) struct Half {
    ids: Box<[u16]>,
    marks: Box<[Mark]>,
}

/// The shadow of a space that starts at address 0.
#[derive(Debug)]
pub(super) struct Shadow {
    parts: Vec<Option<Part>>,
    /// Numbers of the pages that were made.
    made: Vec<usize>,
    /// What pages start with.
    shift: u32,
}

impl Shadow {
    /// Of device memory.
    pub fn large() -> Self {
        Self { parts: Vec::new(), made: Vec::new(), shift: SIZES[0] }
    }

    /// Of shared memory, where there is little to save.
    pub fn small() -> Self {
        Self { shift: WORD, ..Self::large() }
    }

    /// The page of an address.
    #[inline(always)]
    pub fn page(&mut self, address: u64) -> &mut Page {
        let number = page_number(address) as usize;
        let (part, at) = (number / PART, number % PART);
        if part >= self.parts.len() {
            self.reach(part);
        }
        let (made, shift) = (&mut self.made, self.shift);
        let part = match &mut self.parts[part] {
            Some(part) => part,
            none => none.insert(new_part()),
        };
        let page = match &mut part[at] {
            Some(page) => page,
            none => none.insert(new_page(made, number, shift)),
        };
        if page.tables.full(page.shift > WORD) {
            page.compact();
        }
        page
    }

    #[cold]
    fn reach(&mut self, part: usize) {
        self.parts.resize_with(part + 1, || None);
    }

    /// The page of an address if it was ever touched.
    pub fn existing(&mut self, address: u64) -> Option<&mut Page> {
        let number = (address >> PAGE_BITS) as usize;
        self.parts.get_mut(number / PART)?.as_mut()?[number % PART].as_deref_mut()
    }

    /// The same, to look at.
    #[inline(always)]
    pub fn look(&self, address: u64) -> Option<&Page> {
        let number = page_number(address) as usize;
        self.parts.get(number / PART)?.as_ref()?[number % PART].as_deref()
    }

    /// Forgets everything but the memory it has.
    pub fn clear(&mut self) {
        let parts = &mut self.parts;
        self.made.retain(|number| {
            let Some(Some(part)) = parts.get_mut(number / PART) else { return false };
            let page = &mut part[number % PART];
            match page {
                Some(words) if words.shift != 0 => {
                    words.clear();
                    return true;
                }
                _ => *page = None,
            }
            false
        });
    }
}

#[cold]
fn new_part() -> Part {
    (0..PART).map(|_| None).collect()
}

#[cold]
fn new_page(made: &mut Vec<usize>, number: usize, shift: u32) -> Box<Page> {
    made.push(number);
    Box::new(Page::new(shift))
}

impl Page {
    fn new(shift: u32) -> Self {
        let [writes, sets] = [Half::default(), Half::default()];
        Self { shift, tables: Tables::default(), writes, sets, synchronises: false }
    }

    /// log2 of the bytes of a cell.
    #[inline(always)]
    pub fn shift(&self) -> u32 {
        self.shift
    }

    /// The cells of `bytes` bytes at an address of this page; none of them has other bytes too, from now on.
    #[inline(always)]
    pub fn cells(&mut self, address: u64, bytes: u64) -> Range<usize> {
        if (address | bytes) & ((1 << self.shift) - 1) != 0 {
            let fits = |shift: &u32| (address | bytes) & ((1 << shift) - 1) == 0;
            self.refine(SIZES.into_iter().find(fits).unwrap_or_default());
        }
        self.whole_cells(address, bytes)
    }

    /// The same if they are so already.
    #[inline(always)]
    pub fn aligned_cells(&self, address: u64, bytes: u64) -> Option<Range<usize>> {
        let aligned = (address | bytes) & ((1 << self.shift) - 1) == 0;
        aligned.then(|| self.whole_cells(address, bytes))
    }

    /// The one cell that bytes are, if they are one.
    #[inline(always)]
    pub fn one_cell(&self, address: u64, bytes: u64) -> Option<usize> {
        let one = bytes == 1 << self.shift && address & (bytes - 1) == 0;
        one.then_some(((address % PAGE_BYTES) >> self.shift) as usize)
    }

    /// The cells that bytes lie in, each as a whole.
    #[inline(always)]
    pub fn whole_cells(&self, address: u64, bytes: u64) -> Range<usize> {
        let offset = address % PAGE_BYTES;
        (offset >> self.shift) as usize..((offset + bytes) >> self.shift) as usize
    }

    /// Like [`Page::cells`]; and none of them is larger than the elements of an access of so many bytes, or a word, and
    /// whoever accessed one accessed all of it.
    #[cold]
    pub fn exact_cells(&mut self, address: u64, bytes: u64, element: u64) -> Range<usize> {
        self.cells(address, bytes);
        self.refine(exact_shift(element));
        let cells = self.whole_cells(address, bytes);
        if !(self.writes.whole(cells.clone()) && self.sets.whole(cells)) {
            self.refine(0);
        }
        self.whole_cells(address, bytes)
    }

    /// Makes cells of 1 << `shift` bytes from larger ones.
    #[cold]
    fn refine(&mut self, shift: u32) {
        if shift < self.shift {
            self.writes.refine(self.shift, shift);
            self.sets.refine(self.shift, shift);
            self.shift = shift;
        }
    }

    #[cold]
    fn compact(&mut self) {
        let Self { tables, writes, sets, .. } = self;
        tables.compact(&mut writes.ids, &mut sets.ids);
    }

    fn clear(&mut self) {
        self.tables.clear();
        self.writes.ids.fill(0);
        self.sets.ids.fill(0);
        self.synchronises = false;
    }

    /// Cells of 4 KiB, to be written to; made when they are needed.
    #[inline(always)]
    pub fn writes(&mut self, cells: Range<usize>) -> (&mut [u16], &mut [Mark]) {
        self.writes.cells(cells, self.shift)
    }

    /// The same of the sets.
    #[inline(always)]
    pub fn sets(&mut self, cells: Range<usize>) -> (&mut [u16], &mut [Mark]) {
        self.sets.cells(cells, self.shift)
    }

    /// An ordinary write makes what was accessed before irrelevant.
    #[inline(always)]
    pub fn forget_sets(&mut self, cells: Range<usize>) {
        if let Some(ids) = self.sets.ids.get_mut(cells) {
            ids.fill(0);
        }
    }
}

impl Half {
    /// What a cell refers to.
    #[inline(always)]
    pub fn id(&self, cell: usize) -> u16 {
        self.ids.get(cell).copied().unwrap_or_default()
    }

    /// What all of some cells refer to, if it is the same.
    #[inline(always)]
    pub fn one(&self, cells: Range<usize>) -> Option<u16> {
        let Some(ids) = self.ids.get(cells) else { return Some(0) };
        let &first = ids.first()?;
        let alike = |ids: &[u16]| ids.iter().fold(0, |off, id| off | (id ^ first)) == 0;
        // A whole warp's words, in cells of that size or of the largest: loops whose length the compiler knows.
        let same = match ids.len() {
            1 => true,
            SMALL => alike(ids.first_chunk::<SMALL>()?),
            LANES => alike(ids.first_chunk::<LANES>()?),
            _ => alike(ids),
        };
        same.then_some(first)
    }

    /// The lanes of some cells, of none when nothing is kept.
    #[inline(always)]
    pub fn marks(&self, cells: Range<usize>) -> &[Mark] {
        self.marks.get(cells).unwrap_or_default()
    }

    /// Who accessed a cell.
    pub fn who(&self, cell: usize) -> Who {
        self.marks.get(cell).map_or(Who::Unknown, |mark| mark.who())
    }

    /// Is each cell's mark, where there is something, that of all its bytes?
    fn whole(&self, mut cells: Range<usize>) -> bool {
        cells.all(|cell| self.id(cell) == 0 || self.marks[cell].is_whole())
    }

    /// One cell, where cells are kept.
    #[inline(always)]
    pub fn cell(&mut self, cell: usize) -> Option<(&mut u16, &mut Mark)> {
        Some((self.ids.get_mut(cell)?, self.marks.get_mut(cell)?))
    }

    #[inline(always)]
    fn cells(&mut self, cells: Range<usize>, shift: u32) -> (&mut [u16], &mut [Mark]) {
        if self.ids.is_empty() {
            self.make(1 << (PAGE_BITS - shift));
        }
        (&mut self.ids[cells.clone()], &mut self.marks[cells])
    }

    #[cold]
    fn make(&mut self, all: usize) {
        (self.ids, self.marks) = (vec![0; all].into(), vec![Mark::default(); all].into());
    }

    fn refine(&mut self, from: u32, to: u32) {
        let more = from - to;
        let within = |cell: usize| (cell & ((1 << more) - 1)) << to;
        let all = self.ids.len() << more;
        self.marks = (0..all).map(|cell| self.marks[cell >> more].part(within(cell), to)).collect();
        self.ids = (0..all).map(|cell| self.ids[cell >> more]).collect();
    }
}

/// log2 of the bytes of the largest cells in which the elements of an access are told apart.
#[inline]
pub(super) fn exact_shift(element: u64) -> u32 {
    element.trailing_zeros().min(WORD)
}

/// Which page an address lies in.
#[inline(always)]
pub(super) fn page_number(address: u64) -> u64 {
    address >> PAGE_BITS
}

/// Bytes from an address to the end of its page.
#[inline(always)]
pub(super) fn to_page_end(address: u64) -> u64 {
    PAGE_BYTES - address % PAGE_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_as_large_as_accesses_allow() {
        let mut page = Page::new(SIZES[0]);
        let (ids, marks) = page.writes(1..2);
        (ids[0], marks[0]) = (7, Mark::side_by_side(4, 1, 5));
        assert_eq!((page.cells(32, 64), page.shift()), (1..3, 5));
        assert_eq!((page.cells(36, 8), page.shift()), (9..11, 2));
        assert_eq!((page.writes.one(8..16), page.writes.one(7..9)), (Some(7), None));
        assert_eq!(page.writes.marks(9..10), [Mark::side_by_side(6, 1, 2)]);
        // Two lanes have each of these words.
        assert_eq!((page.exact_cells(36, 4, 4), page.shift()), (36..40, 0));
        assert_eq!((page.writes.who(37), page.writes.who(38)), (Who::Lane(6), Who::Lane(7)));
        assert_eq!((page.sets.one(0..4096), page.sets.ids.len()), (Some(0), 0));
    }

    #[test]
    fn words_are_exact_for_words() {
        let mut page = Page::new(SIZES[0]);
        page.writes(0..2).0.fill(7);
        assert_eq!((page.exact_cells(0, 64, 8), page.shift()), (0..16, 2));
        assert_eq!((page.exact_cells(0, 64, 2), page.shift()), (0..32, 1));
        assert_eq!((page.exact_cells(0, 64, 1), page.shift()), (0..64, 0));
    }
}
