//! Blocks that are recorded instruction by instruction.

use super::Trace;
use crate::observe::{AccessKind, BlockShape, Bypass, Site, Touch};
use crate::program::{Order, Space};
use crate::registers::LANES;

/// Bytes per sector.
const SECTOR: u64 = 32;

/// A recorded block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlockTrace {
    /// Number of the block, `%ctaid.x` fastest.
    pub number: u64,
    /// Its warps.
    pub warps: Vec<WarpTrace>,
}

/// Recorded instructions of one warp.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WarpTrace {
    /// Instructions in order of execution.
    pub steps: Vec<Step>,
    /// Sectors of global memory that the steps access, by number: the address over 32.
    pub sectors: Vec<u64>,
    /// Number of instructions executed, recorded or not.
    pub total: u64,
}

/// One instruction executed by one warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Step {
    /// Index into `Program::functions`.
    pub function: u32,
    /// Index into `Function::code`.
    pub pc: u32,
    /// Active lanes.
    pub lanes: u32,
    /// Wavefronts (shared memory) or sectors (global memory); 0 for other instructions.
    pub units: u32,
    /// State space that the instruction accessed; `None` if it accessed none of the three.
    pub space: Option<Space>,
    /// Bytes that the lanes access in global memory.
    pub bytes: u32,
    /// Its sectors, as a range of [`WarpTrace::sectors`].
    pub sectors: (u32, u32),
    effect: Effect,
}

/// What an access means for the search for polls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Effect {
    /// Nothing.
    #[default]
    None,
    /// A load that may see another thread's store: a loop of these alone waits for that thread.
    Polls,
    /// A change of memory.
    Changes,
}

impl Step {
    fn add(&mut self, access: &Access) {
        self.effect = self.effect.max(access.effect);
        self.units = access.units + if self.space == Some(access.space) { self.units } else { 0 };
        self.space = Some(access.space);
        self.bytes += access.bytes;
        self.sectors = match self.sectors {
            (_, 0) => access.sectors,
            (first, count) => (first, count + access.sectors.1),
        };
    }
}

/// An access whose instruction is not recorded yet.
#[derive(Clone, Copy, Debug)]
struct Access {
    pc: u32,
    space: Space,
    units: u32,
    bytes: u32,
    sectors: (u32, u32),
    effect: Effect,
}

impl Trace {
    /// Whether a block is recorded.
    pub(super) fn records(&self, shape: &BlockShape) -> bool {
        let blocks: u64 = shape.grid.iter().map(|&n| u64::from(n)).product();
        let every = u64::from(self.every.max(1));
        let before = shape.ticket / every * u64::from(shape.warps);
        let chosen = shape.ticket.is_multiple_of(every) && before + u64::from(shape.warps) <= u64::from(self.warps);
        chosen || shape.ticket == 0 || shape.ticket + 1 == blocks
    }
}

/// State of a recorded block while it runs: its warps, and their accesses since their last instructions were recorded.
#[derive(Debug)]
pub(crate) struct Recording {
    number: u64,
    most: usize,
    warps: Vec<WarpTrace>,
    accesses: Vec<Vec<Access>>,
    /// For each warp, the steps since its last change of memory that may be polls.
    polls: Vec<Vec<usize>>,
}

impl Recording {
    pub(super) fn new(shape: &BlockShape, most: u32) -> Self {
        let warps = shape.warps as usize;
        Self {
            number: shape.ticket,
            most: most as usize,
            warps: vec![WarpTrace::default(); warps],
            accesses: vec![Vec::new(); warps],
            polls: vec![Vec::new(); warps],
        }
    }

    pub(super) fn finish(self) -> BlockTrace {
        BlockTrace { number: self.number, warps: self.warps }
    }

    pub(super) fn ran(&mut self, warp: u32, from: Site, end: u32, active: u32) {
        let (Some(trace), Some(accesses)) = (self.warps.get_mut(warp as usize), self.accesses.get_mut(warp as usize))
        else {
            return;
        };
        let poll = &mut self.polls[warp as usize];
        // A copy writes when it is waited for, long after its instruction.
        let mut pending = accesses.iter().filter(|access| (from.pc..end).contains(&access.pc)).peekable();
        for pc in from.pc..end {
            trace.total += 1;
            let function = from.function;
            let mut step = Step {
                function,
                pc,
                lanes: active,
                units: 0,
                space: None,
                bytes: 0,
                sectors: (0, 0),
                effect: Effect::None,
            };
            while let Some(access) = pending.next_if(|access| access.pc == pc) {
                step.add(access);
            }
            if trace.steps.len() < self.most {
                trace.steps.push(step);
                drop_repeated(trace, poll);
            }
        }
        accesses.clear();
    }

    pub(super) fn touch(&mut self, touch: &Touch<'_>, units: u32) {
        let Some(trace) = self.warps.get_mut(touch.warp as usize) else { return };
        let first = trace.sectors.len() as u32;
        let mut bytes = 0;
        if touch.space == Space::Global && trace.steps.len() < self.most {
            trace.sectors.extend(sectors_of(touch));
            bytes = touch.bytes * touch.mask.count_ones();
        }
        let sectors = (first, trace.sectors.len() as u32 - first);
        let effect = match touch.kind {
            AccessKind::Load if touch.order == Order::Weak => Effect::None,
            AccessKind::Load => Effect::Polls,
            AccessKind::Store | AccessKind::Atomic | AccessKind::Discard => Effect::Changes,
        };
        let access = Access { pc: touch.site.pc, space: touch.space, units, bytes, sectors, effect };
        if let Some(step) = last(trace, touch.site, touch.mask) {
            step.add(&access);
            drop_repeated(trace, &mut self.polls[touch.warp as usize]);
        } else if let Some(accesses) = self.accesses.get_mut(touch.warp as usize) {
            accesses.push(access);
        }
    }

    pub(super) fn bypass(&mut self, past: &Bypass<'_>, taken: u32) {
        let trace = self.warps.get_mut(past.warp as usize);
        if let Some(step) = trace.and_then(|trace| last(trace, past.site, past.mask)) {
            step.units = taken;
        }
    }
}

/// Drops the rounds of a loop that waits for another thread, except the first: how many there are depends on the order
/// in which the simulator runs the blocks. The last step was just recorded, or has just got its access.
fn drop_repeated(trace: &mut WarpTrace, polls: &mut Vec<usize>) {
    let Some(step) = trace.steps.last().copied() else { return };
    let at = trace.steps.len() - 1;
    match step.effect {
        Effect::None => {}
        Effect::Changes => polls.clear(),
        Effect::Polls => {
            let of = |step: &Step| &trace.sectors[step.sectors.0 as usize..(step.sectors.0 + step.sectors.1) as usize];
            let same = |earlier: &usize| {
                let before = &trace.steps[*earlier];
                let place = (before.function, before.pc) == (step.function, step.pc);
                *earlier < at && place && of(&step).iter().all(|sector| of(before).contains(sector))
            };
            match polls.iter().position(same) {
                Some(found) => {
                    trace.total -= (at - polls[found]) as u64;
                    trace.steps.truncate(polls[found] + 1);
                    polls.truncate(found + 1);
                }
                None => polls.push(at),
            }
        }
    }
}

/// Returns the last recorded step of a warp if it is this instruction: an instruction that ends a run accesses memory
/// after the run was reported. Other lanes may be about to execute the same instruction.
fn last(trace: &mut WarpTrace, site: Site, mask: u32) -> Option<&mut Step> {
    let step = trace.steps.last_mut()?;
    ((step.function, step.pc) == (site.function, site.pc) && step.lanes & mask != 0).then_some(step)
}

/// Returns the sectors of an access, each once, in order.
fn sectors_of(touch: &Touch<'_>) -> Vec<u64> {
    let last = u64::from(touch.bytes.max(1)) - 1;
    let mut sectors = Vec::with_capacity(LANES);
    crate::lanes::each(touch.mask, |lane| {
        let address = touch.addresses[lane];
        sectors.extend(address / SECTOR..=address.saturating_add(last) / SECTOR);
    });
    sectors.sort_unstable();
    sectors.dedup();
    sectors
}
