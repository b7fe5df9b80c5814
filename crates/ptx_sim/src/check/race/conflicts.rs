//! One access against what shadow memory remembers: is it ordered after all of it? Then it is remembered itself.
//!
//! The usual case costs a few comparisons for the whole warp: the cells of neighbouring lanes refer to the same records, so one
//! question answers for all of them. Only when that fails are lanes looked at one by one.

use super::clock::{Block, Who};
use super::marks::Mark;
use super::pieces::Piece;
use super::records::{Conflict, Record};
use super::report::{Found, Seen};
use super::shadow::{Page, Shadow, exact_shift, to_page_end};
use super::span::Span;
use super::view::Home;
use crate::level::{Host, Task};
use crate::observe::Touch;
use std::collections::HashMap;

/// An access that is being checked.
pub(super) struct Now<'a> {
    pub block: &'a Block,
    pub clusters: &'a HashMap<u32, u64>,
    pub touch: &'a Touch<'a>,
    pub record: Record,
    /// It is a load that promises that nobody writes the memory, or breaks such a promise if one was made.
    pub promised: bool,
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
            let span = Span { piece, at, bytes: here, offset, per_lane };
            self.span(shadow.page(at), &span, seen);
            offset += here;
        }
    }

    fn is_plain_write(&self) -> bool {
        self.record.mode.writes && self.record.mode.strong.is_none()
    }

    #[inline(always)]
    fn span(&self, page: &mut Page, span: &Span, seen: &mut Seen<'_>) {
        let id = page.tables.record(self.record);
        let mut cells = page.cells(span.at, span.bytes);
        let one_write = page.writes.one(cells.clone());
        let known = match one_write {
            Some(write) => write == 0 || self.settled(page, write) || self.own_write(page, span, write),
            None => false,
        };
        if !known {
            self.against_writes(page, span, seen);
            cells = page.cells(span.at, span.bytes);
        }
        let one_set = page.sets.one(cells.clone());
        let known = match one_set {
            Some(set) => set == 0 || self.gets_along(page, set) || self.own_accesses(page, span, set),
            None => false,
        };
        if !known {
            self.against_sets(page, span, seen);
            cells = page.cells(span.at, span.bytes);
        }
        if self.promised && !self.keeps_promises(page, one_write, one_set) {
            self.against_promises(page, span, seen);
            cells = page.cells(span.at, span.bytes);
        }
        if self.is_plain_write() {
            page.forget_sets(cells.clone());
            let shift = page.shift();
            let (writes, marks) = page.writes(cells);
            writes.fill(id);
            span.marks(shift, marks, |old, new| *old = new);
            return;
        }
        match one_set {
            Some(set) => self.join(page, span, set, id),
            None => {
                let mut done = 0;
                while done < span.bytes {
                    let cells = page.cells(span.at + done, span.bytes - done);
                    let set = page.sets.id(cells.start);
                    let same = 1 + (cells.start + 1..cells.end).take_while(|&cell| page.sets.id(cell) == set).count();
                    let part = span.part(done, (same as u64) << page.shift());
                    self.join(page, &part, set, id);
                    done += part.bytes;
                }
            }
        }
    }

    /// Puts the access into the set of some cells, which all have the same.
    #[inline(always)]
    fn join(&self, page: &mut Page, span: &Span, set: u16, id: u16) {
        let mut merged = page.tables.latest(set) == id;
        let mut cells = page.cells(span.at, span.bytes);
        if !merged {
            let grown = page.tables.grow(set, id, |record| self.block.settled(self.warp(), record));
            if grown.set == set {
                return;
            }
            page.sets(cells.clone()).0.fill(grown.set);
            merged = grown.merged;
        }
        if merged {
            let marks = page.sets.marks(cells.clone());
            if span.same_lanes(page.shift(), marks) {
                return;
            }
            if page.shift() > exact_shift(span.per_lane) || !marks.iter().all(|mark| mark.is_whole()) {
                cells = page.exact_cells(span.at, span.bytes, span.per_lane);
            }
        }
        let shift = page.shift();
        let marks = page.sets(cells).1;
        match merged {
            false => span.marks(shift, marks, |old, new| *old = new),
            true => span.marks(shift, marks, |old, new| *old = if *old == new { new } else { Mark::UNKNOWN }),
        }
    }

    fn warp(&self) -> usize {
        self.touch.warp as usize
    }

    #[inline(always)]
    fn settled(&self, page: &Page, record: u16) -> bool {
        self.block.settled(self.warp(), &page.tables.get(record))
    }

    /// Is there nothing in a set to worry about, whichever lanes are concerned?
    #[inline(always)]
    fn gets_along(&self, page: &Page, set: u16) -> bool {
        page.tables.set(set).members().iter().all(|&member| {
            let along =
                |record: &Record| self.conflict(record) == Conflict::No || self.block.settled(self.warp(), record);
            self.record.mode.gets_along(page.tables.mode(member)) || along(&page.tables.get(member))
        })
    }

    /// Was the last write made by the warp itself, in every cell by the lane that accesses it now?
    fn own_write(&self, page: &Page, span: &Span, write: u16) -> bool {
        self.own(&page.tables.get(write)) && span.same_lane_each(page.shift(), page.writes.marks(span.cells(page)))
    }

    /// Is all that a set has to worry about the warp's own, in every cell by the lane that accesses it now?
    fn own_accesses(&self, page: &Page, span: &Span, set: u16) -> bool {
        let fine = |record: &Record| {
            self.own(record) || self.conflict(record) == Conflict::No || self.block.settled(self.warp(), record)
        };
        page.tables.set(set).members().iter().all(|&member| fine(&page.tables.get(member)))
            && span.same_lane_each(page.shift(), page.sets.marks(span.cells(page)))
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
        let fine = |write: u16| write == 0 || self.settled(page, write);
        if different(span.cells(page).map(|cell| page.writes.id(cell))).all(fine) {
            return;
        }
        let mut fine = 0;
        for cell in page.exact_cells(span.at, span.bytes, span.per_lane) {
            let write = page.writes.id(cell);
            if write == 0 || write == fine {
                continue;
            }
            if self.settled(page, write) {
                fine = write;
                continue;
            }
            let record = page.tables.get(write);
            self.against(page, span, cell, &record, page.writes.who(cell), Conflict::Yes, seen);
        }
    }

    #[cold]
    fn against_sets(&self, page: &mut Page, span: &Span, seen: &mut Seen<'_>) {
        let fine = |set: u16| set == 0 || self.gets_along(page, set);
        if different(span.cells(page).map(|cell| page.sets.id(cell))).all(fine) {
            return;
        }
        let mut fine = 0;
        for cell in page.exact_cells(span.at, span.bytes, span.per_lane) {
            let id = page.sets.id(cell);
            if id == 0 || id == fine {
                continue;
            }
            if self.gets_along(page, id) {
                fine = id;
                continue;
            }
            let set = page.tables.set(id);
            let latest = page.tables.latest(id);
            for &member in set.members() {
                let record = &page.tables.get(member);
                let conflict = self.conflict(record);
                if conflict != Conflict::No && !self.block.settled(self.warp(), record) {
                    let who = if member == latest { page.sets.who(cell) } else { Who::Unknown };
                    self.against(page, span, cell, record, who, conflict, seen);
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
        let offset = span.offset_of(cell, page.shift());
        let piece = &span.piece;
        let Some(lane) = span.lanes(offset).find(|&lane| !self.block.ordered(self.warp(), lane as u8, earlier, who))
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
            promise: false,
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
            seen.add(&Found { now: self, earlier, who, lane, address: piece.address, bytes, conflict, promise: false });
        }
    }
}

/// The values that are not the same as the one before.
pub(super) fn different(values: impl Iterator<Item = u16>) -> impl Iterator<Item = u16> {
    let mut last = None;
    values.filter(move |value| last.replace(*value) != Some(*value))
}
