//! Check of the accesses that copies and `wgmma` make to shared memory: against earlier ones with the view of the
//! thread that issues them, and recorded when they complete.

use super::agents::{Agent, State, product_time, ticket};
use super::entry::Entry;
use super::now::Now;
use super::occurrence::{Asynchronous, Issuer};
use super::pieces::{Piece, Pieces};
use super::records::{Mode, Record};
use super::shadow::{Page, Shadow, to_page_end};
use super::span::Span;
use super::state::Race;
use super::tree::Tree;
use super::view::Reach;
use crate::lanes::Spread;
use crate::observe::{AccessKind, Completes, Peek, Range, Touch};
use crate::program::{Order, Scope, Space};
use crate::registers::LANES;
use std::sync::Arc;

/// Upper bound on the shared memory of a block, in bytes.
const MOST_SHARED: u64 = 1 << 24;
/// Largest cells of shared memory that an access is divided into.
const WORD: u64 = 4;

impl Race<'_> {
    /// Checks what a warp's `cp.async` will write, when it is issued: a barrier between its issue and its completion
    /// does not order it after what other threads did before the barrier.
    pub(super) fn check_announced(&mut self, index: usize, writes: &Touch<'_>) {
        let Some(block) = self.blocks[index].as_ref() else { return };
        let Some(warp) = block.warps.get(writes.warp as usize) else { return };
        let Some(&owner) = self.tickets.get(&writes.owner) else { return };
        let (mode, site) = (Mode { writes: true, ..Mode::LOAD }, writes.site);
        let record = Record { block: block.home.block, stamp: warp.stamp, site, warp: writes.warp as u8, mode };
        let floor = block.floor(writes.warp as usize);
        let now = Now {
            block,
            clusters: &self.clusters,
            touch: writes,
            record,
            floor,
            may_violate_nc: false,
            asynchronous: false,
        };
        let (shadow, seen, per_lane) = (&mut self.shared[owner], &mut self.seen, u64::from(writes.bytes));
        for piece in Pieces::of(writes.addresses, writes.mask, per_lane, writes.spread.step) {
            each_span(shadow, piece, piece.bytes(per_lane), per_lane, |page, span| now.check_only(page, span, seen));
        }
    }

    /// Checks an access of a thread's copy, or of a warp's product, when it is issued.
    pub(super) fn check_issued(&mut self, index: usize, range: &Range, peek: Peek<'_>) {
        let Some((owner, block)) = self.place(range).zip(self.blocks[index].as_ref()) else { return };
        let Some(warp) = block.warps.get(range.warp as usize) else { return };
        let (block_ticket, mode) = (block.home.block, mode(range));
        let record = Record { block: block_ticket, stamp: warp.stamp, site: range.site, warp: range.warp as u8, mode };
        let (addresses, mask) = ([range.start; LANES], 1 << (range.lane % 32));
        let spread = Spread::of(&addresses, mask);
        let touch = &touch(range, &addresses, mask, &spread, peek);
        let floor = block.floor(range.warp as usize);
        let now =
            Now { block, clusters: &self.clusters, touch, record, floor, may_violate_nc: false, asynchronous: true };
        let seen = &mut self.seen;
        let (piece, bytes) = (piece_of(range), range.bytes);
        each_span(&mut self.shared[owner], piece, bytes, WORD, |page, span| now.check_only(page, span, seen));
    }

    /// Records an access that completes.
    pub(super) fn record_completed(&mut self, index: usize, range: &Range, peek: Peek<'_>) {
        let Some(owner) = self.place(range) else { return };
        let Some(issuer) = self.blocks[index].as_ref().map(|block| block.home.block) else { return };
        let (home, agent) = match range.completes {
            Completes::Mbarrier { owner, address } => (ticket(owner), Agent::Mbarrier(address)),
            Completes::Group => (issuer, Agent::Thread(range.warp, range.lane)),
            Completes::Warpgroup { group, .. } => (issuer, Agent::Warpgroup(group)),
        };
        let state = self.agents.of(home, agent);
        if let Completes::Warpgroup { number, .. } = range.completes {
            state.time = product_time(number);
        }
        let State { number, time } = *state;
        let kind = match agent {
            Agent::Warpgroup(_) => Asynchronous::Product,
            _ => Asynchronous::Copy,
        };
        let by = Issuer { block: issuer, warp: range.warp, lane: range.lane as u8, kind };
        self.seen.issued((home, number), by);
        let at = self.tickets.get(&u64::from(home)).copied();
        if let Some(block) = at.and_then(|at| self.blocks[at].as_mut()) {
            block.asynchronous = true;
        }
        let Some(block) = self.blocks[index].as_ref() else { return };
        let record = Record { block: home, stamp: time, site: range.site, warp: number, mode: mode(range) };
        let (addresses, mask) = ([range.start; LANES], 1 << (range.lane % 32));
        let spread = Spread::of(&addresses, mask);
        let touch = &touch(range, &addresses, mask, &spread, peek);
        let floor = block.floor(range.warp as usize);
        let now =
            Now { block, clusters: &self.clusters, touch, record, floor, may_violate_nc: false, asynchronous: true };
        let (piece, bytes) = (piece_of(range), range.bytes);
        each_span(&mut self.shared[owner], piece, bytes, WORD, |page, span| now.record_only(page, span));
        if range.completes == Completes::Group
            && let Some(block) = self.blocks[index].as_mut()
        {
            // The thread itself has waited.
            let mut tree = Tree::default();
            tree.insert(home, &Arc::new(Entry::completed(number, time + 1)));
            block.acquire(range.warp as usize, mask, &tree, false);
            self.agents.of(home, agent).time = time + 1;
        }
    }

    /// Returns the index of the block whose shared memory is accessed.
    fn place(&self, range: &Range) -> Option<usize> {
        let inside = range.space == Space::Shared && range.bytes != 0 && range.start + range.bytes <= MOST_SHARED;
        inside.then(|| self.tickets.get(&range.owner).copied())?
    }
}

fn mode(range: &Range) -> Mode {
    let strong = range.reduces.then_some(Reach::Device);
    Mode { writes: range.kind != AccessKind::Load, strong, ..Mode::LOAD }
}

fn touch<'a>(range: &Range, addresses: &'a [u64; LANES], mask: u32, spread: &'a Spread, peek: Peek<'a>) -> Touch<'a> {
    Touch {
        site: range.site,
        warp: range.warp,
        mask,
        kind: range.kind,
        space: Space::Shared,
        order: Order::Weak,
        scope: Scope::Cta,
        owner: range.owner,
        bytes: WORD as u32,
        matrix_rows: false,
        addresses,
        spread,
        peek,
    }
}

/// The range of a copy or a product: one lane accesses all bytes, as it accesses one address.
fn piece_of(range: &Range) -> Piece {
    Piece { address: range.start, first_lane: range.lane as usize % LANES, lanes: 1, same: true }
}

/// Calls `each` for the part of a piece of `total` bytes in every page.
fn each_span(shadow: &mut Shadow, piece: Piece, total: u64, per_lane: u64, mut each: impl FnMut(&mut Page, &Span)) {
    let mut offset = 0;
    while offset < total {
        let at = piece.address + offset;
        let bytes = (total - offset).min(to_page_end(at));
        each(shadow.page(at), &Span { piece, at, bytes, offset, per_lane, in_turn: false });
        offset += bytes;
    }
}
