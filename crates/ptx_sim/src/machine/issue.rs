//! Issue of asynchronous copies: operands and addresses are checked, and transfers queued.

use super::access;
use super::block::{Block, pick};
use super::cluster::{self, Wanted};
use super::in_flight::{End, Source, Transfer, What};
use super::key::Key;
use super::part::{Part, Shape, addresses};
use super::position::Who;
use super::step::Step;
use super::worker::Worker;
use super::{completion, mbarrier_objects, premature};
use crate::lanes::{self, lanes_of};
use crate::observe::{AccessKind, Bypass, Observer, Peek, Range};
use crate::program::{Address, Async, Group, Order, Scope, Space};
use crate::registers::{LANES, Slot};
use crate::stop::{Diagnostic, Stop};

/// `cp.async`: the source is checked and reported to the observers now; the destination is checked now and reported
/// later.
///
/// # Errors
/// A stop if an operand or an address faults.
pub fn copy<O: Observer>(step: &mut Step<'_, '_, O>, op: &Async) -> Result<(), Stop> {
    let Async::Copy { to, from, bytes, cached, source_bytes, ignore } = op else { return Ok(()) };
    let registers = step.registers();
    let (targets, sources) = (addresses(registers, to), addresses(registers, from));
    let mut kept = [*bytes; LANES];
    if let Some(slot) = source_bytes {
        kept = registers.w32[*slot as usize];
    }
    if let Some((slot, negated)) = ignore {
        let row = registers.pred[*slot as usize];
        lanes::each(if *negated { !row } else { row }, |lane| kept[lane] = 0);
    }
    let number = *step.block.in_flight.committed(step.warp.index, Group::Copy);
    let issue = step.block.in_flight.issue();
    let mut transfers = Vec::new();
    for lane in lanes_of(step.mask) {
        let who = step.who(lane);
        if kept[lane] > *bytes {
            let title = format!("cp.async reads {} bytes where it writes {bytes}", kept[lane]);
            return Err(step.context().fault(who, Diagnostic::new("async-size", title)));
        }
        let align = u64::from(*bytes);
        let wanted = Wanted { kind: AccessKind::Store, address: targets[lane], bytes: align, align };
        let key = cluster::shared_end(step.worker, step.block, who, wanted)?;
        let source = Source::Memory(End::Global(sources[lane]), kept[lane]);
        let what = What::Copy { to: End::Shared(key), bytes: *bytes, source, reduce: None, signal: None, tile: None };
        transfers.push(transfer(who, Group::Copy, what, number[lane], issue));
    }
    let full = lanes::select(step.mask, |lane| kept[lane] == *bytes);
    if full != 0 {
        let part = Part { space: Space::Global, addresses: &sources, mask: full };
        access::check(step, part, weak(AccessKind::Load, *bytes), None)?;
        if !*cached {
            let (site, warp, bytes) = (step.at.site, step.warp.index, *bytes);
            let past = Bypass { site, warp, mask: full, bytes, from: &sources, to: &targets };
            step.worker.observer.bypass(&mut step.block.observed, &past);
        }
    }
    for lane in lanes_of(step.mask & !full).filter(|&lane| kept[lane] != 0) {
        // The first and the last bytes of an odd number overlap.
        let mut ends = sources;
        for (moved, bytes) in [(0, whole(kept[lane])), (u64::from(kept[lane]) - 1, 1)] {
            ends[lane] = ends[lane].wrapping_add(moved);
            let part = Part { space: Space::Global, addresses: &ends, mask: 1 << lane };
            access::check(step, part, weak(AccessKind::Load, bytes), None)?;
        }
    }
    if step.block.in_flight.marks_words() {
        let part = Part { space: Space::Shared, addresses: &targets, mask: step.mask };
        premature::check(step, part, weak(AccessKind::Store, *bytes));
    }
    completion::show(step.worker, step.block, &transfers, O::announce);
    enqueue(step, transfers)
}

/// Bulk copies, and stores to shared memory that signal an mbarrier.
///
/// # Errors
/// A stop if an operand or an address faults.
pub fn copy_bulk<O: Observer>(step: &mut Step<'_, '_, O>, op: &Async) -> Result<(), Stop> {
    let registers = &step.warp.frames[step.at.frame as usize].registers;
    let row = |slot: &Slot| registers.w32[*slot as usize];
    let number = *step.block.in_flight.committed(step.warp.index, Group::Bulk);
    let issue = step.block.in_flight.issue();
    let mut transfers = Vec::new();
    for lane in lanes_of(step.mask) {
        let who = step.who(lane);
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
                let (size, address) = (bytes.len() as u64, addresses(registers, to)[lane]);
                let wanted = Wanted { kind: AccessKind::Store, address, bytes: size, align: size };
                let key = cluster::shared_end(step.worker, step.block, who, wanted)?;
                let signal = mbarrier_objects::locate(
                    step.worker,
                    step.block,
                    who,
                    Space::Shared,
                    addresses(registers, mbarrier)[lane],
                )?;
                if key.block != signal.block {
                    let title = "the mbarrier of an asynchronous store lies in another block than its destination";
                    return Err(step.context().fault(who, Diagnostic::new("mbarrier-block", title)));
                }
                let (to, bytes, source) = (End::Shared(key), bytes.len() as u32, Source::Values(bytes));
                add(What::Copy { to, bytes, source, reduce: *reduce, signal: Some(signal), tile: None });
            }
            Async::Bulk { to, from, bytes, mbarrier, multicast, reduce } => {
                let bytes = row(bytes)[lane];
                if !bytes.is_multiple_of(16) {
                    let title = format!("a bulk copy of {bytes} bytes: it must be a multiple of 16");
                    return Err(step.context().fault(who, Diagnostic::new("async-size", title)));
                }
                let end = |kind: AccessKind, (_, address): &(Space, Address)| {
                    let address = addresses(registers, address)[lane];
                    Wanted { kind, address, bytes: u64::from(bytes), align: 16 }
                };
                let (source, target) = (end(AccessKind::Load, from), end(AccessKind::Store, to));
                let from = bulk_end(step.worker, step.block, who, from.0, source)?;
                let to = bulk_end(step.worker, step.block, who, to.0, target)?;
                let signal = match mbarrier {
                    Some(mbarrier) => {
                        let address = addresses(registers, mbarrier)[lane];
                        Some(mbarrier_objects::locate(step.worker, step.block, who, Space::Shared, address)?)
                    }
                    None => None,
                };
                let source = Source::Memory(from, bytes);
                let copy =
                    |to, signal| What::Copy { to, bytes, source: source.clone(), reduce: *reduce, signal, tile: None };
                let (Some(ranks), End::Shared(to), Some(signal)) = (multicast.as_ref().map(row), to, signal) else {
                    add(copy(to, signal));
                    continue;
                };
                for (to, signal) in receivers(step, who, ranks[lane], (to, signal))? {
                    add(copy(End::Shared(to), Some(signal)));
                }
            }
            _ => {}
        }
    }
    start(step, transfers)
}

/// Checks and reports the memory of copies, and adds them to the queues.
///
/// # Errors
/// A stop if an address faults, the memory of a copy was freed, or its block has ended.
pub fn start<O: Observer>(step: &mut Step<'_, '_, O>, transfers: Vec<Transfer>) -> Result<(), Stop> {
    check_ends(step, &transfers);
    show_ends(step.worker, step.block, &transfers);
    enqueue(step, transfers)
}

/// Returns the destination and the mbarrier in each block of a multicast.
///
/// # Errors
/// `cluster-rank` if the cluster has no such block.
pub fn receivers<O: Observer>(
    step: &Step<'_, '_, O>,
    who: Who,
    ranks: u32,
    (to, signal): (Key, Key),
) -> Result<Vec<(Key, Key)>, Stop> {
    let (ranks, blocks) = (ranks & 0xffff, step.context().cluster_blocks);
    if u64::from(ranks) >> blocks != 0 {
        let title = format!("a copy to the blocks with mask {ranks:#x} in a cluster of {blocks} blocks");
        return Err(step.context().fault(who, Diagnostic::new("cluster-rank", title)));
    }
    let first = step.block.first_ticket(blocks);
    let place = |rank: usize| {
        let block = first + rank as u64;
        (Key { block, ..to }, Key { block, ..signal })
    };
    Ok(lanes_of(ranks).map(place).collect())
}

/// Checks for copies between words of this block that other copies will write or read.
fn check_ends<O: Observer>(step: &mut Step<'_, '_, O>, transfers: &[Transfer]) {
    if !step.block.in_flight.marks_words() {
        return;
    }
    for transfer in transfers {
        let What::Copy { to, bytes, source, .. } = &transfer.what else { continue };
        let ticket = step.block.ticket;
        let own = |end: &End| match end {
            End::Shared(key) if key.block == ticket => Some(key.offset),
            _ => None,
        };
        let from = match source {
            Source::Memory(from, _) => own(from),
            Source::Values(_) => None,
        };
        for (start, kind) in [(own(to), AccessKind::Store), (from, AccessKind::Load)] {
            if let Some(start) = start {
                let part = Part { space: Space::Shared, addresses: &[start; LANES], mask: 1 << transfer.lane };
                premature::check(step, part, weak(kind, *bytes));
            }
        }
    }
}

/// Reports to the observers the shared memory that bulk copies will read or write.
fn show_ends<O: Observer>(worker: &mut Worker<'_, O>, block: &mut Block<O::Block>, transfers: &[Transfer]) {
    for transfer in transfers {
        let What::Copy { to, bytes, source, .. } = &transfer.what else { continue };
        let from = match source {
            Source::Memory(from, kept) => Some((AccessKind::Load, *from, *kept)),
            Source::Values(_) => None,
        };
        for (kind, end, bytes) in from.into_iter().chain([(AccessKind::Store, *to, *bytes)]) {
            let End::Shared(key) = end else { continue };
            let range = Range {
                site: transfer.site,
                warp: transfer.warp,
                lane: u32::from(transfer.lane),
                kind,
                space: Space::Shared,
                owner: key.block,
                start: key.offset,
                bytes: u64::from(bytes),
                reduces: kind == AccessKind::Store && transfer.reduces(),
                completes: transfer.completes(),
            };
            let peek = Peek { shared: &block.shared, snapshot: &worker.snapshot, stored: None };
            worker.observer.issue(&mut block.observed, &range, peek);
        }
    }
}

/// Checks one end of a bulk copy.
fn bulk_end<O: Observer>(
    worker: &mut Worker<'_, O>,
    block: &Block<O::Block>,
    who: Who,
    space: Space,
    wanted: Wanted,
) -> Result<End, Stop> {
    if space == Space::Shared {
        return cluster::shared_end(worker, block, who, wanted).map(End::Shared);
    }
    let Wanted { address, bytes, .. } = wanted;
    let bad = wanted.aligned(worker.context, who, Space::Global)?;
    match access::first_outside(worker, &[address; LANES], 1 << who.lane, bytes, false) {
        Some(_) => Err(worker.context.bad_global(bad)),
        None => Ok(End::Global(address)),
    }
}

/// Adds the transfers of an instruction to the queues.
///
/// # Errors
/// A stop if an address faults, the memory of a copy was freed, or its block has ended.
pub fn enqueue<O: Observer>(step: &mut Step<'_, '_, O>, transfers: Vec<Transfer>) -> Result<(), Stop> {
    step.warp.wrote = true;
    let Step { worker, block, .. } = step;
    let shared_bytes = worker.context.shared_bytes;
    for transfer in transfers {
        for writes in [true, false] {
            let end = match &transfer.what {
                What::Copy { to: End::Shared(key), .. } if writes => *key,
                What::Copy { source: Source::Memory(End::Shared(key), _), .. } if !writes => *key,
                _ => continue,
            };
            let Some(target) = pick(&mut worker.resident, block, end.block) else { continue };
            let Some((start, bytes)) = transfer.range(end.block, writes) else { continue };
            target.in_flight.marking += 1;
            target.in_flight.mark(shared_bytes, start, bytes, |mark| match writes {
                true => mark.writes = mark.writes.saturating_add(1),
                false => mark.reads = mark.reads.saturating_add(1),
            });
        }
        let oldest = block.in_flight.push(transfer);
        if !oldest.is_empty() {
            completion::complete_all(worker, block, oldest)?;
        }
    }
    Ok(())
}

/// Returns a transfer of one lane; `number` counts the groups that the lane has committed.
pub fn transfer(who: Who, group: Group, what: What, number: u32, issue: u64) -> Transfer {
    let Who { block: owner, warp, lane, site } = who;
    Transfer { site, owner, warp, lane: lane as u8, group, what, number, issue }
}

/// Returns an access of the copy by one thread.
fn weak(kind: AccessKind, bytes: u32) -> Shape {
    Shape { kind, order: Order::Weak, scope: Scope::Cta, bytes, matrix_rows: false }
}

/// Returns the largest power of two that is at most `bytes`, which must not be 0.
fn whole(bytes: u32) -> u32 {
    1 << bytes.ilog2()
}
