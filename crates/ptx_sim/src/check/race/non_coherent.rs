//! Check of `ld.global.nc`: no thread may write the memory that it reads during the launch. The data may come from a
//! cache that writes do not update, so neither a barrier nor a fence makes such a write correct.

use super::clock::Who;
use super::conflicts::different;
use super::now::Now;
use super::records::{Conflict, Record};
use super::report::{Found, Seen};
use super::shadow::Page;
use super::span::Span;

impl Now<'_> {
    /// Quick test for cells with one known write and set: true if there is no violation, false if that is unclear.
    #[inline]
    pub fn no_nc_violation(&self, page: &Page, write: Option<u16>, set: Option<u16>) -> bool {
        let unwritten = write == Some(0) || !self.record.mode.non_coherent;
        unwritten && set.is_some_and(|set| set == 0 || !self.any_violates_nc(page, set))
    }

    /// Reports an access that writes memory read by `ld.global.nc`, or an `ld.global.nc` of memory that was written.
    #[cold]
    pub fn check_nc(&self, page: &mut Page, span: &Span, seen: &mut Seen<'_>) {
        let cells = span.cells(page);
        let written = self.record.mode.non_coherent
            && different(cells.clone().map(|cell| page.writes.id(cell))).any(|id| id != 0);
        if !written && !different(cells.map(|cell| page.sets.id(cell))).any(|set| self.any_violates_nc(page, set)) {
            return;
        }
        for cell in page.exact_cells(span.at, span.bytes, span.per_lane) {
            let write = page.writes.id(cell);
            let set = page.tables.set(page.sets.id(cell));
            let latest = set.members().last().copied();
            let found = if written && write != 0 {
                Some((write, page.writes.who(cell)))
            } else {
                let member = set.members().iter().copied().find(|&id| self.violates_nc(&page.tables.get(id)));
                member.map(|id| (id, if Some(id) == latest { page.sets.who(cell) } else { Who::Unknown }))
            };
            let Some((id, who)) = found else { continue };
            let (earlier, bytes) = (&page.tables.get(id), 1 << page.shift());
            let offset = span.offset_of(cell, page.shift());
            let (lane, address) = (span.lanes(offset).start, span.piece.address + offset);
            seen.add(&Found {
                now: self,
                earlier,
                who,
                lane,
                address,
                bytes,
                conflict: Conflict::Yes,
                violates_nc: true,
            });
        }
    }

    fn any_violates_nc(&self, page: &Page, set: u16) -> bool {
        page.tables.set(set).members().iter().any(|&id| self.violates_nc(&page.tables.get(id)))
    }

    /// Whether one of the two accesses is a write and the other an `ld.global.nc`.
    fn violates_nc(&self, earlier: &Record) -> bool {
        let (now, earlier) = (self.record.mode, earlier.mode);
        now.non_coherent && earlier.writes || now.writes && earlier.non_coherent
    }
}
