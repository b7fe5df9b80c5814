//! Shadow memory: for all touched memory, the last write and the accesses since then.
//!
//! Shadow memory consists of pages of 4 KiB, allocated when they are first touched. A cell takes 3 bytes for the last
//! write and 3 for the accesses since then; each part is allocated only in pages that need it. Data that many cells
//! share is in the page's [`Tables`].
//!
//! A cell stands for bytes with one history; its [`Mark`] gives the lane that accessed each of them. In device memory
//! cells start large, because neighbouring lanes usually access neighbouring elements. A page changes permanently to
//! smaller cells as soon as an access begins or ends inside a cell, or has to be tracked byte by byte.

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
/// log2 of the bytes of a cell: the initial size in device memory, a word, and smaller sizes.
const SIZES: [u32; 4] = [5, WORD, 1, 0];
const WORD: u32 = 2;
/// Number of largest cells that the words of a warp occupy.
const SMALL: usize = (LANES * 4) >> SIZES[0];

/// Shadow of 4 KiB.
#[derive(Debug)]
pub(super) struct Page {
    /// log2 of the bytes of a cell; one of `SIZES`.
    shift: u32,
    pub tables: Tables,
    /// Records of the last ordinary writes.
    pub writes: Half,
    /// Sets of the other accesses since then, and the lane of the latest of them.
    pub sets: Half,
    /// Whether a word in the page has been used for synchronisation.
    pub synchronises: bool,
    /// Whether the worker has saved the bytes of the page, in a launch that can be taken back.
    pub saved: bool,
}

/// References and lanes by cell. Empty as long as all are 0.
#[derive(Debug, Default)]
pub(super) struct Half {
    ids: Box<[u16]>,
    marks: Box<[Mark]>,
}

/// Shadow of a state space that starts at address 0.
#[derive(Debug)]
pub(super) struct Shadow {
    parts: Vec<Option<Part>>,
    /// Numbers of the allocated pages.
    made: Vec<usize>,
    /// Initial `Page::shift` of new pages.
    shift: u32,
    /// Whether a cell may have many unordered accesses, as [`Tables::new`] takes it.
    many: bool,
}

impl Shadow {
    /// Creates the shadow of device memory.
    pub fn large(many: bool) -> Self {
        Self { parts: Vec::new(), made: Vec::new(), shift: SIZES[0], many }
    }

    /// Creates the shadow of shared memory, whose small size does not justify large cells.
    pub fn small(many: bool) -> Self {
        Self { shift: WORD, ..Self::large(many) }
    }

    /// Returns the page of an address, and allocates it if necessary.
    #[inline(always)]
    pub fn page(&mut self, address: u64) -> &mut Page {
        let number = page_number(address) as usize;
        let (part, at) = (number / PART, number % PART);
        if part >= self.parts.len() {
            self.reach(part);
        }
        let (made, shift, many) = (&mut self.made, self.shift, self.many);
        let part = match &mut self.parts[part] {
            Some(part) => part,
            none => none.insert(new_part()),
        };
        let page = match &mut part[at] {
            Some(page) => page,
            none => none.insert(new_page(made, number, shift, many)),
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

    /// Returns the page of an address if it exists.
    pub fn existing(&mut self, address: u64) -> Option<&mut Page> {
        let number = (address >> PAGE_BITS) as usize;
        self.parts.get_mut(number / PART)?.as_mut()?[number % PART].as_deref_mut()
    }

    /// As [`Shadow::existing`], for reading.
    #[inline(always)]
    pub fn look(&self, address: u64) -> Option<&Page> {
        let number = page_number(address) as usize;
        self.parts.get(number / PART)?.as_ref()?[number % PART].as_deref()
    }

    /// Iterates over the pages, with their numbers.
    pub fn pages(&self) -> impl Iterator<Item = (usize, &Page)> {
        self.made.iter().filter_map(|&number| Some((number, self.look((number as u64) << PAGE_BITS)?)))
    }

    /// Clears all pages and keeps their memory for reuse.
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
fn new_page(made: &mut Vec<usize>, number: usize, shift: u32, many: bool) -> Box<Page> {
    made.push(number);
    Box::new(Page::new(shift, many))
}

impl Page {
    fn new(shift: u32, many: bool) -> Self {
        let [writes, sets] = [Half::default(), Half::default()];
        Self { shift, tables: Tables::new(many), writes, sets, synchronises: false, saved: false }
    }

    /// Returns log2 of the bytes of a cell.
    #[inline(always)]
    pub fn shift(&self) -> u32 {
        self.shift
    }

    /// Returns the cells of `bytes` bytes at an address of this page, after splitting cells that contain other bytes as
    /// well.
    #[inline(always)]
    pub fn cells(&mut self, address: u64, bytes: u64) -> Range<usize> {
        if (address | bytes) & ((1 << self.shift) - 1) != 0 {
            let fits = |shift: &u32| (address | bytes) & ((1 << shift) - 1) == 0;
            self.refine(SIZES.into_iter().find(fits).unwrap_or_default());
        }
        self.whole_cells(address, bytes)
    }

    /// Returns these cells if no split is necessary.
    #[inline(always)]
    pub fn aligned_cells(&self, address: u64, bytes: u64) -> Option<Range<usize>> {
        let aligned = (address | bytes) & ((1 << self.shift) - 1) == 0;
        aligned.then(|| self.whole_cells(address, bytes))
    }

    /// Returns the cell that consists of exactly these bytes, if there is one.
    #[inline(always)]
    pub fn one_cell(&self, address: u64, bytes: u64) -> Option<usize> {
        let one = bytes == 1 << self.shift && address & (bytes - 1) == 0;
        one.then_some(((address % PAGE_BYTES) >> self.shift) as usize)
    }

    /// Returns the cells that contain any of these bytes.
    #[inline(always)]
    pub fn whole_cells(&self, address: u64, bytes: u64) -> Range<usize> {
        let offset = address % PAGE_BYTES;
        (offset >> self.shift) as usize..((offset + bytes) >> self.shift) as usize
    }

    /// As [`Page::cells`], but the cells are at most as large as an element of the access and as a word, and each was
    /// accessed as a whole.
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

    /// Splits larger cells into cells of 1 << `shift` bytes.
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

    /// Returns references and marks of the last writes for modification, and allocates them if necessary.
    #[inline(always)]
    pub fn writes(&mut self, cells: Range<usize>) -> (&mut [u16], &mut [Mark]) {
        self.writes.cells(cells, self.shift)
    }

    /// Returns references and marks of the sets for modification, and allocates them if necessary.
    #[inline(always)]
    pub fn sets(&mut self, cells: Range<usize>) -> (&mut [u16], &mut [Mark]) {
        self.sets.cells(cells, self.shift)
    }

    /// Drops the accesses before an ordinary write, which makes them irrelevant.
    #[inline(always)]
    pub fn clear_sets(&mut self, cells: Range<usize>) {
        if let Some(ids) = self.sets.ids.get_mut(cells) {
            ids.fill(0);
        }
    }
}

impl Half {
    /// Returns the reference of a cell.
    #[inline(always)]
    pub fn id(&self, cell: usize) -> u16 {
        self.ids.get(cell).copied().unwrap_or_default()
    }

    /// Returns the reference of all these cells if they have the same one.
    #[inline(always)]
    pub fn one(&self, cells: Range<usize>) -> Option<u16> {
        let Some(ids) = self.ids.get(cells) else { return Some(0) };
        let &first = ids.first()?;
        let alike = |ids: &[u16]| ids.iter().fold(0, |off, id| off | (id ^ first)) == 0;
        // The words of a warp, in cells of a word or of the largest size: these loops have constant lengths.
        let same = match ids.len() {
            1 => true,
            SMALL => alike(ids.first_chunk::<SMALL>()?),
            LANES => alike(ids.first_chunk::<LANES>()?),
            _ => alike(ids),
        };
        same.then_some(first)
    }

    /// Returns the marks of some cells; empty if none are allocated.
    #[inline(always)]
    pub fn marks(&self, cells: Range<usize>) -> &[Mark] {
        self.marks.get(cells).unwrap_or_default()
    }

    /// Returns the lane that accessed a cell.
    pub fn who(&self, cell: usize) -> Who {
        self.marks.get(cell).map_or(Who::Unknown, |mark| mark.who())
    }

    /// Whether each used cell in the range has a mark for all its bytes.
    fn whole(&self, mut cells: Range<usize>) -> bool {
        cells.all(|cell| self.id(cell) == 0 || self.marks[cell].is_whole())
    }

    /// Returns one cell for modification, if cells are allocated.
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

/// Returns log2 of the bytes of the largest cells that separate the elements of an access.
#[inline]
pub(super) fn exact_shift(element: u64) -> u32 {
    element.trailing_zeros().min(WORD)
}

/// Returns the number of the page that contains an address.
#[inline(always)]
pub(super) fn page_number(address: u64) -> u64 {
    address >> PAGE_BITS
}

/// Returns the bytes from an address to the end of its page.
#[inline(always)]
pub(super) fn to_page_end(address: u64) -> u64 {
    PAGE_BYTES - address % PAGE_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_as_large_as_accesses_allow() {
        let mut page = Page::new(SIZES[0], false);
        let (ids, marks) = page.writes(1..2);
        (ids[0], marks[0]) = (7, Mark::side_by_side(4, 1, 5));
        assert_eq!((page.cells(32, 64), page.shift()), (1..3, 5));
        assert_eq!((page.cells(36, 8), page.shift()), (9..11, 2));
        assert_eq!((page.writes.one(8..16), page.writes.one(7..9)), (Some(7), None));
        assert_eq!(page.writes.marks(9..10), [Mark::side_by_side(6, 1, 2)]);
        // Each of these words was accessed by two lanes.
        assert_eq!((page.exact_cells(36, 4, 4), page.shift()), (36..40, 0));
        assert_eq!((page.writes.who(37), page.writes.who(38)), (Who::Lane(6), Who::Lane(7)));
        assert_eq!((page.sets.one(0..4096), page.sets.ids.len()), (Some(0), 0));
    }

    #[test]
    fn words_are_exact_for_words() {
        let mut page = Page::new(SIZES[0], false);
        page.writes(0..2).0.fill(7);
        assert_eq!((page.exact_cells(0, 64, 8), page.shift()), (0..16, 2));
        assert_eq!((page.exact_cells(0, 64, 2), page.shift()), (0..32, 1));
        assert_eq!((page.exact_cells(0, 64, 1), page.shift()), (0..64, 0));
    }
}
