//! Handling of events by the race checker.

use super::clock::Block;
use super::fast_paths::Check;
use super::now::Now;
use super::proxies::Proxies;
use super::records::{Mode, Record};
use super::shadow::Shadow;
use super::state::Race;
use super::variables;
use super::view::Reach;
use crate::level::Host;
use crate::memory::address::GLOBAL;
use crate::observe::{
    AccessKind, BlockShape, Boxed, Bypass, Factor, Observer, Peek, Range, Site, Touch, Variable, no_shadow,
};
use crate::program::{Order, Scope, Space};
use std::sync::atomic::Ordering::Relaxed;

/// Upper bound on the shared memory of a block, in bytes.
const MOST_SHARED: u64 = 1 << 24;

impl Observer for Race<'_> {
    /// Index into `blocks`.
    type Block = usize;
    type Shadow = ();

    fn shadow(&mut self) -> &mut () {
        no_shadow()
    }

    fn begin(&mut self, shape: &BlockShape) -> usize {
        self.seen.shape(shape);
        let block = Block::new(shape);
        if shape.cluster != shape.ticket {
            self.clusters.insert(block.home.block, shape.cluster);
        }
        let index = match self.blocks.iter().position(Option::is_none) {
            Some(free) => free,
            None => {
                self.blocks.push(None);
                self.shared.push(Shadow::small(self.facts.leaves_threads_out()));
                self.own.push(Vec::new());
                self.proxies.iter_mut().for_each(|all| all.push(Proxies::default()));
                self.blocks.len() - 1
            }
        };
        self.blocks[index] = Some(block);
        self.tickets.insert(shape.ticket, index);
        index
    }

    fn end(&mut self, index: usize) {
        if let Some(attempt) = self.attempt {
            attempt.ended.fetch_add(1, Relaxed);
        }
        if let Some(block) = self.blocks[index].take() {
            let ticket = u64::from(block.home.block);
            self.tickets.remove(&ticket);
            self.agents.end(block.home.block);
            self.seen.end(block.home.block);
            let alone = |cluster: u64| !self.blocks.iter().flatten().any(|other| other.home.cluster == cluster);
            self.named.retain(|variable, _| match *variable {
                Variable::Mbarrier { owner, .. } | Variable::Warpgroup { owner, .. } => owner != ticket,
                Variable::ClusterBarrier { cluster, .. } => cluster != block.home.cluster || !alone(cluster),
            });
        }
        self.shared[index].clear();
        self.proxies.iter_mut().for_each(|all| all[index] = Proxies::default());
        for place in self.own[index].drain(..) {
            self.variables.remove(&place);
        }
    }

    #[inline]
    fn touch(&mut self, index: &mut usize, touch: &Touch<'_>) {
        let index = *index;
        if self.changes_nothing(index, touch) {
            return;
        }
        // The machine has already checked the bounds; the check here keeps the size of shadow memory bounded.
        let plausible = match touch.space {
            Space::Shared => touch.spread.high < MOST_SHARED,
            Space::Global => touch.spread.low >= GLOBAL,
            _ => false,
        };
        if !plausible {
            return;
        }
        let is_strong = touch.kind == AccessKind::Atomic || touch.order != Order::Weak;
        let strong = (is_strong && !self.facts.weakens(touch.site)).then(|| Reach::of(touch.scope));
        let (writes, global) = (touch.kind != AccessKind::Load, touch.space == Space::Global);
        let non_coherent = global && !writes && self.facts.non_coherent(touch.site);
        let (mut releases, mut observes, mut bytes, mut in_turn) = (false, false, 0, None);
        if let Some(reach) = strong {
            bytes = self.facts.element_bytes(touch.site, touch.bytes);
            let acquires = match touch.kind {
                AccessKind::Atomic => {
                    let facts = self.facts.atomic(touch.site, touch.order);
                    (releases, observes) = (facts.releases, facts.observes);
                    in_turn = (facts.observes || facts.acquires).then_some(facts.acquires);
                    facts.acquires
                }
                AccessKind::Load => matches!(touch.order, Order::Acquire | Order::AcqRel | Order::SeqCst),
                // Always weak.
                AccessKind::Discard => false,
                AccessKind::Store => {
                    releases = matches!(touch.order, Order::Release | Order::AcqRel | Order::SeqCst);
                    false
                }
            };
            if touch.kind != AccessKind::Store {
                self.acquire_from(index, touch, reach, acquires);
            }
        }
        let Some(block) = &self.blocks[index] else { return };
        let Some(warp) = block.warps.get(touch.warp as usize) else { return };
        let record = Record {
            block: block.home.block,
            stamp: warp.stamp,
            site: touch.site,
            warp: touch.warp as u8,
            mode: Mode { writes, strong, bytes, non_coherent, observes },
        };
        let may_violate_nc = global && self.facts.any_non_coherent() && (non_coherent || writes);
        let floor = block.floor(touch.warp as usize);
        let now = Now { block, clusters: &self.clusters, touch, record, floor, may_violate_nc, asynchronous: false };
        let (shadow, base) = match touch.space {
            Space::Shared if touch.owner == u64::from(block.home.block) => (&mut self.shared[index], 0),
            Space::Shared => match self.tickets.get(&touch.owner) {
                Some(&owner) => (&mut self.shared[owner], 0),
                None => return,
            },
            _ => (&mut self.global, GLOBAL),
        };
        if let (Some(all), Space::Shared, true) = (&mut self.proxies, touch.space, writes) {
            match self.tickets.get(&touch.owner) {
                Some(&owner) if owner == index => all[index].write(record, touch),
                Some(&owner) => all[owner].remove_lanes(touch),
                None => {}
            }
        }
        let undo = self.attempt.filter(|_| writes && global).map(|attempt| &attempt.undo);
        self.level.perform(&mut Check { now: &now, shadow, base, undo, seen: &mut self.seen });
        if let Some(reach) = strong.filter(|_| writes) {
            self.release_to(index, touch, reach, releases, in_turn);
        } else if writes && !self.variables.is_empty() && self.synchronises(touch) {
            self.overwrite(touch);
        }
    }

    fn fence(&mut self, index: &mut usize, warp: u32, mask: u32, _: Order, scope: Scope) {
        if let Some(block) = &mut self.blocks[*index] {
            block.fence(warp as usize, mask, Reach::of(scope));
        }
    }

    fn left_out(&mut self, _: &mut usize, _: u32, _: Site, _: u32) {}

    fn proxy_fence(&mut self, index: &mut usize, warp: u32, mask: u32) {
        if let (Some(block), Some(all)) = (&mut self.blocks[*index], &mut self.proxies) {
            all[*index].fence(block, warp as usize, mask);
        }
    }

    fn announce(&mut self, index: &mut usize, writes: &Touch<'_>) {
        self.check_announced(*index, writes);
    }

    fn issue(&mut self, index: &mut usize, range: &Range, peek: Peek<'_>) {
        if let (Some(block), Some(all)) = (&self.blocks[*index], &self.proxies)
            && (range.owner, range.kind) == (u64::from(block.home.block), AccessKind::Load)
        {
            self.unfenced.issue(&all[*index], block, range, &self.seen);
        }
        self.check_issued(*index, range, peek);
    }

    fn range(&mut self, index: &mut usize, range: &Range, peek: Peek<'_>) {
        if let (Some(all), Some(&owner)) = (&mut self.proxies, self.tickets.get(&range.owner))
            && (range.kind, range.space) == (AccessKind::Store, Space::Shared)
        {
            all[owner].remove(range.start, range.bytes);
        }
        self.record_completed(*index, range, peek);
    }

    fn meet(&mut self, index: &mut usize, warp: u32, mask: u32, live: u32) {
        if let Some(block) = &mut self.blocks[*index] {
            block.meet(warp as usize, mask, live);
        }
    }

    fn arrive(&mut self, index: &mut usize, warp: u32, id: u32) {
        if let Some(block) = &mut self.blocks[*index] {
            block.arrive(warp as usize, id as usize);
        }
    }

    fn barrier(&mut self, index: &mut usize, id: u32, _: u32, waited: u32) {
        if let Some(block) = &mut self.blocks[*index] {
            block.barrier(id as usize, waited);
        }
    }
    fn boxed(&mut self, _: &mut usize, _: &Boxed<'_>) {}

    fn factor(&mut self, _: &mut usize, _: &Factor) {}

    fn release(&mut self, index: &mut usize, warp: u32, mask: u32, variable: Variable, scope: Scope) {
        if let Some(block) = &mut self.blocks[*index] {
            let mut released = block.release(warp as usize, mask);
            self.agents.add_completed(variable, &mut released);
            self.named.entry(variable).or_default().release(block.home, Reach::of(scope), released.into());
            if let Some(past) = variables::before_last(variable) {
                self.named.remove(&past);
            }
        }
    }

    fn acquire(&mut self, index: &mut usize, warp: u32, mask: u32, variable: Variable, scope: Scope) {
        if let (Some(block), Some(variable)) = (&mut self.blocks[*index], self.named.get_mut(&variable)) {
            variable.read(block, warp as usize, mask, Reach::of(scope), false);
        }
        if let (Some(block), Variable::Warpgroup { group, number, .. }) = (&mut self.blocks[*index], variable) {
            self.agents.wait_for_product(block, (warp as usize, mask), group, number);
        }
    }

    fn absorb(&mut self, other: Self) {
        self.seen.absorb(other.seen);
        self.unfenced.absorb(other.unfenced);
        if let Some(attempt) = self.attempt {
            attempt.add(&mut self.uses, &other.global);
        }
    }

    fn ran(&mut self, _: &mut usize, _: u32, _: Site, _: u32, _: u32) {}

    fn guarded(&mut self, _: Site, _: u32) {}

    fn branch(&mut self, _: Site, _: bool) {}

    fn bypass(&mut self, _: &mut usize, _: &Bypass<'_>) {}
}
