//! Check of one access against shadow memory: the access must be ordered after every conflicting access recorded there.
//! Then it is recorded itself.
//!
//! Cells of neighbouring lanes usually refer to the same records, so one check covers all of them. Lanes are examined
//! one by one only when that check fails.

use super::clock::Who;
use super::now::Now;
use super::pieces::Piece;
use super::records::{Conflict, Record};
use super::report::{Found, Seen};
use super::shadow::Page;
use super::span::Span;
use super::view::Home;

/// An earlier access to a cell, and how it conflicts with the one being checked.
#[derive(Clone, Copy)]
struct Earlier<'a> {
    record: &'a Record,
    /// The lane that made it, as far as the cell records it.
    who: Who,
    conflict: Conflict,
}

impl Now<'_> {
    /// Checks the part of a piece that lies in a page, and records it.
    #[inline(always)]
    pub fn span(&self, page: &mut Page, span: &Span, seen: &mut Seen<'_>) {
        let id = page.tables.record(&self.record);
        let mut cells = page.cells(span.at, span.bytes);
        let one_write = page.writes.one(cells.clone());
        let known = match one_write {
            Some(write) => write == 0 || self.settled(page, write) || self.own_write(page, span, write),
            None => false,
        };
        if !known {
            self.check_writes(page, span, seen);
            cells = page.cells(span.at, span.bytes);
        }
        let one_set = page.sets.one(cells.clone());
        let known = match one_set {
            Some(set) => set == 0 || self.compatible(page, set) || self.own_accesses(page, span, set),
            None => false,
        };
        if !known {
            self.check_sets(page, span, seen);
            cells = page.cells(span.at, span.bytes);
        }
        if self.may_violate_nc && !self.no_nc_violation(page, one_write, one_set) {
            self.check_nc(page, span, seen);
            cells = page.cells(span.at, span.bytes);
        }
        if self.record.mode.is_plain_store() {
            return self.record_write(page, span, cells, id);
        }
        self.join_all(page, span, one_set, id);
    }

    /// Checks an asynchronous access when it is issued; it is recorded later, when it completes.
    pub fn check_only(&self, page: &mut Page, span: &Span, seen: &mut Seen<'_>) {
        page.cells(span.at, span.bytes);
        self.check_writes(page, span, seen);
        self.check_sets(page, span, seen);
    }

    /// Records an asynchronous access that completes.
    pub fn record_only(&self, page: &mut Page, span: &Span) {
        let id = page.tables.record(&self.record);
        let cells = page.cells(span.at, span.bytes);
        if self.record.mode.is_plain_store() {
            return self.record_write(page, span, cells, id);
        }
        let one_set = page.sets.one(cells);
        self.join_all(page, span, one_set, id);
    }

    /// Adds the access to the sets of its cells; `one_set` is the set of all of them, if they have the same.
    #[inline(always)]
    fn join_all(&self, page: &mut Page, span: &Span, one_set: Option<u16>, id: u16) {
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

    fn join(&self, page: &mut Page, span: &Span, set: u16, id: u16) {
        let cells = page.cells(span.at, span.bytes);
        let grown = self.grown(page, set, id, false);
        self.record_access(page, span, cells, set, grown);
    }

    pub fn warp(&self) -> usize {
        self.touch.warp as usize
    }

    #[inline(always)]
    pub fn settled(&self, page: &Page, record: u16) -> bool {
        let record = &page.tables.get(record);
        let before = record.block == self.record.block && record.stamp < self.floor;
        before || self.block.settled(self.warp(), record)
    }

    /// Whether no member of a set can race with the access, for all lanes involved.
    #[inline]
    pub fn compatible(&self, page: &Page, set: u16) -> bool {
        page.tables.set(set).members().iter().all(|&member| {
            let compatible =
                |record: &Record| self.conflict(record) == Conflict::No || self.block.settled(self.warp(), record);
            self.record.mode.compatible(page.tables.mode(member)) || compatible(&page.tables.get(member))
        })
    }

    /// Whether the warp itself made the last write, in every cell by the lane that accesses it now.
    pub fn own_write(&self, page: &Page, span: &Span, write: u16) -> bool {
        self.own(&page.tables.get(write)) && span.same_lane_each(page.shift(), page.writes.marks(span.cells(page)))
    }

    /// Whether every member of a set that could race is the warp's own, in every cell by the lane that accesses it now.
    pub fn own_accesses(&self, page: &Page, span: &Span, set: u16) -> bool {
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
        self.record.mode.conflict(self.block.home, record.mode, || self.home_of(record.block))
    }

    pub fn home_of(&self, block: u32) -> Home {
        let cluster = self.clusters.get(&block).copied().unwrap_or(u64::from(block));
        Home { block, cluster }
    }

    #[cold]
    fn check_writes(&self, page: &mut Page, span: &Span, seen: &mut Seen<'_>) {
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
            let record = &page.tables.get(write);
            let earlier = Earlier { record, who: page.writes.who(cell), conflict: Conflict::Yes };
            self.check_pair(page, span, cell, earlier, seen);
        }
    }

    #[cold]
    fn check_sets(&self, page: &mut Page, span: &Span, seen: &mut Seen<'_>) {
        let fine = |set: u16| set == 0 || self.compatible(page, set);
        if different(span.cells(page).map(|cell| page.sets.id(cell))).all(fine) {
            return;
        }
        let mut fine = 0;
        for cell in page.exact_cells(span.at, span.bytes, span.per_lane) {
            let id = page.sets.id(cell);
            if id == 0 || id == fine {
                continue;
            }
            if self.compatible(page, id) {
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
                    self.check_pair(page, span, cell, Earlier { record, who, conflict }, seen);
                }
            }
        }
    }

    /// Checks one earlier access against the access to one cell.
    fn check_pair(&self, page: &Page, span: &Span, cell: usize, earlier: Earlier<'_>, seen: &mut Seen<'_>) {
        let Earlier { record, who, conflict } = earlier;
        let offset = span.offset_of(cell, page.shift());
        let piece = &span.piece;
        let Some(lane) = span.lanes(offset).find(|&lane| !self.block.ordered(self.warp(), lane as u8, record, who))
        else {
            return;
        };
        let found = Found {
            now: self,
            earlier: record,
            who,
            lane,
            address: piece.address + offset,
            bytes: 1 << page.shift(),
            conflict,
            violates_nc: false,
        };
        seen.add(&found);
    }

    /// Reports lanes of one store that write different values to one address.
    #[cold]
    pub fn among_lanes(&self, piece: Piece, seen: &mut Seen<'_>) {
        let values = |lane: usize| self.touch.peek.stored(lane);
        let first = values(piece.first_lane);
        let mut others = piece.first_lane + 1..piece.first_lane + piece.lanes;
        if let Some(lane) = others.find(|&lane| values(lane) != first) {
            let who = Who::Lane(piece.first_lane as u8);
            let bytes = self.touch.bytes.min(4);
            let (earlier, conflict) = (&self.record, Conflict::Yes);
            seen.add(&Found {
                now: self,
                earlier,
                who,
                lane,
                address: piece.address,
                bytes,
                conflict,
                violates_nc: false,
            });
        }
    }
}

/// Removes consecutive duplicates.
pub(super) fn different(values: impl Iterator<Item = u16>) -> impl Iterator<Item = u16> {
    let mut last = None;
    values.filter(move |value| last.replace(*value) != Some(*value))
}
