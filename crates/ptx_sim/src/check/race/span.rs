//! The part of an access that lies in one page of shadow memory, and the lanes that access its bytes.

use super::marks::Mark;
use super::pieces::Piece;
use super::shadow::{PAGE_BYTES, Page};
use crate::registers::LANES;
use std::ops::Range;

/// The part of a piece that lies in one page.
#[derive(Clone, Copy)]
pub(super) struct Span {
    pub piece: Piece,
    /// Address in the shadow.
    pub at: u64,
    pub bytes: u64,
    /// Bytes of the piece before this part.
    pub offset: u64,
    pub per_lane: u64,
    /// Whether each lane at an address observes the lanes before it there.
    pub in_turn: bool,
}

impl Span {
    /// Returns a sub-range.
    pub fn part(&self, start: u64, bytes: u64) -> Self {
        Self { at: self.at + start, offset: self.offset + start, bytes, ..*self }
    }

    /// Returns its cells, in a page that already has cells of a suitable size.
    pub fn cells(&self, page: &Page) -> Range<usize> {
        page.whole_cells(self.at, self.bytes)
    }

    /// Returns the offset of a cell in bytes from the start of the piece.
    pub fn offset_of(&self, cell: usize, shift: u32) -> u64 {
        let start = self.at % PAGE_BYTES;
        self.offset + ((cell as u64) << shift) - start
    }

    /// Returns the lanes that access the byte at `offset` from the start of the piece.
    pub fn lanes(&self, offset: u64) -> Range<usize> {
        let first = self.piece.lane_at(offset, self.per_lane);
        first..first + if self.piece.same { self.piece.lanes } else { 1 }
    }

    /// Whether the marks of its cells show that each byte was last accessed by the lanes that access it now.
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

    /// As [`Span::same_lanes`], and in addition each byte was accessed by one lane only.
    #[inline(always)]
    pub fn same_lane_each(&self, shift: u32, marks: &[Mark]) -> bool {
        let together = self.piece.same && self.piece.lanes > 1;
        !together && self.same_lanes(shift, marks)
    }

    /// Calls `set` for every cell with its mark and the mark of the lanes that access it now.
    #[inline(always)]
    pub fn marks(&self, shift: u32, marks: &mut [Mark], set: impl Fn(&mut Mark, Mark)) {
        let (first, step) = self.first_mark(shift);
        match step {
            Some(step) => {
                let each = |marks: &mut [Mark]| {
                    marks.iter_mut().enumerate().for_each(|(at, mark)| set(mark, first.up(at as u8 * step)));
                };
                // The words of a whole warp: this loop has a constant length.
                match <&mut [Mark; LANES]>::try_from(&mut *marks) {
                    Ok(row) => each(row),
                    Err(_) => each(marks),
                }
            }
            None => marks.iter_mut().enumerate().for_each(|(at, mark)| set(mark, self.mark(at, shift))),
        }
    }

    /// Returns the mark of its first cell and the increase of the lane from cell to cell, if the pattern is regular.
    #[inline(always)]
    fn first_mark(&self, shift: u32) -> (Mark, Option<u8>) {
        let lane = self.piece.first_lane as u8;
        if self.piece.same {
            return (self.piece.mark(self.in_turn), Some(0));
        }
        // The size of an element is a power of two.
        let own = self.per_lane.trailing_zeros();
        let lane = lane + (self.offset >> own) as u8;
        (Mark::side_by_side(lane, own, shift), (own <= shift).then(|| 1 << (shift - own)))
    }

    /// Computes the mark of a cell.
    fn mark(&self, at: usize, shift: u32) -> Mark {
        let lane = self.piece.lane_at(self.offset + ((at as u64) << shift), self.per_lane);
        Mark::side_by_side(lane as u8, self.per_lane.trailing_zeros(), shift)
    }
}
