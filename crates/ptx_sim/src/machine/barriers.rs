//! Block barriers: `bar` and `barrier`, their arrival counts by warps, and warps that arrive in part.
//!
//! A barrier counts warps. A warp counts once all its live lanes have arrived at the same barrier. At an aligned
//! barrier they must arrive together at the same instruction; lanes that do not arrive are barrier divergence, which is
//! the program's fault.

use super::barrier::Barrier;
use super::block::{BARRIERS, Block};
use super::warp::{Split, State, Warp};
use super::worker::Worker;
use crate::lanes;
use crate::observe::{Observer, Site};
use crate::program::{BarrierKind, BarrierReduce, Op};
use crate::stop::{Diagnostic, Place, Stop, StopKind};

/// The operands of a barrier instruction.
#[derive(Clone, Copy)]
struct Operands {
    aligned: bool,
    id: u32,
    count: Option<u32>,
    kind: BarrierKind,
}

impl<O: Observer> Worker<'_, O> {
    /// Executes a barrier instruction for some lanes.
    ///
    /// # Errors
    /// A stop for barrier divergence, or an invalid barrier or thread count.
    pub fn barrier(
        &mut self,
        block: &mut Block<O::Block>,
        warp: &mut Warp,
        split: Split,
        site: Site,
    ) -> Result<(), Stop> {
        let Some(operands) = self.operands(warp, &split) else { return Ok(()) };
        let lane = lanes::first(split.mask);
        if operands.id as usize >= BARRIERS {
            let title = format!("barrier {} does not exist: a block has {BARRIERS}", operands.id);
            return Err(self.fault(block, warp.index, lane, site, "barrier-id", title));
        }
        if let Some(count) = operands.count.filter(|count| *count == 0 || count % 32 != 0) {
            let title = format!("a barrier for {count} threads: it must be a multiple of 32 and not 0");
            return Err(self.fault(block, warp.index, lane, site, "barrier-count", title));
        }
        warp.splits.push(Split { state: State::Barrier { id: operands.id }, ..split });
        match split.mask == warp.live {
            true if matches!(operands.kind, BarrierKind::Sync) => self.come_with(block, warp, &split, operands),
            true => self.come(block, warp, operands.id),
            false => Ok(()),
        }
    }

    /// All live lanes of a warp arrive together at a barrier that is unused or waits for all warps.
    pub fn wait(&mut self, block: &mut Block<O::Block>, warp: &mut Warp, split: Split, id: u32) {
        warp.splits.push(Split { state: State::Barrier { id }, ..split });
        warp.waits_at = Some(id);
        let barrier = &mut block.barriers[id as usize];
        barrier.arrived |= 1 << warp.index;
        barrier.waiting |= 1 << warp.index;
        barrier.threads += 32;
        if complete(barrier, block.live) {
            self.complete(block, Some(warp), id);
        }
    }

    /// Called when no split of a warp can run: counts the warp at a barrier, completes `*.sync` instructions, or
    /// releases lanes that wait for lanes which do not arrive. Returns false if the warp has to wait for others.
    ///
    /// # Errors
    /// A stop for barrier divergence, or an invalid barrier or thread count.
    pub fn unblock(&mut self, block: &mut Block<O::Block>, warp: &mut Warp) -> Result<bool, Stop> {
        if warp.waits_at.is_some() {
            return Ok(false);
        }
        if self.meet_parked(block, warp)? {
            return Ok(true);
        }
        let mut here = 0;
        let mut id = None;
        let mut same = true;
        for split in &warp.splits {
            if let State::Barrier { id: other } = split.state {
                same &= id.is_none_or(|id| id == other);
                (here, id) = (here | split.mask, Some(other));
            }
        }
        if let Some(id) = id {
            if here == warp.live && same {
                self.come(block, warp, id)?;
                return Ok(warp.splits.iter().any(|split| split.state == State::Ready));
            }
            if !warp.broken {
                self.check_alignment(block, warp, here)?;
            }
        }
        if warp.joins.iter().any(|join| join.arrived != 0) {
            self.note_missing(block, warp);
            return Ok(warp.release(None));
        }
        self.check_alignment(block, warp, here)?;
        Ok(false)
    }

    /// Completes barriers without a thread count that waited only for warps that have ended.
    ///
    /// # Errors
    /// A stop for barrier divergence, or an invalid barrier or thread count.
    pub fn barriers_after_exit(&mut self, block: &mut Block<O::Block>) -> Result<(), Stop> {
        for id in 0..BARRIERS as u32 {
            if complete(&block.barriers[id as usize], block.live) {
                self.complete(block, None, id);
            }
        }
        Ok(())
    }

    /// Counts a warp all of whose live lanes are at barrier `id`.
    fn come(&mut self, block: &mut Block<O::Block>, warp: &mut Warp, id: u32) -> Result<(), Stop> {
        let parked = || warp.splits.iter().filter(|split| split.state == State::Barrier { id });
        let Some(first) = parked().next().copied() else { return Ok(()) };
        let Some(operands) = self.operands(warp, &first) else { return Ok(()) };
        let together = parked().all(|split| (split.frame, split.pc) == (first.frame, first.pc));
        if operands.aligned && !together {
            return Err(self.divergence(block, warp, first.mask));
        }
        self.come_with(block, warp, &first, operands)
    }

    /// Counts a warp, one of whose splits is `first`, at the barrier of `operands`.
    fn come_with(
        &mut self,
        block: &mut Block<O::Block>,
        warp: &mut Warp,
        first: &Split,
        operands: Operands,
    ) -> Result<(), Stop> {
        let (id, site) = (operands.id, self.site(warp, first));
        let (bit, lane) = (1 << warp.index, lanes::first(first.mask));
        let wanted = operands.count.unwrap_or(0);
        let barrier = &mut block.barriers[id as usize];
        if barrier.arrived != 0 && barrier.wanted != wanted {
            let other = barrier.wanted;
            let words = |n: u32| if n == 0 { "all threads".to_owned() } else { format!("{n} threads") };
            let title =
                format!("barrier {id} is used with {} and with {} at the same time", words(other), words(wanted));
            return Err(self.fault(block, warp.index, lane, site, "barrier-count", title));
        }
        barrier.wanted = wanted;
        barrier.arrived |= bit;
        barrier.threads += 32;
        let waits = !matches!(operands.kind, BarrierKind::Arrive);
        let plain = warp.splits.len() == 1 && matches!(operands.kind, BarrierKind::Sync);
        let parked = warp.splits.iter().filter(|split| !plain && split.state == State::Barrier { id });
        for split in parked {
            if let Some(&BarrierKind::Reduce { source, negated, .. }) = self.kind(warp, split) {
                let row = warp.frames[split.frame as usize].registers.pred[source as usize];
                let holds = split.mask & if negated { !row } else { row };
                barrier_add(&mut block.barriers[id as usize], holds, split.mask);
            }
        }
        if waits {
            block.barriers[id as usize].waiting |= bit;
            warp.waits_at = Some(id);
        } else {
            self.observer.arrive(&mut block.observed, warp.index, id);
            self.pass(warp, id, Some((0, 0)));
        }
        if complete(&block.barriers[id as usize], block.live) {
            self.complete(block, Some(warp), id);
        }
        Ok(())
    }

    /// Releases all waiting warps. `running` has been taken out of the block.
    fn complete(&mut self, block: &mut Block<O::Block>, mut running: Option<&mut Warp>, id: u32) {
        let barrier = std::mem::take(&mut block.barriers[id as usize]);
        self.observer.barrier(&mut block.observed, id, barrier.arrived, barrier.waiting);
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
            self.pass(warp, id, (barrier.reduced.1 != 0).then_some(barrier.reduced));
        }
    }

    /// Moves a warp's lanes past barrier `id`, with the result of a reduction if there was one.
    fn pass(&self, warp: &mut Warp, id: u32, reduced: Option<(u32, u32)>) {
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
                && let Some(&BarrierKind::Reduce { op, destination, .. }) = self.kind(warp, &split)
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
    fn check_alignment(&self, block: &Block<O::Block>, warp: &Warp, here: u32) -> Result<(), Stop> {
        let at_barrier = |split: &&Split| matches!(split.state, State::Barrier { .. });
        let mut aligned = warp.splits.iter().filter(at_barrier).filter_map(|split| self.operands(warp, split));
        if here != 0 && aligned.any(|operands| operands.aligned) {
            return Err(self.divergence(block, warp, here));
        }
        Ok(())
    }

    fn divergence(&self, block: &Block<O::Block>, warp: &Warp, here: u32) -> Stop {
        let at_barrier = |split: &&Split| matches!(split.state, State::Barrier { .. });
        let mut sites = warp.splits.iter().filter(at_barrier).map(|split| (self.site(warp, split), split.mask));
        let (site, first) = sites.next().unwrap_or((Site { function: 0, pc: 0 }, here));
        let missing = warp.live & !first;
        let title = format!(
            "barrier divergence: {} of warp {} reached the barrier, {} did not",
            lanes::describe(first),
            warp.index,
            lanes::describe(missing)
        );
        let mut diagnostic = Diagnostic::new("barrier-divergence", title);
        for (what, place) in self.whereabouts(warp, missing) {
            diagnostic.related.push((what, place));
        }
        diagnostic.help =
            Some("move the barrier out of the branch, so that all threads of the block reach it".to_owned());
        self.stop(StopKind::Fault, block, warp.index, lanes::first(first), site, diagnostic)
    }

    /// Describes the positions of the lanes in a mask, for reports.
    pub fn whereabouts(&self, warp: &Warp, mask: u32) -> Vec<(String, Place)> {
        let place = |site: Site| Place::of(self.context.program, site.function, site.pc);
        let mut found = Vec::new();
        for split in warp.splits.iter().filter(|split| split.mask & mask != 0) {
            let what = match split.state {
                State::Ready => "running, here or after this place".to_owned(),
                State::Barrier { id } => format!("at barrier {id}"),
                State::ClusterBarrier => "at the cluster barrier".to_owned(),
                State::Collective { mask, .. } => format!("waiting for {}", lanes::describe(mask & warp.live)),
            };
            let who = lanes::describe(split.mask & mask);
            found.push((format!("{who} of warp {}: {what}", warp.index), place(self.site(warp, split))));
        }
        for join in warp.joins.iter().filter(|join| join.arrived & mask != 0) {
            let function = warp.frames[join.frame as usize].function;
            let who = lanes::describe(join.arrived & mask);
            let what = format!("{who} of warp {}: past the branch, at the reconvergence point", warp.index);
            found.push((what, place(Site { function, pc: join.pc })));
        }
        found
    }

    /// Returns the instruction that a split is at.
    pub fn site(&self, warp: &Warp, split: &Split) -> Site {
        Site { function: warp.frames[split.frame as usize].function, pc: split.pc }
    }

    /// Returns the kind of the barrier that a split is at.
    fn kind(&self, warp: &Warp, split: &Split) -> Option<&BarrierKind> {
        let function = warp.frames[split.frame as usize].function;
        match &self.context.program.functions[function as usize].code.get(split.pc as usize)?.op {
            Op::Barrier { kind, .. } => Some(kind),
            _ => None,
        }
    }

    fn operands(&self, warp: &Warp, split: &Split) -> Option<Operands> {
        let frame = &warp.frames[split.frame as usize];
        let inst = self.context.program.functions[frame.function as usize].code.get(split.pc as usize)?;
        let Op::Barrier { aligned, id, count, kind } = inst.op else { return None };
        let value = |slot: u32| frame.registers.w32[slot as usize][lanes::first(split.mask)];
        Some(Operands { aligned, id: value(id), count: count.map(value), kind })
    }
}

fn barrier_add(barrier: &mut Barrier, holds: u32, all: u32) {
    barrier.reduced.0 += holds.count_ones();
    barrier.reduced.1 += all.count_ones();
}

fn complete(barrier: &Barrier, live: u32) -> bool {
    match barrier.wanted {
        0 => barrier.arrived != 0 && live & !barrier.arrived == 0,
        wanted => barrier.threads >= wanted,
    }
}
