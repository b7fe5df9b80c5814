//! Shadow memory: for every word of touched memory, who last wrote it and who accessed it since then.
//!
//! Pages of 4 KiB, made when they are first touched. A cell takes 6 bytes and stands for an aligned 32-bit word; a page that is
//! accessed in smaller pieces gets a cell per byte instead. What many cells have in common is in the page's [`Tables`].

use super::clock::Who;
use super::records::Tables;

const PAGE_BITS: u32 = 12;
/// Pages in one part of the directory.
const PART: usize = 1024;
type Part = Box<[Option<Box<Page>>]>;
/// Lane marks beyond the lanes themselves.
const UNKNOWN: u8 = 32;
const SEVERAL: u8 = 33;

/// The shadow of 4 KiB.
#[derive(Debug)]
pub(super) struct Page {
    /// Bytes of a cell: 1 << shift, 1 or 4.
    shift: u32,
    pub tables: Tables,
    /// By cell: record of the last ordinary write, and its lane.
    pub writes: Box<[u16]>,
    pub write_lanes: Box<[u8]>,
    /// By cell: set of the other accesses since then, and the lane of the latest of them.
    pub sets: Box<[u16]>,
    pub set_lanes: Box<[u8]>,
    /// A word in it has been synchronised through.
    pub synchronises: bool,
}

/// The shadow of a space that starts at address 0.
#[derive(Debug, Default)]
pub(super) struct Shadow {
    parts: Vec<Option<Part>>,
    /// Numbers of the pages that were made.
    made: Vec<usize>,
}

impl Shadow {
    /// The page of an address; `fine`: something smaller than a word is accessed.
    #[inline]
    pub fn page(&mut self, address: u64, fine: bool) -> &mut Page {
        let number = (address >> PAGE_BITS) as usize;
        let (part, at) = (number / PART, number % PART);
        if part >= self.parts.len() {
            self.parts.resize_with(part + 1, || None);
        }
        let part = self.parts[part].get_or_insert_with(|| (0..PART).map(|_| None).collect());
        let made = &mut self.made;
        let page = part[at].get_or_insert_with(|| {
            made.push(number);
            Box::new(Page::new(2))
        });
        if fine && page.shift != 0 {
            page.refine();
        }
        if page.tables.full() {
            let Page { tables, writes, sets, .. } = &mut **page;
            tables.compact(writes, sets);
        }
        page
    }

    /// The page of an address if it was ever touched.
    pub fn existing(&mut self, address: u64) -> Option<&mut Page> {
        let number = (address >> PAGE_BITS) as usize;
        self.parts.get_mut(number / PART)?.as_mut()?[number % PART].as_deref_mut()
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

impl Page {
    fn new(shift: u32) -> Self {
        let cells = 1 << (PAGE_BITS - shift);
        Self {
            shift,
            tables: Tables::default(),
            writes: vec![0; cells].into(),
            write_lanes: vec![0; cells].into(),
            sets: vec![0; cells].into(),
            set_lanes: vec![0; cells].into(),
            synchronises: false,
        }
    }

    /// Cells that bytes at an address of this page lie in: the first, and how many in this page.
    #[inline]
    pub fn cells(&self, address: u64, bytes: u64) -> (usize, usize) {
        let offset = address & ((1 << PAGE_BITS) - 1);
        let end = (offset + bytes).min(1 << PAGE_BITS);
        let first = (offset >> self.shift) as usize;
        (first, ((end + (1 << self.shift) - 1) >> self.shift) as usize - first)
    }

    /// log2 of the bytes of a cell.
    #[inline]
    pub fn shift(&self) -> u32 {
        self.shift
    }

    /// Who made the last write to a cell.
    pub fn writer(&self, cell: usize) -> Who {
        who(self.write_lanes[cell])
    }

    /// Who made an access in a cell's set.
    pub fn member(&self, cell: usize, latest: bool) -> Who {
        if latest { who(self.set_lanes[cell]) } else { Who::Unknown }
    }

    /// A cell per byte from now on.
    #[cold]
    fn refine(&mut self) {
        let mut fine = Self::new(0);
        for cell in 0..fine.writes.len() {
            let word = cell >> self.shift;
            fine.writes[cell] = self.writes[word];
            fine.write_lanes[cell] = self.write_lanes[word];
            fine.sets[cell] = self.sets[word];
            fine.set_lanes[cell] = self.set_lanes[word];
        }
        (fine.tables, fine.synchronises) = (std::mem::take(&mut self.tables), self.synchronises);
        *self = fine;
    }

    fn clear(&mut self) {
        self.tables.clear();
        self.writes.fill(0);
        self.sets.fill(0);
        self.synchronises = false;
    }
}

fn who(lane: u8) -> Who {
    match lane {
        UNKNOWN => Who::Unknown,
        SEVERAL => Who::Several,
        lane => Who::Lane(lane),
    }
}

/// The mark of an access in the lanes of a set.
#[inline]
pub(super) fn mark(who: Who) -> u8 {
    match who {
        Who::Lane(lane) => lane,
        Who::Several => SEVERAL,
        Who::Unknown => UNKNOWN,
    }
}

/// Bytes from an address to the end of its page.
pub(super) fn to_page_end(address: u64) -> u64 {
    (1 << PAGE_BITS) - (address & ((1 << PAGE_BITS) - 1))
}
