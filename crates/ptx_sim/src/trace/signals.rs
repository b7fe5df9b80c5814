//! What the recorded instructions of a warp do to mbarriers, and their bulk copies.
//!
//! A copy becomes known in two parts: the instruction when it is issued, and the memory that it moves and the phase
//! that it signals when the simulator carries it out, which may be much later. Copies of one instruction by one warp
//! are carried out in the order in which they were issued.

use super::footprint::SECTOR;
use crate::observe::{AccessKind, Completes, Range, Site, Variable};
use crate::program::Space;

/// A phase of an mbarrier of the block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Phase {
    /// Offset of the mbarrier in shared memory.
    pub address: u64,
    /// Number of complete phases before it.
    pub number: u64,
}

/// What an instruction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Act {
    /// It arrives at the phase.
    Arrives,
    /// It waited until the phase was complete.
    Waits,
    /// It copies; the phase waits for the bytes. Without a phase, the copy belongs to a bulk group.
    Copies,
}

/// An act of a recorded instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Signal {
    /// Index of the instruction in [`WarpTrace::steps`](super::WarpTrace::steps).
    pub step: u32,
    /// The act.
    pub act: Act,
    /// The phase, if it belongs to the block's own shared memory.
    pub phase: Option<Phase>,
    /// Global memory that a copy reads: first sectors and their numbers.
    pub reads: Vec<(u64, u64)>,
    /// Global memory that a copy writes.
    pub writes: Vec<(u64, u64)>,
}

/// A copy of which not all is known yet.
#[derive(Clone, Copy, Debug)]
struct Open {
    site: Site,
    warp: u32,
    /// Its index among the warp's signals.
    signal: usize,
    started: bool,
}

/// The copies of a block that were issued and not carried out, and the one that is carried out now.
#[derive(Debug, Default)]
pub(super) struct Signals {
    open: Vec<Open>,
    /// Whether the next release belongs to a copy, and if that signals an mbarrier of the block, the copy.
    current: Option<Option<Open>>,
}

impl Signals {
    /// A warp issues a copy, which may be announced for each of its ranges.
    /// `step` is the index of the warp's last instruction, if that was recorded.
    pub fn issue(&mut self, signals: &mut Vec<Signal>, step: Option<u32>, range: &Range) {
        if matches!(range.completes, Completes::Warpgroup { .. }) {
            return;
        }
        let Some(step) = step else { return };
        if signals.last().is_some_and(|last| last.step == step && last.act == Act::Copies) {
            return;
        }
        self.open.push(Open { site: range.site, warp: range.warp, signal: signals.len(), started: false });
        signals.push(Signal { step, act: Act::Copies, phase: None, reads: Vec::new(), writes: Vec::new() });
    }

    /// A copy of the block with this number accesses memory.
    pub fn range(&mut self, signals: &mut [Signal], block: u64, range: &Range) {
        let owner = match range.completes {
            Completes::Mbarrier { owner, .. } => Some(owner),
            Completes::Group => None,
            Completes::Warpgroup { .. } => return,
        };
        if owner.is_some_and(|owner| owner != block) {
            // The copy for another block of the cluster.
            self.current = Some(None);
            return;
        }
        let of = |open: &Open| (open.site, open.warp) == (range.site, range.warp);
        if owner.is_none() && range.kind == AccessKind::Load {
            // The copy before is complete: nothing else says so.
            if let Some(before) = self.open.iter().position(|open| of(open) && open.started) {
                self.open.remove(before);
            }
        }
        let found = self.open.iter_mut().find(|open| of(open));
        if owner.is_some() {
            self.current = Some(found.as_deref().copied());
        }
        let Some(open) = found else { return };
        open.started = true;
        let Some(signal) = signals.get_mut(open.signal).filter(|_| range.space == Space::Global) else { return };
        let first = range.start / SECTOR;
        let count = (range.start + range.bytes.max(1) - 1) / SECTOR - first + 1;
        if range.kind == AccessKind::Load { &mut signal.reads } else { &mut signal.writes }.push((first, count));
    }

    /// A warp, or one of its copies, contributes to a phase.
    pub fn release(&mut self, signals: &mut Vec<Signal>, step: Option<u32>, block: u64, variable: Variable) {
        let Some(phase) = own(variable, block) else {
            self.current = None;
            return;
        };
        match self.current.take() {
            Some(Some(copy)) => {
                self.open.retain(|open| (open.warp, open.signal) != (copy.warp, copy.signal));
                if let Some(signal) = signals.get_mut(copy.signal) {
                    signal.phase = Some(phase);
                }
            }
            Some(None) => {}
            None => add(signals, step, Act::Arrives, phase),
        }
    }
}

/// A warp has waited for a phase.
pub(super) fn acquire(signals: &mut Vec<Signal>, step: Option<u32>, block: u64, variable: Variable) {
    if let Some(phase) = own(variable, block) {
        add(signals, step, Act::Waits, phase);
    }
}

/// The phase of an mbarrier of this block.
fn own(variable: Variable, block: u64) -> Option<Phase> {
    match variable {
        Variable::Mbarrier { owner, address, phase } if owner == block => Some(Phase { address, number: phase }),
        _ => None,
    }
}

/// Adds an act of the last instruction, once for all its lanes.
fn add(signals: &mut Vec<Signal>, step: Option<u32>, act: Act, phase: Phase) {
    let Some(step) = step else { return };
    let phase = Some(phase);
    if !signals.last().is_some_and(|last| (last.step, last.act, last.phase) == (step, act, phase)) {
        signals.push(Signal { step, act, phase, reads: Vec::new(), writes: Vec::new() });
    }
}
