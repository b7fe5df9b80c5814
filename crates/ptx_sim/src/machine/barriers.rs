//! Block barriers: `bar` and `barrier`, their arrival counts by warps, and warps that arrive in part.
//!
//! A barrier counts warps. A warp counts once all its live lanes have arrived at the same barrier. At an aligned
//! barrier they must arrive together at the same instruction; lanes that do not arrive are barrier divergence, which is
//! the program's fault.

use super::barrier::Barrier;
use super::block::{BARRIERS, Block};
use super::context::Context;
use super::step::Step;
use super::warp::{Split, State, Warp};
use super::worker::Worker;
use crate::lanes;
use crate::observe::{Observer, Site};
use crate::program::{BarrierKind, BarrierReduce, Op};
use crate::registers::LANES;
use crate::stop::{Diagnostic, Stop};

/// The operands of a barrier instruction.
#[derive(Clone, Copy)]
struct Operands {
    aligned: bool,
    id: u32,
    count: Option<u32>,
    kind: BarrierKind,
}

/// Executes a barrier instruction for some lanes.
///
/// # Errors
/// A stop for barrier divergence, or an invalid barrier or thread count.
pub fn execute<O: Observer>(step: &mut Step<'_, '_, O>, split: Split) -> Result<(), Stop> {
    let Some(operands) = operands(step.context(), step.warp, &split) else { return Ok(()) };
    let lane = lanes::first(split.mask);
    if operands.id as usize >= BARRIERS {
        let title = format!("barrier {} does not exist: a block has {BARRIERS}", operands.id);
        return Err(step.fault(lane, "barrier-id", title));
    }
    if let Some(count) = operands.count.filter(|count| *count == 0 || count % 32 != 0) {
        let title = format!("a barrier for {count} threads: it must be a multiple of 32 and not 0");
        return Err(step.fault(lane, "barrier-count", title));
    }
    step.warp.splits.push(Split { state: State::Barrier { id: operands.id }, ..split });
    match split.mask == step.warp.live {
        true if matches!(operands.kind, BarrierKind::Sync) => {
            count_at(step.worker, step.block, step.warp, &split, operands)
        }
        true => count(step.worker, step.block, step.warp, operands.id),
        false => Ok(()),
    }
}

/// All live lanes of a warp arrive together at a barrier that is unused or waits for all warps.
#[inline]
pub fn wait<O: Observer>(
    worker: &mut Worker<'_, O>,
    block: &mut Block<O::Block>,
    warp: &mut Warp,
    split: Split,
    id: u32,
) {
    warp.splits.push(Split { state: State::Barrier { id }, ..split });
    warp.waits_at = Some(id);
    let barrier = &mut block.barriers[id as usize];
    barrier.arrived |= 1 << warp.index;
    barrier.waiting |= 1 << warp.index;
    barrier.threads += 32;
    if is_complete(barrier, block.live) {
        complete(worker, block, Some(warp), id);
    }
}

/// Completes barriers without a thread count that waited only for warps that have ended.
pub fn after_exit<O: Observer>(worker: &mut Worker<'_, O>, block: &mut Block<O::Block>) {
    for id in 0..BARRIERS as u32 {
        if is_complete(&block.barriers[id as usize], block.live) {
            complete(worker, block, None, id);
        }
    }
}

/// Counts a warp all of whose live lanes are at barrier `id`.
pub fn count<O: Observer>(
    worker: &mut Worker<'_, O>,
    block: &mut Block<O::Block>,
    warp: &mut Warp,
    id: u32,
) -> Result<(), Stop> {
    let parked = || warp.splits.iter().filter(|split| split.state == State::Barrier { id });
    let Some(first) = parked().next().copied() else { return Ok(()) };
    let Some(operands) = operands(worker.context, warp, &first) else { return Ok(()) };
    let together = parked().all(|split| (split.frame, split.pc) == (first.frame, first.pc));
    if operands.aligned && !together {
        return Err(divergence(worker.context, block, warp, first.mask));
    }
    count_at(worker, block, warp, &first, operands)
}

/// Counts a warp, one of whose splits is `first`, at the barrier of `operands`.
fn count_at<O: Observer>(
    worker: &mut Worker<'_, O>,
    block: &mut Block<O::Block>,
    warp: &mut Warp,
    first: &Split,
    operands: Operands,
) -> Result<(), Stop> {
    let (id, site) = (operands.id, warp.site(first));
    let (bit, lane) = (1 << warp.index, lanes::first(first.mask));
    let wanted = operands.count.unwrap_or(0);
    let barrier = &mut block.barriers[id as usize];
    if barrier.arrived != 0 && barrier.wanted != wanted {
        let other = barrier.wanted;
        let words = |n: u32| if n == 0 { "all threads".to_owned() } else { format!("{n} threads") };
        let title = format!("barrier {id} is used with {} and with {} at the same time", words(other), words(wanted));
        return Err(worker.context.fault(block.who(warp, lane, site), Diagnostic::new("barrier-count", title)));
    }
    barrier.wanted = wanted;
    barrier.arrived |= bit;
    barrier.threads += 32;
    let waits = !matches!(operands.kind, BarrierKind::Arrive);
    let plain = warp.splits.len() == 1 && matches!(operands.kind, BarrierKind::Sync);
    let parked = warp.splits.iter().filter(|split| !plain && split.state == State::Barrier { id });
    for split in parked {
        if let Some(&BarrierKind::Reduce { source, negated, .. }) = kind(worker.context, warp, split) {
            let row = warp.frames[split.frame as usize].registers.pred[source as usize];
            let holds = split.mask & if negated { !row } else { row };
            barrier_add(&mut block.barriers[id as usize], holds, split.mask);
        }
    }
    if waits {
        block.barriers[id as usize].waiting |= bit;
        warp.waits_at = Some(id);
    } else {
        worker.observer.arrive(&mut block.observed, warp.index, id);
        pass(worker.context, warp, id, Some((0, 0)));
    }
    if is_complete(&block.barriers[id as usize], block.live) {
        complete(worker, block, Some(warp), id);
    }
    Ok(())
}

/// Releases all waiting warps. `running` has been taken out of the block.
fn complete<O: Observer>(
    worker: &mut Worker<'_, O>,
    block: &mut Block<O::Block>,
    mut running: Option<&mut Warp>,
    id: u32,
) {
    let barrier = std::mem::take(&mut block.barriers[id as usize]);
    for index in lanes::lanes_of(barrier.waiting) {
        let warp = match &running {
            Some(warp) if warp.index as usize == index => &**warp,
            _ => &block.warps[index],
        };
        if warp.live != u32::MAX {
            report_exited(worker, &mut block.observed, warp, id);
        }
    }
    worker.observer.barrier(&mut block.observed, id, barrier.arrived, barrier.waiting);
    let mut waiting = barrier.waiting;
    while waiting != 0 {
        let index = waiting.trailing_zeros() as usize;
        waiting &= waiting - 1;
        let warp = match &mut running {
            Some(warp) if warp.index as usize == index => &mut **warp,
            _ => &mut block.warps[index],
        };
        warp.waits_at = None;
        // At least one lane contributed to a reduction.
        pass(worker.context, warp, id, (barrier.reduced.1 != 0).then_some(barrier.reduced));
    }
}

/// Reports to the observers the lanes of a warp that ended instead of arriving at barrier `id`.
#[cold]
fn report_exited<O: Observer>(worker: &mut Worker<'_, O>, observed: &mut O::Block, warp: &Warp, id: u32) {
    let threads = worker.context.threads - warp.index * LANES as u32;
    let started = u32::MAX >> (LANES as u32 - threads.min(LANES as u32));
    let exited = started & !warp.live;
    let here = warp.splits.iter().find(|split| split.state == State::Barrier { id });
    if let Some(split) = here.filter(|_| exited != 0) {
        worker.observer.left_out(observed, warp.index, warp.site(split), exited);
    }
}

/// Moves a warp's lanes past barrier `id`, with the result of a reduction if there was one.
fn pass(context: &Context<'_>, warp: &mut Warp, id: u32, reduced: Option<(u32, u32)>) {
    if let (None, [split]) = (reduced, warp.splits.as_mut_slice())
        && split.state == (State::Barrier { id })
    {
        (split.state, split.pc) = (State::Ready, split.pc + 1);
        return;
    }
    for at in 0..warp.splits.len() {
        let split = warp.splits[at];
        if split.state != (State::Barrier { id }) {
            continue;
        }
        if let Some((holds, all)) = reduced
            && let Some(&BarrierKind::Reduce { op, destination, .. }) = kind(context, warp, &split)
        {
            let registers = &mut warp.frames[split.frame as usize].registers;
            let predicate = match op {
                BarrierReduce::Popc => {
                    let row = &mut registers.w32[destination as usize];
                    lanes::each(split.mask, |lane| row[lane] = holds);
                    None
                }
                BarrierReduce::And => Some(holds == all),
                BarrierReduce::Or => Some(holds != 0),
            };
            if let Some(predicate) = predicate {
                let row = &mut registers.pred[destination as usize];
                *row = *row & !split.mask | if predicate { split.mask } else { 0 };
            }
        }
        warp.splits[at].state = State::Ready;
        warp.splits[at].pc += 1;
    }
    if warp.splits.len() > 1
        && let Some(mut split) = warp.pick()
    {
        warp.absorb(&mut split);
        warp.splits.push(split);
    }
}

/// Checks an aligned barrier at which part of a warp waits.
pub fn check_alignment<B>(context: &Context<'_>, block: &Block<B>, warp: &Warp, here: u32) -> Result<(), Stop> {
    let at_barrier = |split: &&Split| matches!(split.state, State::Barrier { .. });
    let mut aligned = warp.splits.iter().filter(at_barrier).filter_map(|split| operands(context, warp, split));
    if here != 0 && aligned.any(|operands| operands.aligned) {
        return Err(divergence(context, block, warp, here));
    }
    Ok(())
}

fn divergence<B>(context: &Context<'_>, block: &Block<B>, warp: &Warp, here: u32) -> Stop {
    let at_barrier = |split: &&Split| matches!(split.state, State::Barrier { .. });
    let mut sites = warp.splits.iter().filter(at_barrier).map(|split| (warp.site(split), split.mask));
    let (site, first) = sites.next().unwrap_or((Site { function: 0, pc: 0 }, here));
    let missing = warp.live & !first;
    let title = format!(
        "barrier divergence: {} of warp {} reached the barrier, {} did not",
        lanes::describe(first),
        warp.index,
        lanes::describe(missing)
    );
    let mut diagnostic = Diagnostic::new("barrier-divergence", title);
    for (what, place) in context.whereabouts(warp, missing) {
        diagnostic.related.push((what, place));
    }
    diagnostic.help = Some("move the barrier out of the branch, so that all threads of the block reach it".to_owned());
    context.fault(block.who(warp, lanes::first(first), site), diagnostic)
}

/// Returns the kind of the barrier that a split is at.
fn kind<'c>(context: &Context<'c>, warp: &Warp, split: &Split) -> Option<&'c BarrierKind> {
    let function = warp.frames[split.frame as usize].function;
    match &context.program.functions[function as usize].code.get(split.pc as usize)?.op {
        Op::Barrier { kind, .. } => Some(kind),
        _ => None,
    }
}

fn operands(context: &Context<'_>, warp: &Warp, split: &Split) -> Option<Operands> {
    let frame = &warp.frames[split.frame as usize];
    let inst = context.program.functions[frame.function as usize].code.get(split.pc as usize)?;
    let Op::Barrier { aligned, id, count, kind } = inst.op else { return None };
    let value = |slot: u32| frame.registers.w32[slot as usize][lanes::first(split.mask)];
    Some(Operands { aligned, id: value(id), count: count.map(value), kind })
}

fn barrier_add(barrier: &mut Barrier, holds: u32, all: u32) {
    barrier.reduced.0 += holds.count_ones();
    barrier.reduced.1 += all.count_ones();
}

fn is_complete(barrier: &Barrier, live: u32) -> bool {
    match barrier.wanted {
        0 => barrier.arrived != 0 && live & !barrier.arrived == 0,
        wanted => barrier.threads >= wanted,
    }
}
