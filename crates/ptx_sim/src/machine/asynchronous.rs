//! Execution of asynchronous instructions, of operations on mbarriers, and of address mapping in clusters. The copies
//! themselves are performed later, by `in_flight`.

use super::access::{Shape, addresses};
use super::block::Block;
use super::cluster::address_of;
use super::faults::At;
use super::in_flight::{End, Source, Transfer, What, Who};
use super::key::Key;
use super::mbarrier::pending_of;
use super::warp::{Split, Warp};
use super::worker::Worker;
use crate::lanes::{self, lanes_of};
use crate::memory::address;
use crate::observe::{AccessKind, Bypass, Observer, Range, Site};
use crate::program::{Address, Async, Group, Order, Scope, Space};
use crate::registers::{LANES, NO_SLOT, Registers, Slot};
use crate::stop::{Diagnostic, Stop};

impl<O: Observer> Worker<'_, O> {
    /// Executes an instruction for the lanes of `split`. Returns the split that continues.
    ///
    /// # Errors
    /// A stop if an operand or an address faults.
    pub fn asynchronous(
        &mut self,
        block: &mut Block<O::Block>,
        warp: &mut Warp,
        split: Split,
        op: &Async,
        site: Site,
    ) -> Result<Option<Split>, Stop> {
        let mask = split.mask;
        let at = At { site, frame: split.frame };
        match op {
            Async::ClusterArrive { aligned, ordered } => {
                self.cluster_arrive(block, warp, mask, site, (*aligned, *ordered))?;
            }
            Async::ClusterWait { aligned } => return self.cluster_wait(block, warp, split, site, *aligned),
            Async::Copy { .. } => self.copy_async(block, warp, op, mask, at)?,
            Async::Bulk { .. } | Async::Remote { .. } => self.copy_bulk(block, warp, op, mask, at)?,
            Async::Commit(group) => {
                let committed = block.in_flight.committed(warp.index, *group);
                lanes::each(mask, |lane| committed[lane] = committed[lane].saturating_add(1));
            }
            Async::Wait { group, pending, all } => {
                if *all {
                    let committed = block.in_flight.committed(warp.index, *group);
                    lanes::each(mask, |lane| committed[lane] = committed[lane].saturating_add(1));
                }
                self.wait_groups(block, warp, mask, *group, *pending)?;
            }
            Async::ArriveAfterCopies { mbarrier, increments } => {
                self.arrive_after_copies(block, warp, *mbarrier, *increments, mask, at)?;
            }
            Async::Mbarrier { kind, address, scope } => {
                self.on_mbarriers(block, warp, kind, *address, *scope, mask, at)?;
            }
            Async::PendingCount(to, state) => {
                let registers = registers(warp, at);
                let states = registers.w64[*state as usize];
                set32(registers, *to, mask, |lane| pending_of(states[lane]));
            }
            Async::Mapa { .. } | Async::Rank { .. } => self.map_addresses(block, warp, op, mask, at)?,
            Async::ProxyFence => self.observer.proxy_fence(&mut block.observed, warp.index, mask),
        }
        Ok(Some(Split { pc: split.pc + 1, ..split }))
    }

    /// `cp.async`: the source is checked and reported to the observers now; the destination is checked now and reported
    /// later.
    fn copy_async(
        &mut self,
        block: &mut Block<O::Block>,
        warp: &mut Warp,
        op: &Async,
        mask: u32,
        at: At,
    ) -> Result<(), Stop> {
        let Async::Copy { to, from, bytes, cached, source_bytes, ignore } = op else { return Ok(()) };
        let registers = registers(warp, at);
        let (targets, sources) = (addresses(registers, to), addresses(registers, from));
        let mut kept = [*bytes; LANES];
        if let Some(slot) = source_bytes {
            kept = registers.w32[*slot as usize];
        }
        if let Some((slot, negated)) = ignore {
            let row = registers.pred[*slot as usize];
            lanes::each(if *negated { !row } else { row }, |lane| kept[lane] = 0);
        }
        let number = *block.in_flight.committed(warp.index, Group::Copy);
        let issue = block.in_flight.issue();
        let mut transfers = Vec::new();
        for lane in lanes_of(mask) {
            let who = Who { block: block.ticket, warp: warp.index, lane, site: at.site };
            if kept[lane] > *bytes {
                let title = format!("cp.async reads {} bytes where it writes {bytes}", kept[lane]);
                return Err(self.stop_of(who, Diagnostic::new("async-size", title)));
            }
            let align = u64::from(*bytes);
            let key = self.shared_end(block, who, targets[lane], align, align, AccessKind::Store)?;
            let source = Source::Memory(End::Global(sources[lane]), kept[lane]);
            let what = What::Copy { to: End::Shared(key), bytes: *bytes, source, reduce: None, signal: None };
            transfers.push(transfer(who, Group::Copy, what, number[lane], issue));
        }
        let reads = |bytes: u32| Shape {
            kind: AccessKind::Load,
            order: Order::Weak,
            scope: Scope::Cta,
            bytes,
            matrix_rows: false,
        };
        let full = lanes::select(mask, |lane| kept[lane] == *bytes);
        if full != 0 {
            self.check(block, warp, Space::Global, &sources, full, reads(*bytes), at, None)?;
            if !*cached {
                let (warp, bytes) = (warp.index, *bytes);
                let past = Bypass { site: at.site, warp, mask: full, bytes, from: &sources, to: &targets };
                self.observer.bypass(&mut block.observed, &past);
            }
        }
        for lane in lanes_of(mask & !full).filter(|&lane| kept[lane] != 0) {
            // The first and the last bytes of an odd number overlap.
            let part = whole(kept[lane]);
            let mut ends = sources;
            self.check(block, warp, Space::Global, &ends, 1 << lane, reads(part), at, None)?;
            ends[lane] = ends[lane].wrapping_add(u64::from(kept[lane]) - 1);
            self.check(block, warp, Space::Global, &ends, 1 << lane, reads(1), at, None)?;
        }
        if block.in_flight.marks_words() {
            self.check_in_flight(block, warp.index, &targets, mask, (AccessKind::Store, *bytes), at);
        }
        self.issue(block, warp, transfers)
    }

    /// Bulk copies, and stores to shared memory that signal an mbarrier.
    fn copy_bulk(
        &mut self,
        block: &mut Block<O::Block>,
        warp: &mut Warp,
        op: &Async,
        mask: u32,
        at: At,
    ) -> Result<(), Stop> {
        let registers = &warp.frames[at.frame as usize].registers;
        let row = |slot: &Slot| registers.w32[*slot as usize];
        let number = *block.in_flight.committed(warp.index, Group::Bulk);
        let issue = block.in_flight.issue();
        let mut transfers = Vec::new();
        for lane in lanes_of(mask) {
            let who = Who { block: block.ticket, warp: warp.index, lane, site: at.site };
            let mut add = |what| transfers.push(transfer(who, Group::Bulk, what, number[lane], issue));
            match op {
                Async::Remote { to, values, wide, mbarrier, reduce } => {
                    let bytes: Box<[u8]> = values
                        .iter()
                        .flat_map(|slot| match wide {
                            true => registers.w64[*slot as usize][lane].to_le_bytes().to_vec(),
                            false => registers.w32[*slot as usize][lane].to_le_bytes().to_vec(),
                        })
                        .collect();
                    let size = bytes.len() as u64;
                    let target = addresses(registers, to)[lane];
                    let key = self.shared_end(block, who, target, size, size, AccessKind::Store)?;
                    let signal = self.mbarrier_at(block, who, Space::Shared, addresses(registers, mbarrier)[lane])?;
                    if key.block != signal.block {
                        let title = "the mbarrier of an asynchronous store lies in another block than its destination";
                        return Err(self.stop_of(who, Diagnostic::new("mbarrier-block", title)));
                    }
                    let (to, bytes, source) = (End::Shared(key), bytes.len() as u32, Source::Values(bytes));
                    add(What::Copy { to, bytes, source, reduce: *reduce, signal: Some(signal) });
                }
                Async::Bulk { to, from, bytes, mbarrier, multicast, reduce } => {
                    let bytes = row(bytes)[lane];
                    if !bytes.is_multiple_of(16) {
                        let title = format!("a bulk copy of {bytes} bytes: it must be a multiple of 16");
                        return Err(self.stop_of(who, Diagnostic::new("async-size", title)));
                    }
                    let source = addresses(registers, &from.1)[lane];
                    let target = addresses(registers, &to.1)[lane];
                    let from = self.bulk_end(block, who, from.0, source, bytes, AccessKind::Load)?;
                    let to = self.bulk_end(block, who, to.0, target, bytes, AccessKind::Store)?;
                    let signal = match mbarrier {
                        Some(mbarrier) => {
                            let address = addresses(registers, mbarrier)[lane];
                            Some(self.mbarrier_at(block, who, Space::Shared, address)?)
                        }
                        None => None,
                    };
                    let source = Source::Memory(from, bytes);
                    let copy = |to, signal| What::Copy { to, bytes, source: source.clone(), reduce: *reduce, signal };
                    let (Some(ranks), End::Shared(to), Some(signal)) = (multicast.as_ref().map(row), to, signal) else {
                        add(copy(to, signal));
                        continue;
                    };
                    let ranks = ranks[lane] & 0xffff;
                    if u64::from(ranks) >> self.context.cluster_blocks != 0 {
                        let blocks = self.context.cluster_blocks;
                        let title = format!(
                            "a copy to the blocks with mask {ranks:#x} in a cluster of {blocks} \
                            blocks"
                        );
                        return Err(self.stop_of(who, Diagnostic::new("cluster-rank", title)));
                    }
                    for rank in lanes_of(ranks) {
                        let block = block.first_ticket(self.context.cluster_blocks) + rank as u64;
                        add(copy(End::Shared(Key { block, ..to }), Some(Key { block, ..signal })));
                    }
                }
                _ => {}
            }
        }
        self.check_ends(block, warp, &transfers, at);
        self.show_sources(block, &transfers);
        self.issue(block, warp, transfers)
    }

    /// Checks for copies between words of this block that other copies will write or read.
    fn check_ends(&mut self, block: &mut Block<O::Block>, warp: &Warp, transfers: &[Transfer], at: At) {
        for transfer in transfers.iter().filter(|_| block.in_flight.marks_words()) {
            let What::Copy { to, bytes, source, .. } = &transfer.what else { continue };
            let own = |end: &End| match end {
                End::Shared(key) if key.block == block.ticket => Some(key.offset),
                _ => None,
            };
            let from = match source {
                Source::Memory(from, _) => own(from),
                Source::Values(_) => None,
            };
            for (start, kind) in [(own(to), AccessKind::Store), (from, AccessKind::Load)] {
                if let Some(start) = start {
                    self.check_in_flight(block, warp.index, &[start; LANES], 1 << transfer.lane, (kind, *bytes), at);
                }
            }
        }
    }

    /// Reports to the observers the memory of this block that bulk copies will read.
    fn show_sources(&mut self, block: &mut Block<O::Block>, transfers: &[Transfer]) {
        for transfer in transfers {
            let What::Copy { source: Source::Memory(End::Shared(key), bytes), .. } = transfer.what else { continue };
            let range = Range {
                site: transfer.site,
                warp: transfer.warp,
                lane: u32::from(transfer.lane),
                kind: AccessKind::Load,
                space: Space::Shared,
                owner: key.block,
                start: key.offset,
                bytes: u64::from(bytes),
            };
            self.observer.issue(&mut block.observed, &range);
        }
    }

    /// Checks one end of a bulk copy.
    fn bulk_end(
        &mut self,
        block: &Block<O::Block>,
        who: Who,
        space: Space,
        address: u64,
        bytes: u32,
        kind: AccessKind,
    ) -> Result<End, Stop> {
        if space == Space::Shared {
            return self.shared_end(block, who, address, u64::from(bytes), 16, kind).map(End::Shared);
        }
        let bad = super::faults::BadAccess { kind, space: Space::Global, address, bytes, lane: who.lane };
        if !address.is_multiple_of(16) {
            let title = format!("{} is misaligned: the address must be a multiple of 16", bad.words());
            return Err(self.stop_of(who, Diagnostic::new("misaligned", title)));
        }
        match self.first_outside(&[address; LANES], 1 << who.lane, u64::from(bytes), false) {
            Some(_) => Err(self.bad_global(block, who.warp, who.site, bad)),
            None => Ok(End::Global(address)),
        }
    }

    /// `cp.async.mbarrier.arrive`.
    fn arrive_after_copies(
        &mut self,
        block: &mut Block<O::Block>,
        warp: &mut Warp,
        mbarrier: (Space, Address),
        increments: bool,
        mask: u32,
        at: At,
    ) -> Result<(), Stop> {
        let places = addresses(registers(warp, at), &mbarrier.1);
        let number = *block.in_flight.committed(warp.index, Group::Copy);
        let issue = block.in_flight.issue();
        let mut transfers = Vec::new();
        for lane in lanes_of(mask) {
            let who = Who { block: block.ticket, warp: warp.index, lane, site: at.site };
            let key = self.mbarrier_at(block, who, mbarrier.0, places[lane])?;
            self.with_mbarrier(block, key, who, |found| if increments { found.increment() } else { Ok(()) })?;
            transfers.push(transfer(who, Group::Copy, What::Arrive(key), number[lane], issue));
        }
        self.issue(block, warp, transfers)
    }

    /// Executes `mapa` and `getctarank`.
    fn map_addresses(
        &mut self,
        block: &Block<O::Block>,
        warp: &mut Warp,
        op: &Async,
        mask: u32,
        at: At,
    ) -> Result<(), Stop> {
        let (source, wide, generic) = match *op {
            Async::Mapa { source, wide, generic, .. } | Async::Rank { source, wide, generic, .. } => {
                (source, wide, generic)
            }
            _ => return Ok(()),
        };
        for lane in lanes_of(mask) {
            let frame = &warp.frames[at.frame as usize].registers;
            let address = match wide {
                true => frame.w64[source as usize][lane],
                false => u64::from(frame.w32[source as usize][lane]),
            };
            let who = Who { block: block.ticket, warp: warp.index, lane, site: at.site };
            let window = if generic { address::window(Space::Shared) } else { 0 };
            let shared = !generic || address::space_of(address) == Space::Shared;
            let place = if shared { self.place_of(block, address.wrapping_sub(window)) } else { None };
            let Some(place) = place else {
                let title = format!("{address:#x} is not an address in the cluster's shared memory");
                return Err(self.stop_of(who, Diagnostic::new("wrong-space", title)));
            };
            let frame = registers(warp, at);
            match *op {
                Async::Mapa { destination, rank, .. } => {
                    let rank = u64::from(frame.w32[rank as usize][lane]);
                    let blocks = self.context.cluster_blocks;
                    if rank >= blocks {
                        let title = format!("`mapa` to the block of rank {rank} in a cluster of {blocks}");
                        return Err(self.stop_of(who, Diagnostic::new("cluster-rank", title)));
                    }
                    let mapped = window + address_of(rank, place.offset);
                    match (destination, wide) {
                        (NO_SLOT, _) => {}
                        (slot, true) => frame.w64[slot as usize][lane] = mapped,
                        (slot, false) => frame.w32[slot as usize][lane] = mapped as u32,
                    }
                }
                Async::Rank { destination, .. } => {
                    let rank = (place.block - block.first_ticket(self.context.cluster_blocks)) as u32;
                    set32(frame, destination, 1 << lane, |_| rank);
                }
                _ => {}
            }
        }
        Ok(())
    }
}

pub fn registers(warp: &mut Warp, at: At) -> &mut Registers {
    &mut warp.frames[at.frame as usize].registers
}

fn set32(registers: &mut Registers, slot: Slot, mask: u32, value: impl Fn(usize) -> u32) {
    if slot != NO_SLOT {
        let row = &mut registers.w32[slot as usize];
        lanes::each(mask, |lane| row[lane] = value(lane));
    }
}

fn transfer(who: Who, group: Group, what: What, number: u32, issue: u64) -> Transfer {
    let Who { block: owner, warp, lane, site } = who;
    Transfer { site, owner, warp, lane: lane as u8, group, what, number, issue }
}

/// Returns the largest power of two that is at most `bytes`, which must not be 0.
fn whole(bytes: u32) -> u32 {
    1 << bytes.ilog2()
}
