//! `*.sync` instructions: lanes wait for the other live lanes of their mask, and then execute together.

use super::block::Block;
use super::context::Context;
use super::matrix;
use super::position::At;
use super::step::Step;
use super::warp::{Split, State, Warp};
use super::worker::Worker;
use crate::lanes;
use crate::level::Host;
use crate::observe::{Meeting, Observer, Shadow};
use crate::program::{Collective, Op, Shuffle};
use crate::registers::{Args, LANES, Registers};
use crate::stop::{Diagnostic, Stop};

/// Executes the instruction if all lanes of the mask are present, the usual case. Otherwise returns false without
/// any effect.
///
/// # Errors
/// A stop if the mask excludes an executing lane, or lanes are missing.
#[inline]
pub fn execute_together<O: Observer>(
    step: &mut Step<'_, '_, O>,
    registers: &mut Registers,
    op: &Op,
) -> Result<bool, Stop> {
    let Op::Collective { kind, mask: named, run, args } = op else { return Ok(false) };
    let row = &registers.w32[*named as usize];
    let named = row[lanes::first(step.mask)];
    if named & step.warp.live != step.mask || lanes::select(step.mask, |lane| row[lane] != named) != 0 {
        return Ok(false);
    }
    let mask = step.mask;
    check_sources(step, registers, *kind, args);
    if O::Shadow::ON {
        let (shadow, mut scene) = step.shadow();
        shadow.meet(&mut scene, registers, Meeting { kind: *kind, run, args }, mask);
    }
    step.context().setup.level.run(run, registers, mask, args);
    if kind.orders_memory() {
        step.worker.observer.meet(&mut step.block.observed, step.warp.index, mask, step.warp.live);
    }
    Ok(true)
}

/// Lets lanes wait at a `*.sync` instruction for the other lanes of their mask.
///
/// # Errors
/// A stop if the mask excludes an executing lane, or lanes are missing.
pub fn execute<O: Observer>(step: &mut Step<'_, '_, O>, split: Split) -> Result<(), Stop> {
    let Some((kind, named, ..)) = parts(step.context(), step.warp, &split) else { return Ok(()) };
    let row = step.warp.frames[split.frame as usize].registers.w32[named as usize];
    let excluded = lanes::select(split.mask, |lane| row[lane] >> lane & 1 == 0);
    if excluded != 0 {
        let lane = lanes::first(excluded);
        let title = format!("lane {lane} executes a `*.sync` instruction whose mask {:#010x} excludes it", row[lane]);
        return Err(step.fault(lane, "not-in-mask", title));
    }
    let mut rest = split.mask;
    let whole = row[lanes::first(rest)];
    let join = if lanes::select(rest, |lane| row[lane] != whole) == 0 {
        split.join
    } else {
        step.warp.open_join(split.frame, split.pc + 1, split.join, split.mask)
    };
    while rest != 0 {
        let mask = row[lanes::first(rest)];
        let group = lanes::select(rest, |lane| row[lane] == mask);
        step.warp.splits.push(Split { mask: group, join, state: State::Collective { mask, kind }, ..split });
        rest &= !group;
    }
    meet_parked(step.worker, step.block, step.warp)?;
    Ok(())
}

/// Executes every `*.sync` at which all lanes of its mask have arrived. Returns whether there was one.
///
/// # Errors
/// A stop if the mask excludes an executing lane, or lanes are missing.
pub fn meet_parked<O: Observer>(
    worker: &mut Worker<'_, O>,
    block: &mut Block<O::Block>,
    warp: &mut Warp,
) -> Result<bool, Stop> {
    let mut any = false;
    let mut at = 0;
    while at < warp.splits.len() {
        let state = warp.splits[at].state;
        at += 1;
        let State::Collective { mask, .. } = state else { continue };
        let same = || warp.splits.iter().filter(|split| split.state == state);
        let came = same().fold(0, |came, split| came | split.mask);
        if mask & warp.live & !came != 0 {
            continue;
        }
        let group: Vec<Split> = same().copied().collect();
        warp.splits.retain(|split| split.state != state);
        meet_group(worker, block, warp, &group, came)?;
        any = true;
        at = 0;
    }
    Ok(any)
}

/// Executes a `*.sync` after all lanes of its mask have arrived, possibly at different instructions or in different
/// frames.
fn meet_group<O: Observer>(
    worker: &mut Worker<'_, O>,
    block: &mut Block<O::Block>,
    warp: &mut Warp,
    group: &[Split],
    came: u32,
) -> Result<(), Stop> {
    if let Some(State::Collective { kind: Collective::Matrix, .. }) = group.first().map(|split| split.state) {
        return matrix::meet(worker, block, warp, group, came);
    }
    // Every split computes its own result on a copy of its registers that includes the other lanes' operands,
    // before any result is written back.
    let mut results = Vec::with_capacity(group.len());
    for split in group {
        let Some((kind, _, run, args)) = parts(worker.context, warp, split) else { continue };
        let mut copy = warp.frames[split.frame as usize].registers.clone();
        for other in group {
            let Some((_, _, _, theirs)) = parts(worker.context, warp, other) else { continue };
            let from = &warp.frames[other.frame as usize].registers;
            for (to, source) in args.s.iter().zip(theirs.s) {
                copy_lanes(from, source, &mut copy, *to, other.mask);
            }
        }
        let at = At { site: warp.site(split), frame: split.frame };
        let step = &mut Step { worker: &mut *worker, block: &mut *block, warp: &mut *warp, mask: came, at };
        check_sources(step, &copy, kind, &args);
        if O::Shadow::ON {
            let (shadow, mut scene) = step.shadow();
            let meeting = Meeting { kind, run: &run, args: &args };
            shadow.meet(&mut scene, &mut copy, meeting, came);
        }
        worker.context.setup.level.run(&run, &mut copy, came, &args);
        results.push((split, args, copy));
    }
    for (split, args, copy) in results {
        for slot in args.d {
            copy_lanes(&copy, slot, &mut warp.frames[split.frame as usize].registers, slot, split.mask);
        }
    }
    for split in group {
        warp.splits.push(Split { state: State::Ready, pc: split.pc + 1, ..*split });
    }
    if let Some(mut split) = warp.pick() {
        warp.absorb(&mut split);
        warp.splits.push(split);
    }
    if matches!(group.first(), Some(Split { state: State::Collective { kind, .. }, .. }) if kind.orders_memory()) {
        worker.observer.meet(&mut block.observed, warp.index, came, warp.live);
    }
    Ok(())
}

/// Reports lanes that the mask of a `*.sync` names when they are released past the branch that contains it:
/// hardware may hang in this case.
pub fn note_missing<O: Observer>(worker: &mut Worker<'_, O>, block: &Block<O::Block>, warp: &Warp) {
    if warp.broken {
        return;
    }
    for split in &warp.splits {
        let State::Collective { mask, .. } = split.state else { continue };
        let same = warp.splits.iter().filter(|other| other.state == split.state);
        let came = same.fold(0, |came, other| came | other.mask);
        let missing = mask & warp.live & !came;
        let related = worker.context.whereabouts(warp, missing);
        let site = warp.site(split);
        worker.finding(block.who(warp, lanes::first(split.mask), site), "missing-lanes", || {
            let title = format!(
                "the mask {mask:#010x} names {}, but only {} arrived",
                lanes::describe(mask & warp.live),
                lanes::describe(came)
            );
            let mut diagnostic = Diagnostic::new("missing-lanes", title);
            diagnostic.related = related;
            let help = "name only lanes that reach the instruction, or move it out of the branch";
            diagnostic.help = Some(help.to_owned());
            diagnostic
        });
    }
}

/// Reports a shuffle that reads from a lane which does not participate.
#[inline]
fn check_sources<O: Observer>(step: &mut Step<'_, '_, O>, registers: &Registers, kind: Collective, args: &Args) {
    let (Collective::Shuffle(mode), came) = (kind, step.mask) else { return };
    if came == u32::MAX {
        return;
    }
    let (amounts, bounds) = (&registers.w32[args.s[1] as usize], &registers.w32[args.s[2] as usize]);
    let source = |lane: usize| shuffle_source(mode, lane as u32, amounts[lane], bounds[lane]);
    let wrong = lanes::select(came, |lane| source(lane).is_some_and(|from| came >> from & 1 == 0));
    if wrong == 0 {
        return;
    }
    let lane = lanes::first(wrong);
    let from = source(lane).unwrap_or_default();
    step.finding(lane, "shuffle-source", || {
        let title = format!(
            "lane {lane} reads from lane {from}, which does not participate: the value is \
            undefined"
        );
        let mut diagnostic = Diagnostic::new("shuffle-source", title);
        diagnostic.notes.push(format!("{} participated", lanes::describe(came)));
        diagnostic
    });
}

fn parts(context: &Context<'_>, warp: &Warp, split: &Split) -> Option<(Collective, u32, crate::registers::Pure, Args)> {
    let frame = &warp.frames[split.frame as usize];
    let code = &context.program.functions[frame.function as usize].code;
    match &code.get(split.pc as usize)?.op {
        Op::Collective { kind, mask, run, args } => Some((*kind, *mask, *run, *args)),
        _ => None,
    }
}

/// The register file of a row depends on the instruction, so lanes are copied in every file that has such a row.
fn copy_lanes(from: &Registers, source: u32, to: &mut Registers, destination: u32, mask: u32) {
    fn rows<T: Copy>(from: &[[T; LANES]], source: u32, to: &mut [[T; LANES]], destination: u32, mask: u32) {
        if let (Some(from), Some(to)) = (from.get(source as usize), to.get_mut(destination as usize)) {
            lanes::each(mask, |lane| to[lane] = from[lane]);
        }
    }
    rows(&from.w32, source, &mut to.w32, destination, mask);
    rows(&from.w64, source, &mut to.w64, destination, mask);
    if let (Some(from), Some(to)) = (from.pred.get(source as usize), to.pred.get_mut(destination as usize)) {
        *to = *to & !mask | from & mask;
    }
    if let (Some(theirs), Some(shadow)) = (from.shadow.as_deref(), to.shadow.as_deref_mut()) {
        let (read, written) = (theirs.any_file(source), shadow.any_file(destination));
        for (read, written) in read.zip(written).collect::<Vec<_>>() {
            lanes::each(mask, |lane| shadow.copy_lane(written, theirs, read, lane));
        }
    }
}

/// Returns the lane that a shuffle reads; `None` outside the segment, where a lane keeps its own value. PTX ISA,
/// `shfl.sync`.
fn shuffle_source(mode: Shuffle, lane: u32, amount: u32, bounds: u32) -> Option<u32> {
    let (amount, clamp, segment) = (amount & 31, bounds & 31, bounds >> 8 & 31);
    let last = (lane & segment) | (clamp & !segment);
    match mode {
        Shuffle::Up => lane.checked_sub(amount).filter(|from| *from >= last),
        Shuffle::Down => Some(lane + amount).filter(|from| *from <= last),
        Shuffle::Bfly => Some(lane ^ amount).filter(|from| *from <= last),
        Shuffle::Idx => Some((lane & segment) | (amount & !segment)).filter(|from| *from <= last),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shuffles_stay_in_their_segment() {
        assert_eq!(shuffle_source(Shuffle::Down, 3, 16, 31), Some(19));
        assert_eq!(shuffle_source(Shuffle::Down, 20, 16, 31), None);
        assert_eq!(shuffle_source(Shuffle::Up, 3, 4, 0), None);
        assert_eq!(shuffle_source(Shuffle::Idx, 17, 2, 0x101f), Some(18));
        assert_eq!(shuffle_source(Shuffle::Bfly, 5, 1, 31), Some(4));
    }
}
