//! Completion of asynchronous copies.
//!
//! A copy takes effect at the latest moment that PTX allows: when a thread waits for its group, or tests the mbarrier
//! that it signals. Until then its destination holds the old data and its source can still be overwritten, so a program
//! that waits too late, or not at all, gets wrong results in every run and not by chance. In addition, the words of
//! shared memory that a copy will write or read are marked, and premature accesses to them are reported
//! (`async-not-waited`, `async-source-overwritten`).

use super::access;
use super::block::{Block, pick};
use super::boxed;
use super::faults::BadAccess;
use super::in_flight::{End, Source, Transfer, What};
use super::key::Key;
use super::mbarrier::{Mbarrier, Misuse};
use super::mbarrier_objects;
use super::step::Step;
use super::worker::Worker;
use crate::lanes::{self, Spread};
use crate::memory::cells::define_range;
use crate::observe::{AccessKind, Observer, Peek, Range, Touch};
use crate::program::{Group, Order, Reduce, Scope, Space};
use crate::registers::LANES;
use crate::stop::{Diagnostic, Stop};
use crate::tensor::Tile;

/// `wait_group`: completes the groups that the lanes wait for.
///
/// # Errors
/// A stop if an address faults, the memory of a copy was freed, or its block has ended.
pub fn wait_groups<O: Observer>(step: &mut Step<'_, '_, O>, group: Group, pending: u32) -> Result<(), Stop> {
    let committed = *step.block.in_flight.committed(step.warp.index, group);
    let mask = step.mask;
    let done = step.block.in_flight.take(step.warp.index, |transfer| {
        let lane = usize::from(transfer.lane);
        let counted = matches!(&transfer.what, What::Copy { signal: None, .. });
        counted
            && transfer.group == group
            && mask >> lane & 1 != 0
            && transfer.number < committed[lane].saturating_sub(pending)
    });
    complete_all(step.worker, step.block, done)
}

/// Completes all transfers that signal an mbarrier, in all blocks of the cluster.
///
/// # Errors
/// A stop if an address faults, the memory of a copy was freed, or its block has ended.
pub fn complete_signalling<O: Observer>(
    worker: &mut Worker<'_, O>,
    block: &mut Block<O::Block>,
    mbarrier: Key,
) -> Result<(), Stop> {
    let mut done = block.in_flight.take_signalling(mbarrier);
    if worker.context.cluster_blocks > 1 {
        for peer in worker.resident.iter_mut().flatten().filter(|peer| peer.cluster == block.cluster) {
            done.extend(peer.in_flight.take_signalling(mbarrier));
        }
    }
    complete_all(worker, block, done)
}

/// Completes the transfers of a block that ends, and reports those that needed the block's memory beyond its end.
///
/// # Errors
/// A stop if an address faults, the memory of a copy was freed, or its block has ended.
pub fn finish<O: Observer>(worker: &mut Worker<'_, O>, block: &mut Block<O::Block>) -> Result<(), Stop> {
    let rest = block.in_flight.take_all();
    for transfer in rest.iter().filter(|transfer| transfer.group == Group::Bulk) {
        if let What::Copy { source: Source::Memory(..), .. } = transfer.what {
            worker.finding(transfer.into(), "async-not-waited", || {
                let title = "a bulk copy that no thread waited for before the block ended";
                let mut diagnostic = Diagnostic::new("async-not-waited", title);
                diagnostic.notes.push("the block's shared memory is reused by other blocks after it ends".to_owned());
                diagnostic.help =
                    Some("wait for its bulk group, or for the mbarrier that it signals, before the end".to_owned());
                diagnostic
            });
        }
    }
    complete_all(worker, block, rest)
}

/// Performs transfers, in order.
///
/// # Errors
/// A stop if an address faults, the memory of a copy was freed, or its block has ended.
pub fn complete_all<O: Observer>(
    worker: &mut Worker<'_, O>,
    block: &mut Block<O::Block>,
    transfers: Vec<Transfer>,
) -> Result<(), Stop> {
    worker.acted |= !transfers.is_empty();
    for together in transfers.chunk_by(|a, b| (a.owner, a.warp, a.issue) == (b.owner, b.warp, b.issue)) {
        show(worker, block, together, O::touch);
        for transfer in together {
            carry_out(worker, block, transfer)?;
        }
    }
    Ok(())
}

/// Reports to the observers by `how` the writes of one instruction's lanes to shared memory by `cp.async`, which count
/// as the threads' own.
pub fn show<O: Observer>(
    worker: &mut Worker<'_, O>,
    block: &mut Block<O::Block>,
    together: &[Transfer],
    how: impl FnOnce(&mut O, &mut O::Block, &Touch<'_>),
) {
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
    let Some(owner) = pick(&mut worker.resident, block, first.owner) else { return };
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
        peek: Peek { shared: &owner.shared, snapshot: &worker.snapshot, stored: None },
    };
    how(&mut worker.observer, &mut owner.observed, &touch);
}

fn carry_out<O: Observer>(
    worker: &mut Worker<'_, O>,
    block: &mut Block<O::Block>,
    transfer: &Transfer,
) -> Result<(), Stop> {
    match &transfer.what {
        What::Arrive(key) => signal(worker, block, transfer, *key, |found| found.arrive(1, false))?,
        What::Copy { to, bytes, source, reduce, signal: signalled, tile } => {
            let data = match (source, tile) {
                (Source::Values(values), _) => values.to_vec(),
                (Source::Memory(from, _), Some(tile)) => fetch_box(worker, block, transfer, *from, tile)?,
                (Source::Memory(from, kept), None) => {
                    let mut data = vec![0; *bytes as usize];
                    fetch(worker, block, transfer, *from, &mut data[..*kept as usize])?;
                    data
                }
            };
            match (to, tile) {
                (End::Global(_), Some(tile)) => {
                    let rows = if reduce.is_none() { tile.stored_rows() } else { tile.rows() };
                    for (offset, address, bytes) in rows {
                        let row = data[offset as usize..][..bytes as usize].to_vec();
                        deliver(worker, block, transfer, End::Global(address), row, *reduce)?;
                    }
                }
                (End::Shared(key), Some(tile)) if tile.has_gaps() => {
                    for (chunk, offset) in data.chunks(16).zip(tile.places()) {
                        let to = End::Shared(Key { offset, ..*key });
                        deliver(worker, block, transfer, to, chunk.to_vec(), *reduce)?;
                    }
                }
                (End::Shared(_), Some(tile)) => {
                    deliver(worker, block, transfer, *to, tile.swizzled(&data), *reduce)?;
                }
                (_, None) => deliver(worker, block, transfer, *to, data, *reduce)?,
            }
            if let (End::Shared(key), Some(tile)) = (to, tile) {
                boxed::show(worker, block, transfer, *key, tile);
            }
            unmark(worker, block, transfer);
            if let Some(key) = *signalled {
                let bytes = tile.as_ref().map_or(i64::from(*bytes), |tile| tile.map.box_bytes() as i64);
                signal(worker, block, transfer, key, |found| found.expect(-bytes))?;
            }
        }
    }
    Ok(())
}

/// Signals an mbarrier on behalf of the thread that issued a copy.
fn signal<O: Observer>(
    worker: &mut Worker<'_, O>,
    block: &mut Block<O::Block>,
    transfer: &Transfer,
    key: Key,
    change: impl FnOnce(&mut Mbarrier) -> Result<(), Misuse>,
) -> Result<(), Stop> {
    let phase = mbarrier_objects::change(worker, block, key, transfer.into(), |found| {
        let phase = found.phase();
        change(found).map(|()| phase)
    })?;
    if let Some(owner) = pick(&mut worker.resident, block, transfer.owner) {
        let (mask, variable) = (1 << transfer.lane, key.variable(phase));
        worker.observer.release(&mut owner.observed, transfer.warp, mask, variable, Scope::Cluster);
    }
    Ok(())
}

fn unmark<O: Observer>(worker: &mut Worker<'_, O>, block: &mut Block<O::Block>, transfer: &Transfer) {
    let shared_bytes = worker.context.shared_bytes;
    let What::Copy { to, source, .. } = &transfer.what else { return };
    let from = match source {
        Source::Memory(from, _) => Some(*from),
        Source::Values(_) => None,
    };
    for (end, writes) in [(Some(*to), true), (from, false)] {
        let Some(End::Shared(key)) = end else { continue };
        let Some(target) = pick(&mut worker.resident, block, key.block) else { continue };
        let Some((start, bytes)) = transfer.range(key.block, writes) else { continue };
        target.in_flight.marking -= 1;
        target.in_flight.mark(shared_bytes, start, bytes, |mark| match writes {
            true => mark.writes = mark.writes.saturating_sub(1),
            false => mark.reads = mark.reads.saturating_sub(1),
        });
    }
}

/// Reads the rows of a box of a tensor, one after the other, from the tensor or from shared memory.
fn fetch_box<O: Observer>(
    worker: &mut Worker<'_, O>,
    block: &mut Block<O::Block>,
    transfer: &Transfer,
    from: End,
    tile: &Tile,
) -> Result<Vec<u8>, Stop> {
    let mut data = tile.filled();
    match from {
        End::Global(_) => {
            for (offset, address, bytes) in tile.rows() {
                let row = &mut data[offset as usize..][..bytes as usize];
                fetch(worker, block, transfer, End::Global(address), row)?;
            }
        }
        End::Shared(key) if tile.has_gaps() => {
            for (chunk, offset) in data.chunks_mut(16).zip(tile.places()) {
                fetch(worker, block, transfer, End::Shared(Key { offset, ..key }), chunk)?;
            }
        }
        End::Shared(_) => {
            fetch(worker, block, transfer, from, &mut data)?;
            data = tile.unswizzled(&data);
        }
    }
    Ok(data)
}

/// Reads the current contents of a copy's source.
fn fetch<O: Observer>(
    worker: &mut Worker<'_, O>,
    block: &mut Block<O::Block>,
    transfer: &Transfer,
    from: End,
    data: &mut [u8],
) -> Result<(), Stop> {
    show_range(worker, block, transfer, from, data.len(), AccessKind::Load);
    match from {
        End::Global(address) => {
            if data.is_empty() {
                return Ok(());
            }
            require_global(worker, transfer, address, data.len() as u64, AccessKind::Load)?;
            if let Some(view) = worker.snapshot.find(address) {
                view.storage.read((address - view.base) as usize, data);
            }
        }
        End::Shared(key) => match pick(&mut worker.resident, block, key.block) {
            Some(target) => {
                for (at, byte) in data.iter_mut().enumerate() {
                    *byte = lanes::load_words(&target.shared, key.offset + at as u64, 1) as u8;
                }
            }
            None => return Err(worker.context.ended(transfer.into(), key.block)),
        },
    }
    Ok(())
}

/// Writes a copy's bytes to its destination.
fn deliver<O: Observer>(
    worker: &mut Worker<'_, O>,
    block: &mut Block<O::Block>,
    transfer: &Transfer,
    to: End,
    mut data: Vec<u8>,
    reduce: Option<Reduce>,
) -> Result<(), Stop> {
    show_range(worker, block, transfer, to, data.len(), AccessKind::Store);
    match to {
        End::Global(address) => {
            if data.is_empty() {
                return Ok(());
            }
            require_global(worker, transfer, address, data.len() as u64, AccessKind::Store)?;
            let Some(view) = worker.snapshot.find(address) else { return Ok(()) };
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
        End::Shared(key) => match pick(&mut worker.resident, block, key.block) {
            Some(target) => {
                if let Some(Reduce { bytes, combine }) = reduce {
                    for (at, element) in data.chunks_exact_mut(usize::from(bytes)).enumerate() {
                        let old = lanes::load_words(&target.shared, key.offset + at as u64 * u64::from(bytes), bytes);
                        let new = little_endian(element);
                        element.copy_from_slice(&combine(old, new, new).to_le_bytes()[..usize::from(bytes)]);
                    }
                }
                for (at, byte) in data.iter().enumerate() {
                    lanes::store_words(&mut target.shared, key.offset + at as u64, 1, u64::from(*byte));
                    target.states.writes_shared(key.offset + at as u64, 1);
                }
            }
            None => return Err(worker.context.ended(transfer.into(), key.block)),
        },
    }
    Ok(())
}

/// Reports one end of a bulk copy to the observers. `cp.async` is reported as accesses of its threads.
fn show_range<O: Observer>(
    worker: &mut Worker<'_, O>,
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
        reduces: kind == AccessKind::Store && transfer.reduces(),
        completes: transfer.completes(),
    };
    if let Some(owner) = pick(&mut worker.resident, block, transfer.owner) {
        let peek = Peek { shared: &owner.shared, snapshot: &worker.snapshot, stored: None };
        worker.observer.range(&mut owner.observed, &range, peek);
    }
}

/// Checks that the memory of a copy was not freed since it was issued.
fn require_global<O: Observer>(
    worker: &mut Worker<'_, O>,
    transfer: &Transfer,
    address: u64,
    bytes: u64,
    kind: AccessKind,
) -> Result<(), Stop> {
    let lane = usize::from(transfer.lane);
    if access::first_outside(worker, &[address; LANES], 1 << lane, bytes, false).is_none() {
        return Ok(());
    }
    let bad = BadAccess { who: transfer.into(), kind, space: Space::Global, address, bytes: bytes as u32 };
    Err(worker.context.bad_global(bad))
}

fn little_endian(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}
