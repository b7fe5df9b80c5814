//! The part of an access that one page of shadow memory has, and which lanes have which of its bytes.

use super::marks::Mark;
use super::pieces::Piece;
use super::shadow::{PAGE_BYTES, Page};
use crate::registers::LANES;
use std::ops::Range;

/// The part of a piece that lies in one page.
#[derive(Clone, Copy)]
pub(super) struct Span {
    pub piece: Piece,
    /// Where, in the shadow.
    pub at: u64,
    pub bytes: u64,
    /// Bytes of the piece before it.
    pub offset: u64,
    pub per_lane: u64,
}

impl Span {
    /// Some bytes of it.
    pub fn part(&self, start: u64, bytes: u64) -> Self {
        Self { at: self.at + start, offset: self.offset + start, bytes, ..*self }
    }

    /// Its cells, in a page that has been asked for them.
    pub fn cells(&self, page: &Page) -> Range<usize> {
        page.whole_cells(self.at, self.bytes)
    }

    /// Bytes from the piece's start to a cell.
    pub fn offset_of(&self, cell: usize, shift: u32) -> u64 {
        let start = self.at % PAGE_BYTES;
        self.offset + ((cell as u64) << shift) - start
    }

    /// The lanes that have the byte so far from the piece's start.
    pub fn lanes(&self, offset: u64) -> Range<usize> {
        let first = self.piece.lane_at(offset, self.per_lane);
        first..first + if self.piece.same { self.piece.lanes } else { 1 }
    }

    /// Do the marks of its cells say that each byte was accessed by the lanes that access it now?
    #[inline(always)]
    pub fn same_lanes(&self, shift: u32, marks: &[Mark]) -> bool {
        let (first, step) = self.first_mark(shift);
        match step {
            Some(step) => {
                marks.iter().enumerate().fold(true, |same, (at, mark)| same & (*mark == first.up(at as u8 * step)))
            }
            None => marks.iter().enumerate().all(|(at, mark)| *mark == self.mark(at, shift)),
        }
    }

    /// The same, and each byte by one lane alone?
    #[inline(always)]
    pub fn same_lane_each(&self, shift: u32, marks: &[Mark]) -> bool {
        let together = self.piece.same && self.piece.lanes > 1;
        !together && self.same_lanes(shift, marks)
    }

    /// Gives every cell's mark, and that of the lanes that access it now, to `set`.
    #[inline(always)]
    pub fn marks(&self, shift: u32, marks: &mut [Mark], set: impl Fn(&mut Mark, Mark)) {
        let (first, step) = self.first_mark(shift);
        match step {
            Some(step) => {
                let each = |marks: &mut [Mark]| {
                    marks.iter_mut().enumerate().for_each(|(at, mark)| set(mark, first.up(at as u8 * step)));
                };
                // A whole warp's words: a loop whose length the compiler knows.
                match <&mut [Mark; LANES]>::try_from(&mut *marks) {
                    Ok(row) => each(row),
                    Err(_) => each(marks),
                }
            }
            None => marks.iter_mut().enumerate().for_each(|(at, mark)| set(mark, self.mark(at, shift))),
        }
    }

    /// The mark of its first cell, and by how many lanes they go up from cell to cell, where that is simple.
    #[inline(always)]
    fn first_mark(&self, shift: u32) -> (Mark, Option<u8>) {
        let lane = self.piece.first_lane as u8;
        if self.piece.same {
            let mark = if self.piece.lanes > 1 { Mark::SEVERAL } else { Mark::lane(lane) };
            return (mark, Some(0));
        }
        // Elements are powers of two long.
        let own = self.per_lane.trailing_zeros();
        let lane = lane + (self.offset >> own) as u8;
        (Mark::side_by_side(lane, own, shift), (own <= shift).then(|| 1 << (shift - own)))
    }

    /// The mark of a cell.
    fn mark(&self, at: usize, shift: u32) -> Mark {
        let lane = self.piece.lane_at(self.offset + ((at as u64) << shift), self.per_lane);
        Mark::side_by_side(lane as u8, self.per_lane.trailing_zeros(), shift)
    }
}
