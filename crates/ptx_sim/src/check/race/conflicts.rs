//! One access against what shadow memory remembers: is it ordered after all of it? Then it is remembered itself.
//!
//! The usual case costs a few comparisons for the whole warp: the cells of neighbouring lanes refer to the same records, so one
//! question answers for all of them. Only when that fails are lanes looked at one by one.

use super::clock::{Block, Who};
use super::pieces::Piece;
use super::records::{Conflict, Record};
use super::report::{Found, Seen};
use super::shadow::{Page, Shadow, mark, to_page_end};
use super::view::Home;
use crate::level::{Host, Task};
use crate::observe::Touch;
use crate::registers::LANES;
use std::collections::HashMap;

/// An access that is being checked.
pub(super) struct Now<'a> {
    pub block: &'a Block,
    pub clusters: &'a HashMap<u32, u64>,
    pub touch: &'a Touch<'a>,
    pub record: Record,
}

/// The check of one piece, compiled for each level of the host.
pub(super) struct Check<'p, 'a, 's> {
    pub now: &'p Now<'a>,
    pub shadow: &'p mut Shadow,
    pub base: u64,
    pub piece: Piece,
    pub seen: &'p mut Seen<'s>,
}

impl Task for Check<'_, '_, '_> {
    type Output = ();
    #[inline(always)]
    fn run<H: Host>(&mut self, _: H) {
        self.now.check(self.shadow, self.base, self.piece, self.seen);
    }
}

impl Now<'_> {
    /// Checks a piece and remembers it. `base` is subtracted from addresses to get places in the shadow.
    #[inline(always)]
    fn check(&self, shadow: &mut Shadow, base: u64, piece: Piece, seen: &mut Seen<'_>) {
        let per_lane = u64::from(self.touch.bytes);
        let mut offset = 0;
        let total = piece.bytes(per_lane);
        if piece.same && piece.lanes > 1 && self.is_plain_write() {
            self.among_lanes(piece, seen);
        }
        while offset < total {
            let at = piece.address.wrapping_sub(base).wrapping_add(offset);
            let here = (total - offset).min(to_page_end(at));
            let page = shadow.page(at, per_lane < 4);
            let (first, count) = page.cells(at, here);
            let span = Span { piece, offset, per_lane, first, count };
            self.span(page, &span, seen);
            offset += here;
        }
    }

    fn is_plain_write(&self) -> bool {
        self.record.mode.writes && self.record.mode.strong.is_none()
    }

    #[inline(always)]
    fn span(&self, page: &mut Page, span: &Span, seen: &mut Seen<'_>) {
        let id = page.tables.record(self.record);
        let cells = span.first..span.first + span.count;
        let one_write = one(&page.writes[cells.clone()]);
        let known = match one_write {
            Some(write) => write == 0 || self.settled(page, write) || self.own_write(page, span, write),
            None => false,
        };
        if !known {
            self.against_writes(page, span, seen);
        }
        let one_set = one(&page.sets[cells.clone()]);
        let known = match one_set {
            Some(set) => set == 0 || self.gets_along(page, set) || self.own_accesses(page, span, set),
            None => false,
        };
        if !known {
            self.against_sets(page, span, seen);
        }
        if self.is_plain_write() {
            page.writes[cells.clone()].fill(id);
            page.sets[cells.clone()].fill(0);
            span.mark_all(page.shift(), &mut page.write_lanes[cells], |old, new| *old = new);
            return;
        }
        match one_set {
            Some(set) => {
                let joined = self.join_set(page, set, id, cells.clone());
                span.remark(page.shift(), &mut page.set_lanes[cells], joined);
            }
            None => {
                for cell in cells {
                    let joined = self.join_set(page, page.sets[cell], id, cell..cell + 1);
                    let one =
                        Span { first: cell, count: 1, offset: span.offset + span.back(cell, page.shift()), ..*span };
                    one.remark(page.shift(), &mut page.set_lanes[cell..=cell], joined);
                }
            }
        }
    }

    /// Puts the access into the set of some cells.
    #[inline(always)]
    fn join_set(&self, page: &mut Page, set: u16, id: u16, cells: std::ops::Range<usize>) -> Joined {
        if page.tables.latest(set) == id {
            return Joined::Again;
        }
        let grown = page.tables.grow(set, id, |record| self.block.settled(self.warp(), record));
        if grown.set == set {
            return Joined::Not;
        }
        page.sets[cells].fill(grown.set);
        if grown.merged { Joined::Again } else { Joined::New }
    }

    fn warp(&self) -> usize {
        self.touch.warp as usize
    }

    #[inline(always)]
    fn settled(&self, page: &Page, record: u16) -> bool {
        self.block.settled(self.warp(), page.tables.get(record))
    }

    /// Is there nothing in a set to worry about, whichever lanes are concerned?
    #[inline(always)]
    fn gets_along(&self, page: &Page, set: u16) -> bool {
        page.tables.members(set).iter().all(|&member| {
            let record = page.tables.get(member);
            self.conflict(record) == Conflict::No || self.block.settled(self.warp(), record)
        })
    }

    /// Was the last write made by the warp itself, in every cell by the lane that accesses it now?
    fn own_write(&self, page: &Page, span: &Span, write: u16) -> bool {
        self.own(page.tables.get(write)) && span.same_lanes(page.shift(), &page.write_lanes)
    }

    /// Is all that a set has to worry about the warp's own, in every cell by the lane that accesses it now?
    fn own_accesses(&self, page: &Page, span: &Span, set: u16) -> bool {
        let fine = |record: &Record| {
            self.own(record) || self.conflict(record) == Conflict::No || self.block.settled(self.warp(), record)
        };
        page.tables.members(set).iter().all(|&member| fine(page.tables.get(member)))
            && span.same_lanes(page.shift(), &page.set_lanes)
    }

    fn own(&self, record: &Record) -> bool {
        record.block == self.block.home.block && usize::from(record.warp) == self.warp()
    }

    #[inline(always)]
    fn conflict(&self, record: &Record) -> Conflict {
        let home = || {
            let cluster = self.clusters.get(&record.block).copied().unwrap_or(u64::from(record.block));
            Home { block: record.block, cluster }
        };
        self.record.mode.conflict(self.block.home, record.mode, home)
    }

    #[cold]
    fn against_writes(&self, page: &mut Page, span: &Span, seen: &mut Seen<'_>) {
        let mut fine = 0;
        for cell in span.first..span.first + span.count {
            let write = page.writes[cell];
            if write == 0 || write == fine {
                continue;
            }
            if self.settled(page, write) {
                fine = write;
                continue;
            }
            let record = *page.tables.get(write);
            self.against(page, span, cell, &record, page.writer(cell), Conflict::Yes, seen);
        }
    }

    #[cold]
    fn against_sets(&self, page: &mut Page, span: &Span, seen: &mut Seen<'_>) {
        let mut fine = 0;
        for cell in span.first..span.first + span.count {
            let set = page.sets[cell];
            if set == 0 || set == fine {
                continue;
            }
            if self.gets_along(page, set) {
                fine = set;
                continue;
            }
            let latest = page.tables.latest(set);
            for &member in page.tables.members(set) {
                let record = page.tables.get(member);
                let conflict = self.conflict(record);
                if conflict != Conflict::No && !self.block.settled(self.warp(), record) {
                    self.against(page, span, cell, record, page.member(cell, member == latest), conflict, seen);
                }
            }
        }
    }

    /// One earlier access that may not be ordered before one cell's.
    #[expect(clippy::too_many_arguments, reason = "the two accesses and where they are kept")]
    fn against(
        &self,
        page: &Page,
        span: &Span,
        cell: usize,
        earlier: &Record,
        who: Who,
        conflict: Conflict,
        seen: &mut Seen<'_>,
    ) {
        let offset = span.offset + span.back(cell, page.shift());
        let piece = &span.piece;
        let lanes = if piece.same { piece.first_lane..piece.first_lane + piece.lanes } else { one_lane(span, offset) };
        let Some(lane) = lanes.into_iter().find(|&lane| !self.block.ordered(self.warp(), lane as u8, earlier, who))
        else {
            return;
        };
        let found = Found {
            now: self,
            earlier,
            who,
            lane,
            address: piece.address + offset,
            bytes: 1 << page.shift(),
            conflict,
        };
        seen.add(&found);
    }

    /// Lanes of one store that write different values to one address.
    #[cold]
    fn among_lanes(&self, piece: Piece, seen: &mut Seen<'_>) {
        let values = |lane: usize| self.touch.peek.stored(lane);
        let first = values(piece.first_lane);
        let mut others = piece.first_lane + 1..piece.first_lane + piece.lanes;
        if let Some(lane) = others.find(|&lane| values(lane) != first) {
            let who = Who::Lane(piece.first_lane as u8);
            let bytes = self.touch.bytes.min(4);
            let (earlier, conflict) = (&self.record, Conflict::Yes);
            seen.add(&Found { now: self, earlier, who, lane, address: piece.address, bytes, conflict });
        }
    }
}

fn one_lane(span: &Span, offset: u64) -> std::ops::Range<usize> {
    let lane = span.piece.lane_at(offset, span.per_lane);
    lane..lane + 1
}

/// How an access got into a set.
#[derive(Clone, Copy)]
enum Joined {
    New,
    /// It stands for an earlier one of the same warp too, whose lane may have been another.
    Again,
    /// The set says enough without it.
    Not,
}

/// The part of a piece that lies in one page.
struct Span {
    piece: Piece,
    /// Bytes of the piece before it.
    offset: u64,
    per_lane: u64,
    first: usize,
    count: usize,
}

impl Span {
    /// Bytes from the span's start to a cell.
    fn back(&self, cell: usize, shift: u32) -> u64 {
        ((cell - self.first) as u64) << shift
    }

    /// Are the cells' marks those of the lanes that access them now, each alone?
    #[inline(always)]
    fn same_lanes(&self, shift: u32, marks: &[u8]) -> bool {
        let Some(marks) = marks.get(self.first..self.first + self.count) else { return false };
        if self.piece.same {
            return self.piece.lanes == 1 && marks.iter().all(|mark| usize::from(*mark) == self.piece.first_lane);
        }
        if self.per_lane >> shift != 1 {
            let lane = |at: usize| self.piece.lane_at(self.offset + ((at as u64) << shift), self.per_lane);
            return marks.iter().enumerate().all(|(at, mark)| usize::from(*mark) == lane(at));
        }
        let first = (self.piece.first_lane as u64 + self.offset / self.per_lane) as u8;
        marks.iter().enumerate().fold(0, |off, (at, mark)| off | (mark ^ (first.wrapping_add(at as u8)))) == 0
    }

    /// Gives every cell's mark, and the mark of the lane that accesses it now, to `set`.
    #[inline(always)]
    fn mark_all(&self, shift: u32, marks: &mut [u8], set: impl Fn(&mut u8, u8)) {
        // A whole warp's words: a loop whose length the compiler knows.
        match <&mut [u8; LANES]>::try_from(&mut *marks) {
            Ok(row) => self.marks(shift, row, set),
            Err(_) => self.marks(shift, marks, set),
        }
    }

    #[inline(always)]
    fn marks(&self, shift: u32, marks: &mut [u8], set: impl Fn(&mut u8, u8)) {
        if self.piece.same {
            let lane = self.piece.first_lane as u8;
            let new = mark(if self.piece.lanes > 1 { Who::Several } else { Who::Lane(lane) });
            marks.iter_mut().for_each(|mark| set(mark, new));
        } else if self.per_lane >> shift == 1 {
            let first = (self.piece.first_lane as u64 + self.offset / self.per_lane) as u8;
            marks.iter_mut().enumerate().for_each(|(at, mark)| set(mark, first + at as u8));
        } else {
            for (at, mark) in marks.iter_mut().enumerate() {
                set(mark, self.piece.lane_at(self.offset + ((at as u64) << shift), self.per_lane) as u8);
            }
        }
    }

    /// The marks of the latest in a set.
    #[inline(always)]
    fn remark(&self, shift: u32, marks: &mut [u8], joined: Joined) {
        let unknown = mark(Who::Unknown);
        match joined {
            Joined::New => self.mark_all(shift, marks, |old, new| *old = new),
            Joined::Again => self.mark_all(shift, marks, |old, new| *old = if *old == new { new } else { unknown }),
            Joined::Not => {}
        }
    }
}

/// The value that all cells have.
#[inline(always)]
fn one(cells: &[u16]) -> Option<u16> {
    let &first = cells.first()?;
    let alike = |cells: &[u16]| cells.iter().fold(0, |off, cell| off | (cell ^ first)) == 0;
    // A whole warp's words: a loop whose length the compiler knows.
    let same = match <&[u16; LANES]>::try_from(cells) {
        Ok(row) => alike(row),
        Err(_) => alike(cells),
    };
    same.then_some(first)
}
