//! Boxes in a block's shared memory: which copy wrote each chunk of 16 bytes, and which rows were read since.

use super::report::{Defect, Offset, Product, TensorCopy};
use crate::isa::matrix::CHUNK;
use crate::tensor::Tile;

/// The boxes in a block's shared memory.
#[derive(Debug, Default)]
pub struct Boxes {
    /// For each chunk, one more than the index of the box that wrote it last; 0 if that was something else.
    chunks: Vec<u32>,
    /// The boxes; `None` where all rows of one were overwritten.
    boxes: Vec<Option<Written>>,
}

/// A box of which some row is still there.
#[derive(Debug)]
pub struct Written {
    pub tile: Tile,
    pub copy: TensorCopy,
    rows: Vec<Row>,
    skips: Vec<Skip>,
}

/// State of a row since it was written.
#[derive(Clone, Copy, Debug, Default)]
struct Row {
    read: bool,
    /// Whether a part of it was overwritten.
    gone: bool,
}

/// Rows of a box that a descriptor leads past.
#[derive(Clone, Copy, Debug)]
pub struct Skip {
    pub first: u64,
    pub end: u64,
    pub product: Product,
    pub offset: Offset,
}

/// A chunk of a box.
#[derive(Clone, Copy, Debug)]
pub struct At {
    /// Index of the box.
    pub index: usize,
    pub row: u64,
    pub chunk: u64,
}

impl Boxes {
    /// Adds a box that was written. What it overwrites was reported by [`Boxes::write`].
    pub fn add(&mut self, tile: &Tile, copy: TensorCopy) {
        let rows = vec![Row::default(); tile.row_count() as usize];
        let written = Written { tile: *tile, copy, rows, skips: Vec::new() };
        let index = self.boxes.iter().position(Option::is_none).unwrap_or(self.boxes.len());
        for address in tile.places() {
            let at = (address / CHUNK) as usize;
            if self.chunks.len() <= at {
                self.chunks.resize(at + 1, 0);
            }
            self.chunks[at] = index as u32 + 1;
        }
        match self.boxes.get_mut(index) {
            Some(free) => *free = Some(written),
            None => self.boxes.push(Some(written)),
        }
    }

    /// Returns the box that wrote the chunk at an offset, unless a part of its row was overwritten since.
    pub fn at(&self, address: u64) -> Option<(At, &Written)> {
        let index = self.index(address / CHUNK)?;
        let written = self.boxes.get(index)?.as_ref()?;
        let (row, chunk) = written.tile.row_and_chunk(address);
        written.has(row).then_some((At { index, row, chunk }, written))
    }

    /// Returns the boxes of the same tensor that begin `elements` further along its first dimension.
    pub fn beside(&self, tile: Tile, elements: u64) -> impl Iterator<Item = (usize, &Written)> {
        let mut start = tile.start;
        start[0] = start[0].wrapping_add(elements as i32);
        let all = self.boxes.iter().enumerate().filter_map(|(index, written)| Some((index, written.as_ref()?)));
        all.filter(move |(_, written)| written.tile.map == tile.map && written.tile.start == start)
    }

    /// Records that a descriptor leads past rows of a box.
    pub fn skip(&mut self, index: usize, skip: Skip) {
        let Some(Some(written)) = self.boxes.get_mut(index) else { return };
        let key = |skip: &Skip| (skip.product.site, skip.product.is_b, skip.first);
        if !written.skips.iter().any(|other| key(other) == key(&skip)) {
            written.skips.push(skip);
        }
    }

    /// Marks rows as read.
    pub fn read(&mut self, start: u64, bytes: u64) {
        self.each_row(start, bytes, |row| row.read = true);
    }

    /// Marks rows as overwritten; returns what is known then of boxes that are gone.
    pub fn write(&mut self, start: u64, bytes: u64) -> Vec<(Product, Defect)> {
        let touched = self.each_row(start, bytes, |row| row.gone = true);
        chunks(start, bytes).for_each(|chunk| {
            if let Some(at) = self.chunks.get_mut(chunk as usize) {
                *at = 0;
            }
        });
        let mut found = Vec::new();
        for index in touched {
            let Some(place) = self.boxes.get_mut(index) else { continue };
            if let Some(gone) = place.take_if(|written| written.rows.iter().all(|row| row.gone)) {
                found.extend(gone.unread());
            }
        }
        found
    }

    /// Returns what is known of the boxes at the end of the block.
    pub fn end(self) -> Vec<(Product, Defect)> {
        self.boxes.into_iter().flatten().flat_map(Written::unread).collect()
    }

    /// Changes the rows of all boxes with bytes in a range; returns the boxes' indices.
    fn each_row(&mut self, start: u64, bytes: u64, change: impl Fn(&mut Row)) -> Vec<usize> {
        let mut touched = Vec::new();
        for chunk in chunks(start, bytes) {
            let Some(index) = self.index(chunk) else { continue };
            let Some(Some(written)) = self.boxes.get_mut(index) else { continue };
            let (row, _) = written.tile.row_and_chunk(chunk * CHUNK);
            written.rows.get_mut(row as usize).into_iter().for_each(&change);
            if touched.last() != Some(&index) {
                touched.push(index);
            }
        }
        touched
    }

    /// Returns the index of the box that wrote a chunk.
    fn index(&self, chunk: u64) -> Option<usize> {
        (*self.chunks.get(chunk as usize)? as usize).checked_sub(1)
    }
}

impl Written {
    /// Whether the box has this row, and nothing has overwritten a part of it.
    pub fn has(&self, row: u64) -> bool {
        self.rows.get(row as usize).is_some_and(|row| !row.gone)
    }

    /// Returns the rows that descriptors lead past and nothing has read.
    fn unread(self) -> impl Iterator<Item = (Product, Defect)> {
        let Self { copy, rows, skips, .. } = self;
        skips.into_iter().filter_map(move |Skip { first, end, product, offset }| {
            let mut unread = (first..end).filter(|row| rows.get(*row as usize).is_some_and(|row| !row.read));
            let first = unread.next()?;
            let last = unread.next_back().unwrap_or(first);
            Some((product, Defect::Skipped { rows: [first, last], offset, copy }))
        })
    }
}

/// The chunks with bytes of a range.
fn chunks(start: u64, bytes: u64) -> std::ops::Range<u64> {
    start / CHUNK..(start + bytes).div_ceil(CHUNK)
}
