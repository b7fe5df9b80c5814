//! Fast paths for accesses whose cells all have the same state, in which no race is possible.
//!
//! The answer is computed once for all cells, or read from the cache in the page's tables. There are three paths: a
//! load that changes nothing, a piece that is one cell, and any other piece. All other cases go to [`Now::span`], which
//! gives the same results in the simple cases: a test runs programs both ways.

use super::marks::{Mark, Marks};
use super::now::Now;
use super::pieces::{Piece, Pieces};
use super::records::{Mode, Record};
use super::report::Seen;
use super::shadow::{Page, Shadow, exact_shift, page_number, to_page_end};
use super::span::Span;
use super::state::Race;
use super::tables::Grown;
use crate::level::{Host, Task};
use crate::memory::Undo;
use crate::memory::address::GLOBAL;
use crate::observe::{AccessKind, Touch};
use crate::program::{Order, Space};
use std::ops::Range;

impl Race<'_> {
    /// Whether this is an ordinary load that need not be recorded. May return false where the answer would take longer.
    #[inline(always)]
    pub(super) fn changes_nothing(&self, index: usize, touch: &Touch<'_>) -> bool {
        let (low, high, per_lane) = (touch.spread.low, touch.spread.high, u64::from(touch.bytes));
        let in_row = match touch.spread.step {
            Some(0) => true,
            Some(step) => step as u64 == per_lane && touch.mask == u32::MAX,
            None => false,
        };
        let plain = touch.kind == AccessKind::Load && touch.order == Order::Weak && !self.facts.any_non_coherent();
        if !plain || !in_row || only_slow_path() {
            return false;
        }
        let Some(block) = &self.blocks[index] else { return false };
        let (shadow, at) = match touch.space {
            Space::Global if low >= GLOBAL => (&self.global, low - GLOBAL),
            Space::Shared if touch.owner == u64::from(block.home.block) => (&self.shared[index], low),
            _ => return false,
        };
        let bytes = high - low + per_lane;
        if bytes > to_page_end(at) {
            return false;
        }
        let Some(page) = shadow.look(at) else { return false };
        let Some(cells) = page.aligned_cells(at, bytes) else { return false };
        let Some(set) = page.sets.one(cells.clone()).filter(|set| *set != 0) else { return false };
        let Some(write) = page.writes.one(cells) else { return false };
        let warp = touch.warp as usize;
        let Some(stamp) = block.warps.get(warp).map(|warp| warp.stamp) else { return false };
        if write != 0 {
            let write = page.tables.get(write);
            if write.block != block.home.block || write.stamp >= block.floor(warp) {
                return false;
            }
        }
        let mode = Mode::LOAD;
        let record = Record { block: block.home.block, stamp, site: touch.site, warp: touch.warp as u8, mode };
        match page.tables.recent(&record) {
            Some(id) => page.tables.known(set, id).is_some_and(|grown| grown.compatible && grown.marks == Marks::Keep),
            None => page.tables.earlier_blocks_read(set, record.block) && block.has_acquired_nothing(warp),
        }
    }
}

/// Set by tests to disable the fast paths, so that the results can be compared.
#[cfg(test)]
pub(super) static ONLY_SLOW_PATH: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);

#[inline(always)]
fn only_slow_path() -> bool {
    #[cfg(test)]
    return ONLY_SLOW_PATH.load(std::sync::atomic::Ordering::Relaxed);
    #[cfg(not(test))]
    false
}

/// The check of one access, compiled for each level of the host.
pub(super) struct Check<'p, 'a, 's> {
    pub now: &'p Now<'a>,
    pub shadow: &'p mut Shadow,
    /// Subtracted from an address to get the position in the shadow.
    pub base: u64,
    /// Where a page's bytes are saved before they are written; `None` unless the launch can be taken back.
    pub undo: Option<&'p Undo<'p>>,
    pub seen: &'p mut Seen<'s>,
}

impl Task for Check<'_, '_, '_> {
    type Output = ();
    #[inline(always)]
    fn run<H: Host>(&mut self, host: H) {
        let Self { now, shadow, base, undo, seen } = self;
        let touch = now.touch;
        let per_lane = u64::from(touch.bytes);
        let (mut number, mut page, mut id) = (u64::MAX, None, None);
        for piece in Pieces::of(touch.addresses, touch.mask, per_lane, touch.spread.step) {
            if piece.same && piece.lanes > 1 && now.record.mode.is_plain_store() {
                now.among_lanes(piece, seen);
            }
            let (mut offset, total) = (0, piece.bytes(per_lane));
            while offset < total {
                let at = piece.address.wrapping_sub(*base).wrapping_add(offset);
                let bytes = (total - offset).min(to_page_end(at));
                if page_number(at) != number {
                    (number, page, id) = (page_number(at), Some(shadow.page(at)), None);
                    if let (Some(undo), Some(page)) = (*undo, page.as_deref_mut())
                        && !std::mem::replace(&mut page.saved, true)
                    {
                        undo.save(base.wrapping_add(at));
                    }
                }
                if let Some(page) = page.as_deref_mut()
                    && (only_slow_path() || !now.one_cell(page, &mut id, &piece, at, bytes))
                {
                    let in_turn = now.record.mode.observes;
                    let span = &Span { piece, at, bytes, offset, per_lane, in_turn };
                    if only_slow_path() || !now.at_once(page, span) {
                        host.perform(&mut SlowPath { now, page, span, seen });
                    }
                }
                offset += bytes;
            }
        }
    }
}

/// The access to cells that no fast path handles.
struct SlowPath<'p, 'a, 's> {
    now: &'p Now<'a>,
    page: &'p mut Page,
    span: &'p Span,
    seen: &'p mut Seen<'s>,
}

impl Task for SlowPath<'_, '_, '_> {
    type Output = ();
    #[inline(always)]
    fn run<H: Host>(&mut self, _: H) {
        self.now.span(self.page, self.span, self.seen);
    }
}

impl Now<'_> {
    /// Checks and records an access to one cell for which the answer is cached; returns false, without any effect, in
    /// other cases. `id`: the number of the access in the page, once it has one.
    #[inline(always)]
    fn one_cell(&self, page: &mut Page, id: &mut Option<u16>, piece: &Piece, at: u64, bytes: u64) -> bool {
        let Some(cell) = page.one_cell(at, bytes) else { return false };
        // If several lanes have parts of a cell, its mark carries more information.
        if self.may_violate_nc || self.record.mode.is_plain_store() || piece.lanes > 1 && !piece.same {
            return false;
        }
        let write = page.writes.id(cell);
        if !(write == 0 || self.settled(page, write)) {
            return false;
        }
        let set = page.sets.id(cell);
        *id = id.or_else(|| page.tables.recent(&self.record));
        let Some(grown) = id.and_then(|id| page.tables.known(set, id)) else { return false };
        let shift = page.shift();
        let Some((place, mark)) = page.sets.cell(cell).filter(|_| grown.compatible) else { return false };
        let new = piece.mark(self.record.mode.observes);
        match grown.marks {
            Marks::Keep => return true,
            Marks::Replace => *mark = new,
            Marks::Merge | Marks::Lose if *mark == new => {}
            _ if !mark.is_whole() || shift > exact_shift(bytes) => return false,
            Marks::Merge => *mark = mark.with(new),
            Marks::Lose => *mark = Mark::UNKNOWN,
        }
        *place = grown.set;
        true
    }

    /// Checks and records an access in a simple case; returns false, without any effect, in other cases.
    #[inline(always)]
    fn at_once(&self, page: &mut Page, span: &Span) -> bool {
        let Some(cells) = page.aligned_cells(span.at, span.bytes) else { return false };
        let (Some(write), Some(set)) = (page.writes.one(cells.clone()), page.sets.one(cells.clone())) else {
            return false;
        };
        if self.may_violate_nc || !(write == 0 || self.settled(page, write) || self.own_write(page, span, write)) {
            return false;
        }
        if self.record.mode.is_plain_store() {
            let fine = set == 0 || self.compatible(page, set) || self.own_accesses(page, span, set);
            if fine {
                let id = page.tables.record(&self.record);
                self.record_write(page, span, cells, id);
            }
            return fine;
        }
        let id = match page.tables.recent(&self.record) {
            Some(id) => id,
            None if self.adds_nothing(page, set) => return true,
            None => page.tables.record(&self.record),
        };
        let grown = match page.tables.known(set, id) {
            Some(grown) if grown.compatible => grown,
            _ => {
                let compatible = set == 0 || self.compatible(page, set);
                if !compatible && !self.own_accesses(page, span, set) {
                    return false;
                }
                self.grown(page, set, id, compatible)
            }
        };
        self.record_access(page, span, cells, set, grown);
        true
    }

    /// Whether this is an ordinary load, which a set full of loads by earlier blocks does not record.
    #[inline(always)]
    fn adds_nothing(&self, page: &Page, set: u16) -> bool {
        self.record.mode.is_plain_load()
            && page.tables.earlier_blocks_read(set, self.record.block)
            && self.block.has_acquired_nothing(self.warp())
    }

    /// Returns the set of some cells with this access added.
    pub fn grown(&self, page: &mut Page, set: u16, id: u16, compatible: bool) -> Grown {
        let observed =
            |record: &Record| self.record.mode.observed(self.block.home, record.mode, || self.home_of(record.block));
        page.tables.grow(set, id, compatible, |record| self.block.settled(self.warp(), record), observed)
    }

    /// Records an ordinary write, which makes the accesses before it irrelevant.
    #[inline(always)]
    pub fn record_write(&self, page: &mut Page, span: &Span, cells: Range<usize>, id: u16) {
        page.clear_sets(cells.clone());
        let shift = page.shift();
        let (writes, marks) = page.writes(cells);
        writes.fill(id);
        span.marks(shift, marks, |old, new| *old = new);
    }

    /// Adds the access to the set of some cells, which all have the same set.
    #[inline(always)]
    pub fn record_access(&self, page: &mut Page, span: &Span, cells: Range<usize>, set: u16, grown: Grown) {
        if grown.marks == Marks::Keep {
            return;
        }
        if grown.set != set {
            page.sets(cells.clone()).0.fill(grown.set);
        }
        if grown.marks != Marks::Replace {
            return self.merge_marks(page, span, cells, grown.marks);
        }
        let shift = page.shift();
        span.marks(shift, page.sets(cells).1, |old, new| *old = new);
    }

    /// Merges marks when the access replaces an earlier one, possibly by other lanes.
    #[inline(never)]
    fn merge_marks(&self, page: &mut Page, span: &Span, mut cells: Range<usize>, how: Marks) {
        let marks = page.sets.marks(cells.clone());
        if span.same_lanes(page.shift(), marks) {
            return;
        }
        if page.shift() > exact_shift(span.per_lane) || !marks.iter().all(|mark| mark.is_whole()) {
            cells = page.exact_cells(span.at, span.bytes, span.per_lane);
        }
        let shift = page.shift();
        let marks = page.sets(cells).1;
        match how {
            Marks::Merge => span.marks(shift, marks, |old, new| *old = old.with(new)),
            _ => span.marks(shift, marks, |old, new| *old = if *old == new { new } else { Mark::UNKNOWN }),
        }
    }
}
