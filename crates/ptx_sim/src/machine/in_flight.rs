//! Asynchronous copies between their issue and their completion.
//!
//! A copy takes effect at the latest moment that PTX allows: when a thread waits for its group, or tests the mbarrier
//! that it signals. Until then its destination holds the old data and its source can still be overwritten, so that a
//! program that waits too late, or not at all, gets wrong results in every run and not by chance; and because the words
//! of shared memory that a copy will write or read are marked, it is also told (`async-not-waited`,
//! `async-source-overwritten`).

use super::block::Block;
use super::cluster::{Key, pick};
use super::faults::{At, BadAccess};
use super::grid::Worker;
use super::mbarrier::{Mbarrier, Misuse};
use super::warp::Warp;
use crate::lanes::{self, Spread};
use crate::memory::cells::define_range;
use crate::observe::Peek;
use crate::observe::{AccessKind, Observer, Range, Site, Touch};
use crate::program::{Group, Order, Reduce, Scope, Space};
use crate::registers::LANES;
use crate::stop::{Diagnostic, Place, Stop, StopKind};
use std::collections::BTreeMap;

/// Copies of one warp that are in flight at most; beyond that the oldest complete early, as they may at any time.
const MOST: usize = 1 << 14;

/// What a block has in flight, and its mbarriers.
#[derive(Debug, Default)]
pub struct InFlight {
    /// By warp, in order of issue.
    queues: Vec<Vec<Transfer>>,
    /// By warp: groups that each lane has committed, of `cp.async` and of bulk copies.
    groups: Vec<[[u32; LANES]; 2]>,
    /// By word of this block's shared memory.
    marks: Vec<Mark>,
    /// Copies that have marked words.
    marking: u64,
    /// Instructions so far.
    issues: u64,
    /// By byte of shared memory.
    pub mbarriers: BTreeMap<u64, Mbarrier>,
    /// By warp: what its last unsuccessful tests were for.
    pub waits: BTreeMap<u32, Waiting>,
}

/// Copies that will write and read a word.
#[derive(Clone, Copy, Debug, Default)]
struct Mark {
    writes: u16,
    reads: u16,
}

/// Lanes that found a phase of an mbarrier incomplete.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    pub lanes: u32,
    pub site: Site,
    pub mbarrier: Key,
}

/// One end of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// An address of device memory.
    Global(u64),
    /// A byte of a block's shared memory.
    Shared(Key),
}

/// One lane's copy, or its arrival behind its copies.
#[derive(Clone, Debug)]
pub struct Transfer {
    pub site: Site,
    /// The issuing block.
    pub owner: u64,
    pub warp: u32,
    pub lane: u8,
    pub group: Group,
    pub what: What,
    /// The lane's groups when it was issued.
    pub number: u32,
    /// The instruction's execution, the same for all its lanes.
    pub issue: u64,
}

/// What comes later.
#[derive(Clone, Debug)]
pub enum What {
    /// Bytes.
    Copy {
        to: End,
        /// Bytes to be written.
        bytes: u32,
        source: Source,
        reduce: Option<Reduce>,
        /// Whose pending bytes go down.
        signal: Option<Key>,
    },
    /// An arrival.
    Arrive(Key),
}

/// Where a copy's bytes come from.
#[derive(Clone, Debug)]
pub enum Source {
    /// So many bytes from memory, then zeros.
    Memory(End, u32),
    /// The bytes themselves: from registers.
    Values(Box<[u8]>),
}

impl InFlight {
    /// Are there words that a copy will write or read?
    #[inline(always)]
    pub fn marks_words(&self) -> bool {
        self.marking != 0
    }

    /// A number for a new instruction.
    pub fn issue(&mut self) -> u64 {
        self.issues += 1;
        self.issues
    }

    /// Groups that a lane has committed.
    pub fn committed(&mut self, warp: u32, group: Group) -> &mut [u32; LANES] {
        let at = warp as usize;
        if self.groups.len() <= at {
            self.groups.resize(at + 1, [[0; LANES]; 2]);
        }
        &mut self.groups[at][usize::from(group == Group::Bulk)]
    }

    /// Adds a transfer; gives the oldest quarter of the warp's back when there are too many.
    fn push(&mut self, transfer: Transfer) -> Vec<Transfer> {
        let at = transfer.warp as usize;
        if self.queues.len() <= at {
            self.queues.resize_with(at + 1, Vec::new);
        }
        let queue = &mut self.queues[at];
        queue.push(transfer);
        if queue.len() > MOST { queue.drain(..MOST / 4).collect() } else { Vec::new() }
    }

    /// Takes those of a warp out that `which` chooses.
    fn take(&mut self, warp: u32, which: impl Fn(&Transfer) -> bool) -> Vec<Transfer> {
        match self.queues.get_mut(warp as usize) {
            Some(queue) if !queue.is_empty() => queue.extract_if(.., |transfer| which(transfer)).collect(),
            _ => Vec::new(),
        }
    }

    /// Takes those out that signal an mbarrier, and what these wait for.
    fn take_signalling(&mut self, mbarrier: Key) -> Vec<Transfer> {
        let mut taken = Vec::new();
        for warp in 0..self.queues.len() {
            // An arrival comes behind the lane's copies before it.
            let mut behind = [0; LANES];
            for transfer in &self.queues[warp] {
                if matches!(transfer.what, What::Arrive(key) if key == mbarrier) {
                    behind[usize::from(transfer.lane) % LANES] = transfer.issue;
                }
            }
            taken.extend(self.take(warp as u32, |transfer| match &transfer.what {
                What::Copy { signal: Some(key), .. } if *key == mbarrier => true,
                What::Copy { .. } | What::Arrive(_) => {
                    transfer.group == Group::Copy && transfer.issue <= behind[usize::from(transfer.lane) % LANES]
                }
            }));
        }
        taken
    }

    /// Takes everything out.
    fn take_all(&mut self) -> Vec<Transfer> {
        self.queues.iter_mut().flat_map(std::mem::take).collect()
    }

    /// Is a transfer on its way that signals an mbarrier?
    pub fn signals(&self, mbarrier: Key) -> bool {
        self.queues.iter().flatten().any(|transfer| match &transfer.what {
            What::Copy { signal, .. } => *signal == Some(mbarrier),
            What::Arrive(key) => *key == mbarrier,
        })
    }

    fn mark(&mut self, shared_bytes: u64, start: u64, bytes: u32, change: impl Fn(&mut Mark)) {
        if self.marks.is_empty() {
            self.marks.resize(shared_bytes.div_ceil(4) as usize, Mark::default());
        }
        let end = (start + u64::from(bytes)).div_ceil(4) as usize;
        self.marks.iter_mut().take(end).skip(start as usize / 4).for_each(change);
    }

    /// The first lane with a word that a copy will write, or, if it is about to be changed, read.
    fn first_marked(&self, addresses: &[u64; LANES], mask: u32, bytes: u32, changes: bool) -> Option<(usize, bool)> {
        (0..LANES).filter(|lane| mask >> lane & 1 != 0).find_map(|lane| {
            let (start, end) = (addresses[lane] / 4, (addresses[lane] + u64::from(bytes)).div_ceil(4));
            let marks = self.marks.get(start as usize..end as usize)?;
            if marks.iter().any(|mark| mark.writes != 0) {
                return Some((lane, true));
            }
            (changes && marks.iter().any(|mark| mark.reads != 0)).then_some((lane, false))
        })
    }
}

impl Transfer {
    /// The range of a block's shared memory that it writes, or reads.
    fn range(&self, block: u64, writes: bool) -> Option<(u64, u32)> {
        let What::Copy { to, bytes, source, .. } = &self.what else { return None };
        let found = match (writes, source) {
            (true, _) => (*to, *bytes),
            (false, Source::Memory(from, kept)) => (*from, *kept),
            (false, Source::Values(_)) => return None,
        };
        match found {
            (End::Shared(key), bytes) if key.block == block => Some((key.offset, bytes)),
            _ => None,
        }
    }
}

impl<O: Observer> Worker<'_, O> {
    /// Puts an instruction's transfers on their way.
    pub fn issue(
        &mut self,
        block: &mut Block<O::Block>,
        warp: &mut Warp,
        transfers: Vec<Transfer>,
    ) -> Result<(), Stop> {
        warp.wrote = true;
        let shared_bytes = self.context.shared_bytes;
        for transfer in transfers {
            for writes in [true, false] {
                let end = match &transfer.what {
                    What::Copy { to: End::Shared(key), .. } if writes => *key,
                    What::Copy { source: Source::Memory(End::Shared(key), _), .. } if !writes => *key,
                    _ => continue,
                };
                let Some(target) = pick(&mut self.resident, block, end.block) else { continue };
                let Some((start, bytes)) = transfer.range(end.block, writes) else { continue };
                target.in_flight.marking += 1;
                target.in_flight.mark(shared_bytes, start, bytes, |mark| match writes {
                    true => mark.writes = mark.writes.saturating_add(1),
                    false => mark.reads = mark.reads.saturating_add(1),
                });
            }
            let oldest = block.in_flight.push(transfer);
            if !oldest.is_empty() {
                self.complete_all(block, oldest)?;
            }
        }
        Ok(())
    }

    /// `wait_group`: completes the groups of the lanes that must be complete now.
    pub fn wait_groups(
        &mut self,
        block: &mut Block<O::Block>,
        warp: &Warp,
        mask: u32,
        group: Group,
        pending: u32,
    ) -> Result<(), Stop> {
        let committed = *block.in_flight.committed(warp.index, group);
        let done = block.in_flight.take(warp.index, |transfer| {
            let lane = usize::from(transfer.lane);
            let counted = matches!(&transfer.what, What::Copy { signal: None, .. });
            counted
                && transfer.group == group
                && mask >> lane & 1 != 0
                && transfer.number < committed[lane].saturating_sub(pending)
        });
        self.complete_all(block, done)
    }

    /// Completes everything that signals an mbarrier, in all blocks of the cluster.
    pub fn complete_signalling(&mut self, block: &mut Block<O::Block>, mbarrier: Key) -> Result<(), Stop> {
        let mut done = block.in_flight.take_signalling(mbarrier);
        for peer in self.resident.iter_mut().flatten().filter(|peer| peer.cluster == block.cluster) {
            done.extend(peer.in_flight.take_signalling(mbarrier));
        }
        self.complete_all(block, done)
    }

    /// A block ends: what is still in flight completes, and is told when the block's memory had to outlive it.
    pub fn finish_transfers(&mut self, block: &mut Block<O::Block>) -> Result<(), Stop> {
        let rest = block.in_flight.take_all();
        for transfer in rest.iter().filter(|transfer| transfer.group == Group::Bulk) {
            if let What::Copy { source: Source::Memory(..), .. } = transfer.what {
                self.finding(
                    block,
                    transfer.warp,
                    usize::from(transfer.lane),
                    transfer.site,
                    "async-not-waited",
                    || {
                        let title = "a bulk copy that no thread waited for before the block ended";
                        let mut diagnostic = Diagnostic::new("async-not-waited", title);
                        diagnostic
                            .notes
                            .push("the block's shared memory is given to other blocks when it ends".to_owned());
                        diagnostic.help = Some(
                            "wait for its bulk group, or for the mbarrier that it signals, before the end".to_owned(),
                        );
                        diagnostic
                    },
                );
            }
        }
        self.complete_all(block, rest)
    }

    /// An access of a block's own shared memory while copies are in flight there.
    #[cold]
    pub fn check_in_flight(
        &mut self,
        block: &Block<O::Block>,
        warp: u32,
        addresses: &[u64; LANES],
        mask: u32,
        (kind, bytes): (AccessKind, u32),
        at: At,
    ) {
        let changes = kind != AccessKind::Load;
        let Some((lane, written)) = block.in_flight.first_marked(addresses, mask, bytes, changes) else { return };
        let (start, end) = (addresses[lane], addresses[lane] + u64::from(bytes));
        let peers = self.resident.iter().flatten().filter(|peer| peer.cluster == block.cluster);
        let all = peers.map(|peer| &peer.in_flight).chain([&block.in_flight]);
        let mut transfers = all.flat_map(|in_flight| in_flight.queues.iter().flatten());
        let overlaps = |transfer: &&Transfer| {
            let range = transfer.range(block.ticket, written);
            range.is_some_and(|(first, bytes)| first < end && start < first + u64::from(bytes))
        };
        let Some(issued) = transfers.find(overlaps).map(Who::from) else { return };
        drop(transfers);
        let context = self.context;
        let what = match kind {
            AccessKind::Load => "read",
            _ => "written",
        };
        let place = context.layout.describe(context.program, start, context.shared_bytes);
        let (code, title) = match written {
            true => (
                "async-not-waited",
                format!("shared memory is {what} before an asynchronous copy to it was waited for, {place}"),
            ),
            false => (
                "async-source-overwritten",
                format!("shared memory is written while an asynchronous copy may still read it, {place}"),
            ),
        };
        self.finding(block, warp, lane, at.site, code, || {
            let mut diagnostic = Diagnostic::new(code, title);
            let thread = context.thread(context.block_id(issued.block), issued.warp, issued.lane);
            let place = Place::of(context.program, issued.site.function, issued.site.pc);
            diagnostic.related.push((format!("the copy, issued by {thread}:"), place));
            diagnostic.help = Some(
                "let the issuing thread wait (`cp.async.wait_group`, `cp.async.bulk.wait_group`) and then a barrier follow, \
                 or let every thread wait on the copy's mbarrier, before this access"
                    .to_owned(),
            );
            diagnostic
        });
    }

    /// Carries transfers out, in order.
    fn complete_all(&mut self, block: &mut Block<O::Block>, transfers: Vec<Transfer>) -> Result<(), Stop> {
        self.acted |= !transfers.is_empty();
        for together in transfers.chunk_by(|a, b| (a.owner, a.warp, a.issue) == (b.owner, b.warp, b.issue)) {
            self.show(block, together);
            for transfer in together {
                self.carry_out(block, transfer)?;
            }
        }
        Ok(())
    }

    /// Tells the observers of the writes of one instruction's lanes to shared memory by `cp.async`: they are the
    /// threads' own.
    fn show(&mut self, block: &mut Block<O::Block>, together: &[Transfer]) {
        let Some(first) = together.first().filter(|first| first.group == Group::Copy) else { return };
        let What::Copy { bytes, .. } = first.what else { return };
        let (mut addresses, mut mask) = ([0; LANES], 0);
        for transfer in together {
            if let Some((start, _)) = transfer.range(first.owner, true) {
                addresses[usize::from(transfer.lane)] = start;
                mask |= 1 << transfer.lane;
            }
        }
        if mask == 0 {
            return;
        }
        let Some(owner) = pick(&mut self.resident, block, first.owner) else { return };
        let touch = Touch {
            site: first.site,
            warp: first.warp,
            mask,
            kind: AccessKind::Store,
            space: Space::Shared,
            order: Order::Weak,
            scope: Scope::Cta,
            owner: first.owner,
            bytes,
            matrix_rows: false,
            addresses: &addresses,
            spread: &Spread::of(&addresses, mask),
            peek: Peek { shared: &owner.shared, snapshot: &self.snapshot, stored: None },
        };
        self.observer.touch(&mut owner.observed, &touch);
    }

    fn carry_out(&mut self, block: &mut Block<O::Block>, transfer: &Transfer) -> Result<(), Stop> {
        match &transfer.what {
            What::Arrive(key) => self.signal(block, transfer, *key, |found| found.arrive(1, false))?,
            What::Copy { to, bytes, source, reduce, signal } => {
                let mut data = vec![0; *bytes as usize];
                match source {
                    Source::Values(values) => data.copy_from_slice(values),
                    Source::Memory(from, kept) => self.fetch(block, transfer, *from, &mut data[..*kept as usize])?,
                }
                self.deliver(block, transfer, *to, data, *reduce)?;
                self.unmark(block, transfer);
                if let Some(key) = *signal {
                    let bytes = i64::from(*bytes);
                    self.signal(block, transfer, key, |found| found.expect(-bytes))?;
                }
            }
        }
        Ok(())
    }

    /// An mbarrier gets a signal from the thread that issued a copy.
    fn signal(
        &mut self,
        block: &mut Block<O::Block>,
        transfer: &Transfer,
        key: Key,
        change: impl FnOnce(&mut Mbarrier) -> Result<(), Misuse>,
    ) -> Result<(), Stop> {
        let phase = self.with_mbarrier(block, key, transfer.into(), |found| {
            let phase = found.phase();
            change(found).map(|()| phase)
        })?;
        if let Some(owner) = pick(&mut self.resident, block, transfer.owner) {
            let (mask, variable) = (1 << transfer.lane, key.variable(phase));
            self.observer.release(&mut owner.observed, transfer.warp, mask, variable, Scope::Cluster);
        }
        Ok(())
    }

    fn unmark(&mut self, block: &mut Block<O::Block>, transfer: &Transfer) {
        let shared_bytes = self.context.shared_bytes;
        let What::Copy { to, source, .. } = &transfer.what else { return };
        let from = match source {
            Source::Memory(from, _) => Some(*from),
            Source::Values(_) => None,
        };
        for (end, writes) in [(Some(*to), true), (from, false)] {
            let Some(End::Shared(key)) = end else { continue };
            let Some(target) = pick(&mut self.resident, block, key.block) else { continue };
            let Some((start, bytes)) = transfer.range(key.block, writes) else { continue };
            target.in_flight.marking -= 1;
            target.in_flight.mark(shared_bytes, start, bytes, |mark| match writes {
                true => mark.writes = mark.writes.saturating_sub(1),
                false => mark.reads = mark.reads.saturating_sub(1),
            });
        }
    }

    /// Reads a copy's source as it is now.
    fn fetch(
        &mut self,
        block: &mut Block<O::Block>,
        transfer: &Transfer,
        from: End,
        data: &mut [u8],
    ) -> Result<(), Stop> {
        self.show_range(block, transfer, from, data.len(), AccessKind::Load);
        match from {
            End::Global(address) => {
                if data.is_empty() {
                    return Ok(());
                }
                self.require_global(block, transfer, address, data.len() as u64, AccessKind::Load)?;
                if let Some(view) = self.snapshot.find(address) {
                    view.storage.read((address - view.base) as usize, data);
                }
            }
            End::Shared(key) => match pick(&mut self.resident, block, key.block) {
                Some(target) => {
                    for (at, byte) in data.iter_mut().enumerate() {
                        *byte = lanes::load_words(&target.shared, key.offset + at as u64, 1) as u8;
                    }
                }
                None => return Err(self.ended(transfer.into(), key.block)),
            },
        }
        Ok(())
    }

    /// Writes a copy's bytes.
    fn deliver(
        &mut self,
        block: &mut Block<O::Block>,
        transfer: &Transfer,
        to: End,
        mut data: Vec<u8>,
        reduce: Option<Reduce>,
    ) -> Result<(), Stop> {
        self.show_range(block, transfer, to, data.len(), AccessKind::Store);
        match to {
            End::Global(address) => {
                if data.is_empty() {
                    return Ok(());
                }
                self.require_global(block, transfer, address, data.len() as u64, AccessKind::Store)?;
                let Some(view) = self.snapshot.find(address) else { return Ok(()) };
                let start = address - view.base;
                match reduce {
                    None => {
                        view.storage.write(start as usize, &data);
                        if let Some(shadow) = view.shadow.as_deref() {
                            define_range(shadow, start, data.len() as u64);
                        }
                    }
                    Some(Reduce { bytes, combine }) => {
                        for (at, element) in data.chunks_exact(usize::from(bytes)).enumerate() {
                            let new = little_endian(element);
                            let at = start + at as u64 * u64::from(bytes);
                            view.storage.update(at, bytes, |old| combine(old, new, new));
                        }
                    }
                }
            }
            End::Shared(key) => match pick(&mut self.resident, block, key.block) {
                Some(target) => {
                    if let Some(Reduce { bytes, combine }) = reduce {
                        for (at, element) in data.chunks_exact_mut(usize::from(bytes)).enumerate() {
                            let old =
                                lanes::load_words(&target.shared, key.offset + at as u64 * u64::from(bytes), bytes);
                            let new = little_endian(element);
                            element.copy_from_slice(&combine(old, new, new).to_le_bytes()[..usize::from(bytes)]);
                        }
                    }
                    for (at, byte) in data.iter().enumerate() {
                        lanes::store_words(&mut target.shared, key.offset + at as u64, 1, u64::from(*byte));
                        target.states.writes_shared(key.offset + at as u64, 1);
                    }
                }
                None => return Err(self.ended(transfer.into(), key.block)),
            },
        }
        Ok(())
    }

    /// Tells the observers of one end of a bulk copy. `cp.async` is shown as the accesses of its threads.
    fn show_range(
        &mut self,
        block: &mut Block<O::Block>,
        transfer: &Transfer,
        end: End,
        bytes: usize,
        kind: AccessKind,
    ) {
        if transfer.group == Group::Copy {
            return;
        }
        let (holder, space, start) = match end {
            End::Global(address) => (transfer.owner, Space::Global, address),
            End::Shared(key) => (key.block, Space::Shared, key.offset),
        };
        let range = Range {
            site: transfer.site,
            warp: transfer.warp,
            lane: u32::from(transfer.lane),
            kind,
            space,
            owner: holder,
            start,
            bytes: bytes as u64,
        };
        if let Some(owner) = pick(&mut self.resident, block, transfer.owner) {
            self.observer.range(&mut owner.observed, &range);
        }
    }

    /// The memory of a copy may have been freed since it was issued.
    fn require_global(
        &mut self,
        block: &Block<O::Block>,
        transfer: &Transfer,
        address: u64,
        bytes: u64,
        kind: AccessKind,
    ) -> Result<(), Stop> {
        let lane = usize::from(transfer.lane);
        if self.first_outside(&[address; LANES], 1 << lane, bytes, false).is_none() {
            return Ok(());
        }
        let bad = BadAccess { kind, space: Space::Global, address, bytes: bytes as u32, lane };
        Err(self.bad_global(block, transfer.warp, transfer.site, bad))
    }

    /// The memory of a block that has ended is gone.
    #[cold]
    pub fn ended(&self, who: Who, target: u64) -> Stop {
        let target = crate::stop::Triple(self.context.block_id(target));
        let title = format!("access to the shared memory of block {target}, which has ended");
        let mut diagnostic = Diagnostic::new("block-ended", title);
        diagnostic.help = Some("keep the blocks of a cluster alive with a cluster barrier before they end".to_owned());
        self.stop_of(who, diagnostic)
    }

    /// A stop that blames a thread of any block.
    #[cold]
    pub fn stop_of(&self, who: Who, diagnostic: Diagnostic) -> Stop {
        let context = self.context;
        let thread = context.thread(context.block_id(who.block), who.warp, who.lane);
        let place = Place::of(context.program, who.site.function, who.site.pc);
        Stop::new(StopKind::Fault, Diagnostic { place: Some(place), thread: Some(thread), ..diagnostic })
    }
}

/// A thread, and the instruction that it executes or executed.
#[derive(Clone, Copy, Debug)]
pub struct Who {
    /// The block's ticket.
    pub block: u64,
    pub warp: u32,
    pub lane: usize,
    pub site: Site,
}

impl From<&Transfer> for Who {
    fn from(transfer: &Transfer) -> Self {
        Self { block: transfer.owner, warp: transfer.warp, lane: usize::from(transfer.lane), site: transfer.site }
    }
}

fn little_endian(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

/// Lanes of a mask, in order.
pub fn lanes_of(mask: u32) -> impl Iterator<Item = usize> {
    (0..LANES).filter(move |lane| mask >> lane & 1 != 0)
}

/// The largest power of two of at most `bytes`, which is not 0.
pub fn whole(bytes: u32) -> u32 {
    1 << bytes.ilog2()
}
