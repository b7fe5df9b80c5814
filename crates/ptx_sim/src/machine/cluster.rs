//! Distributed shared memory of a cluster, and the cluster barrier.
//!
//! An address of `shared::cluster` is a byte offset in the executing block's own shared memory, or, as computed by
//! `mapa`, the rank of a block plus one above the 24 bits of the offset. All blocks of a cluster are resident on one
//! worker, which finds them in its own list.

use super::access::Shape;
use super::block::Block;
use super::faults::{At, BadAccess};
use super::in_flight::Who;
use super::key::Key;
use super::warp::{Split, State, Warp};
use super::worker::Worker;
use crate::lanes::{self, Spread, each, lanes_of};
use crate::level::Host;
use crate::memory::transfer::{Drain, Fill, Lanes};
use crate::observe::Peek;
use crate::observe::{self, AccessKind, Observer, Shadow, Site, Touch, Variable};
use crate::program::{Access, Atomic, Scope, Space};
use crate::registers::{LANES, Registers};
use crate::stop::{Diagnostic, Stop, StopKind, Triple};

/// Bits of the byte offset in an address of `shared::cluster`.
const BYTE_BITS: u32 = 24;
const BYTES: u64 = 1 << BYTE_BITS;

/// Returns the address of `offset` in the block of a rank.
pub fn address_of(rank: u64, offset: u64) -> u64 {
    ((rank + 1) << BYTE_BITS) | (offset % BYTES)
}

impl<O: Observer> Worker<'_, O> {
    /// Resolves an address of `shared::cluster` to block and byte; `None` if the cluster has no such block.
    pub fn place_of(&self, block: &Block<O::Block>, address: u64) -> Option<Key> {
        let blocks = self.context.cluster_blocks;
        match address >> BYTE_BITS {
            0 => Some(Key { block: block.ticket, offset: address }),
            rank if rank <= blocks => {
                Some(Key { block: block.first_ticket(blocks) + rank - 1, offset: address % BYTES })
            }
            _ => None,
        }
    }

    /// Checks an access to the cluster's shared memory: `bytes` at an address that must be a multiple of `align`.
    ///
    /// # Errors
    /// A stop if an address faults, or the cluster barrier is misused.
    pub fn shared_end(
        &self,
        block: &Block<O::Block>,
        who: Who,
        address: u64,
        bytes: u64,
        align: u64,
        kind: AccessKind,
    ) -> Result<Key, Stop> {
        let shown = u32::try_from(bytes).unwrap_or(u32::MAX);
        let bad = BadAccess { kind, space: Space::Shared, address, bytes: shown, lane: who.lane };
        if !address.is_multiple_of(align) {
            let title = format!("{} is misaligned: the address must be a multiple of {align}", bad.words());
            return Err(self.stop_of(who, Diagnostic::new("misaligned", title)));
        }
        let key = self.place_of(block, address);
        let fits = |key: &Key| key.offset.checked_add(bytes).is_some_and(|end| end <= self.context.shared_bytes);
        let Some(key) = key.filter(fits) else { return Err(self.bad_shared(block, who.warp, who.site, bad)) };
        let resident = key.block == block.ticket || self.resident.iter().flatten().any(|b| b.ticket == key.block);
        if resident { Ok(key) } else { Err(self.ended(who, key.block)) }
    }

    /// Executes `ld.shared` in a launch that may address other blocks.
    ///
    /// # Errors
    /// A stop if an address faults, or the cluster barrier is misused.
    #[cold]
    #[expect(clippy::too_many_arguments, reason = "the parts of one instruction")]
    pub fn cluster_load(
        &mut self,
        block: &mut Block<O::Block>,
        warp: &mut Warp,
        registers: &mut Registers,
        access: &Access,
        addresses: &[u64; LANES],
        mask: u32,
        at: At,
    ) -> Result<(), Stop> {
        let bytes = u32::from(access.bytes) * access.registers.len() as u32;
        let (order, scope) = (access.order, access.scope);
        let shape = Shape { kind: AccessKind::Load, order, scope, bytes, matrix_rows: false };
        let level = self.context.setup.level;
        self.in_each_block(block, warp, addresses, mask, shape, at, None, |this, block, warp, shared| {
            if O::Shadow::ON {
                let (shadow, mut scene) = this.shadow(block, warp, at.site);
                shadow.load(&mut scene, registers, access, shared);
            }
            let observe::Lanes { addresses, mask, ref spread, .. } = shared;
            let lanes = Lanes { access, addresses, mask, spread };
            level.perform(&mut Fill { lanes, registers, source: block.shared.as_slice() });
        })
    }

    /// Executes `st.shared` in a launch that may address other blocks.
    ///
    /// # Errors
    /// A stop if an address faults, or the cluster barrier is misused.
    #[cold]
    #[expect(clippy::too_many_arguments, reason = "the parts of one instruction")]
    pub fn cluster_store(
        &mut self,
        block: &mut Block<O::Block>,
        warp: &mut Warp,
        registers: &Registers,
        access: &Access,
        addresses: &[u64; LANES],
        mask: u32,
        at: At,
    ) -> Result<(), Stop> {
        warp.wrote = true;
        let bytes = u32::from(access.bytes) * access.registers.len() as u32;
        let (order, scope) = (access.order, access.scope);
        let shape = Shape { kind: AccessKind::Store, order, scope, bytes, matrix_rows: false };
        let level = self.context.setup.level;
        let stored = Some((registers, access));
        self.in_each_block(block, warp, addresses, mask, shape, at, stored, |this, block, warp, shared| {
            if O::Shadow::ON {
                let (shadow, mut scene) = this.shadow(block, warp, at.site);
                shadow.store(&mut scene, registers, access, shared);
            }
            let observe::Lanes { addresses, mask, ref spread, .. } = shared;
            let lanes = Lanes { access, addresses, mask, spread };
            level.perform(&mut Drain { lanes, registers, sink: block.shared.as_mut_slice() });
        })
    }

    /// Executes `atom.shared` in a launch that may address other blocks. Returns whether memory was changed.
    ///
    /// # Errors
    /// A stop if an address faults, or the cluster barrier is misused.
    #[cold]
    #[expect(clippy::too_many_arguments, reason = "the parts of one instruction")]
    pub fn cluster_atomic(
        &mut self,
        block: &mut Block<O::Block>,
        warp: &mut Warp,
        registers: &mut Registers,
        atomic: &Atomic,
        operands: impl Fn(&Registers, usize) -> (u64, u64),
        addresses: &[u64; LANES],
        mask: u32,
        at: At,
        old: &mut [u64; LANES],
    ) -> Result<bool, Stop> {
        let (order, scope) = (atomic.order, atomic.scope);
        let shape =
            Shape { kind: AccessKind::Atomic, order, scope, bytes: u32::from(atomic.bytes), matrix_rows: false };
        let mut changed = false;
        self.in_each_block(block, warp, addresses, mask, shape, at, None, |this, block, warp, shared| {
            if O::Shadow::ON {
                let (shadow, mut scene) = this.shadow(block, warp, at.site);
                shadow.atomic(&mut scene, registers, atomic, shared);
            }
            each(shared.mask, |lane| {
                let (b, c) = operands(registers, lane);
                old[lane] = lanes::load_words(&block.shared, shared.addresses[lane], atomic.bytes);
                let new = (atomic.combine)(old[lane], b, c);
                lanes::store_words(&mut block.shared, shared.addresses[lane], atomic.bytes, new);
                changed |= new != old[lane];
            });
        })?;
        Ok(changed)
    }

    /// Checks an access, reports it to the observers, and calls `then` for each accessed block. During the call the
    /// running block holds that block's shared memory instead of its own.
    #[expect(clippy::too_many_arguments, reason = "the parts of one access")]
    fn in_each_block(
        &mut self,
        block: &mut Block<O::Block>,
        warp: &mut Warp,
        addresses: &[u64; LANES],
        mask: u32,
        shape: Shape,
        at: At,
        stored: Option<(&Registers, &Access)>,
        mut then: impl FnMut(&mut Self, &mut Block<O::Block>, &mut Warp, observe::Lanes<'_>),
    ) -> Result<(), Stop> {
        let mut offsets = *addresses;
        let mut blocks = [block.ticket; LANES];
        for lane in lanes_of(mask) {
            let who = Who { block: block.ticket, warp: warp.index, lane, site: at.site };
            let (bytes, align) = (u64::from(shape.bytes), u64::from(shape.bytes.max(1)));
            let key = self.shared_end(block, who, addresses[lane], bytes, align, shape.kind)?;
            (blocks[lane], offsets[lane]) = (key.block, key.offset);
        }
        let mut rest = mask;
        while rest != 0 {
            let ticket = blocks[lanes::first(rest)];
            let here = lanes::select(rest, |lane| blocks[lane] == ticket);
            rest &= !here;
            let spread = Spread::of(&offsets, here);
            let shared = observe::Lanes { space: Space::Shared, addresses: &offsets, mask: here, spread };
            if ticket == block.ticket {
                self.check(block, warp, Space::Shared, &offsets, here, shape, at, stored)?;
                then(self, block, warp, shared);
                continue;
            }
            let place = self.resident.iter().position(|peer| peer.as_ref().is_some_and(|peer| peer.ticket == ticket));
            let Some((place, mut target)) = place.and_then(|place| Some((place, self.resident[place].take()?))) else {
                continue;
            };
            let touch = Touch {
                site: at.site,
                warp: warp.index,
                mask: here,
                kind: shape.kind,
                space: Space::Shared,
                order: shape.order,
                scope: shape.scope,
                owner: ticket,
                bytes: shape.bytes,
                matrix_rows: shape.matrix_rows,
                addresses: &offsets,
                spread: &spread,
                peek: Peek { shared: &target.shared, snapshot: &self.snapshot, stored },
            };
            self.observer.touch(&mut block.observed, &touch);
            exchange_shared(block, &mut target);
            then(self, block, warp, shared);
            exchange_shared(block, &mut target);
            self.resident[place] = Some(target);
        }
        Ok(())
    }

    /// Executes `barrier.cluster.arrive`.
    ///
    /// # Errors
    /// A stop if an address faults, or the cluster barrier is misused.
    pub fn cluster_arrive(
        &mut self,
        block: &mut Block<O::Block>,
        warp: &mut Warp,
        mask: u32,
        site: Site,
        (aligned, ordered): (bool, bool),
    ) -> Result<(), Stop> {
        self.require_whole_warp(block, warp, mask, site, aligned)?;
        let twice = mask & (warp.cluster.arrived | warp.cluster.passed);
        if twice != 0 {
            let title = "a thread arrives at the cluster barrier again without having waited";
            return Err(self.fault(block, warp.index, lanes::first(twice), site, "cluster-barrier", title));
        }
        (warp.wrote, warp.cluster.arrived) = (true, warp.cluster.arrived | mask);
        if ordered {
            let barrier = barrier_of(block, 0);
            self.observer.release(&mut block.observed, warp.index, mask, barrier, Scope::Cluster);
        }
        self.settle_cluster(block, Some(warp));
        Ok(())
    }

    /// Executes `barrier.cluster.wait`; returns the split if it can continue.
    ///
    /// # Errors
    /// A stop if an address faults, or the cluster barrier is misused.
    pub fn cluster_wait(
        &mut self,
        block: &mut Block<O::Block>,
        warp: &mut Warp,
        split: Split,
        site: Site,
        aligned: bool,
    ) -> Result<Option<Split>, Stop> {
        self.require_whole_warp(block, warp, split.mask, site, aligned)?;
        let missing = split.mask & !(warp.cluster.arrived | warp.cluster.passed);
        if missing != 0 {
            let title = "a thread waits at the cluster barrier but has not arrived there";
            return Err(self.fault(block, warp.index, lanes::first(missing), site, "cluster-barrier", title));
        }
        if split.mask & !warp.cluster.passed != 0 {
            warp.splits.push(Split { state: State::ClusterBarrier, ..split });
            return Ok(None);
        }
        warp.cluster.passed &= !split.mask;
        let barrier = barrier_of(block, 1);
        self.observer.acquire(&mut block.observed, warp.index, split.mask, barrier, Scope::Cluster);
        Ok(Some(Split { pc: split.pc + 1, ..split }))
    }

    /// Completes the cluster barrier if every live thread has arrived. `running` has been taken out of its block, as
    /// the block has been taken out of the list.
    pub fn settle_cluster(&mut self, block: &mut Block<O::Block>, mut running: Option<&mut Warp>) {
        let cluster = block.cluster;
        let any = |warp: &Warp| warp.cluster.arrived != 0;
        let mut peers = self.resident.iter().flatten().filter(|peer| peer.cluster == cluster);
        let used = running.as_ref().is_some_and(|warp| any(warp))
            || block.warps.iter().any(|warp| any(warp))
            || peers.any(|peer| peer.warps.iter().any(|warp| any(warp)));
        if !used {
            return;
        }
        let came = |warp: &Warp| warp.live & !warp.cluster.arrived == 0;
        let mut peers = self.resident.iter().flatten().filter(|peer| peer.cluster == cluster);
        let all = peers.all(|peer| peer.warps.iter().all(|warp| came(warp)))
            && block.warps.iter().all(|warp| came(warp))
            && running.as_ref().is_none_or(|warp| came(warp));
        if !all {
            return;
        }
        self.acted = true;
        let observer = &mut self.observer;
        let barrier = barrier_of(block, 0);
        block.cluster_phase += 1;
        let mut go_on = |observed: &mut O::Block, warp: &mut Warp| {
            warp.cluster.passed |= warp.cluster.arrived & warp.live;
            warp.cluster.arrived = 0;
            for split in warp.splits.iter_mut().filter(|split| split.state == State::ClusterBarrier) {
                (split.state, split.pc) = (State::Ready, split.pc + 1);
                warp.cluster.passed &= !split.mask;
                observer.acquire(observed, warp.index, split.mask, barrier, Scope::Cluster);
            }
        };
        if let Some(warp) = &mut running {
            go_on(&mut block.observed, warp);
        }
        for warp in block.warps.iter_mut().filter(|warp| warp.live != 0) {
            go_on(&mut block.observed, warp);
        }
        for peer in self.resident.iter_mut().flatten().filter(|peer| peer.cluster == cluster) {
            (peer.parked, peer.cluster_phase) = (false, peer.cluster_phase + 1);
            for warp in peer.warps.iter_mut().filter(|warp| warp.live != 0) {
                go_on(&mut peer.observed, warp);
            }
        }
    }

    /// Returns a stop if every resident block of the cluster waits for the cluster barrier.
    pub fn cluster_stuck(&self, block: &Block<O::Block>) -> Option<Stop> {
        let mut peers = self.resident.iter().flatten().filter(|peer| peer.cluster == block.cluster);
        if !peers.all(|peer| peer.parked) {
            return None;
        }
        let title = match self.context.cluster_blocks {
            1 => format!("deadlock: no thread of block {} can make progress", Triple(block.id)),
            blocks => {
                format!(
                    "deadlock: none of the {blocks} blocks in the cluster of block {} can make progress",
                    Triple(block.id)
                )
            }
        };
        let mut diagnostic = Diagnostic::new("deadlock", title);
        for peer in self.resident.iter().flatten().filter(|peer| peer.cluster == block.cluster) {
            self.describe_waiting(peer, &mut diagnostic);
        }
        Some(Stop::new(StopKind::Stuck, diagnostic))
    }

    fn require_whole_warp(
        &self,
        block: &Block<O::Block>,
        warp: &Warp,
        mask: u32,
        site: Site,
        aligned: bool,
    ) -> Result<(), Stop> {
        if !aligned || mask == warp.live {
            return Ok(());
        }
        let missing = warp.live & !mask;
        let title = format!(
            "barrier divergence: {} of warp {} reached the cluster barrier, {} did not",
            lanes::describe(mask),
            warp.index,
            lanes::describe(missing)
        );
        let mut diagnostic = Diagnostic::new("barrier-divergence", title);
        diagnostic.related = self.whereabouts(warp, missing);
        diagnostic.help = Some("move it out of the branch, or remove `.aligned`".to_owned());
        Err(self.stop(StopKind::Fault, block, warp.index, lanes::first(mask), site, diagnostic))
    }
}

fn exchange_shared<B>(block: &mut Block<B>, target: &mut Block<B>) {
    std::mem::swap(&mut block.shared, &mut target.shared);
    std::mem::swap(&mut block.states, &mut target.states);
}

/// Returns the identity of the cluster barrier for the observers, `back` phases before the current one.
fn barrier_of<B>(block: &Block<B>, back: u64) -> Variable {
    Variable::ClusterBarrier { cluster: block.cluster, phase: block.cluster_phase.saturating_sub(back) }
}
