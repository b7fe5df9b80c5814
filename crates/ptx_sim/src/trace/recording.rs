//! Blocks that are recorded instruction by instruction.

use super::footprint::SECTOR;
use super::polls::{Effect, Poll, repeats};
use super::recorded::Why;
use super::signals::{Signal, Signals, acquire};
use crate::observe::{AccessKind, BlockShape, Bypass, Range, Site, Touch, Variable};
use crate::program::{Order, Space};
use crate::registers::LANES;

/// A recorded block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlockTrace {
    /// Number of the block, `%ctaid.x` fastest.
    pub number: u64,
    /// Its warps.
    pub warps: Vec<WarpTrace>,
}

impl BlockTrace {
    /// Number of instructions that its warps executed.
    pub fn instructions(&self) -> u64 {
        self.warps.iter().map(|warp| warp.total).sum()
    }

    /// The block as if its warps had ended after this part of their instructions.
    pub fn up_to(&self, part: f64) -> Self {
        let cut = |warp: &WarpTrace| {
            let total = (warp.total as f64 * part).ceil() as u64;
            let steps = warp.steps[..warp.steps.len().min(total as usize)].to_vec();
            let signals = warp.signals.iter().filter(|signal| (signal.step as usize) < steps.len());
            WarpTrace {
                sectors: warp.sectors.clone(),
                signals: signals.cloned().collect(),
                total,
                full: steps.len() < total as usize,
                steps,
            }
        };
        Self { number: self.number, warps: self.warps.iter().map(cut).collect() }
    }
}

/// Recorded instructions of one warp.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WarpTrace {
    /// Instructions in order of execution.
    pub steps: Vec<Step>,
    /// Sectors of global memory that the steps access, by number: the address over 32.
    pub sectors: Vec<u64>,
    /// What the steps do to mbarriers, and their bulk copies, in order of the steps.
    pub signals: Vec<Signal>,
    /// Number of instructions executed, recorded or not.
    pub total: u64,
    /// Whether there were more instructions than are recorded.
    full: bool,
}

impl WarpTrace {
    /// Index of the last instruction, if it was recorded.
    fn last_step(&self) -> Option<u32> {
        let last = self.steps.len().checked_sub(1).filter(|_| !self.full)?;
        Some(last as u32)
    }
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
    /// Passes over the banks: of an atomic on shared memory if lanes at the same word are combined first, and of a load
    /// from global memory over those of the first-level cache; 0 for other instructions.
    pub passes: u32,
    /// State space that the instruction accessed; `None` if it accessed none of the three.
    pub space: Option<Space>,
    /// Bytes that the lanes access in this space.
    pub bytes: u32,
    /// Its sectors, as a range of [`WarpTrace::sectors`].
    pub sectors: (u32, u32),
    effect: Effect,
    /// Sum of the lanes' addresses, by which repeated polls are known.
    place: u64,
}

impl Step {
    /// Whether it loads from global memory what another thread may have stored meanwhile.
    pub fn awaits(&self) -> bool {
        self.effect == Effect::Polls && self.space == Some(Space::Global)
    }

    fn add(&mut self, access: &Access) {
        self.effect = self.effect.max(access.effect);
        self.place = self.place.wrapping_add(access.place);
        if self.space != Some(access.space) {
            (self.units, self.passes, self.bytes) = (0, 0, 0);
        }
        self.units += access.units;
        self.passes += access.passes;
        self.bytes += access.bytes;
        self.space = Some(access.space);
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
    passes: u32,
    bytes: u32,
    sectors: (u32, u32),
    effect: Effect,
    place: u64,
}

/// State of a recorded block while it runs: its warps, and their accesses since their last instructions were recorded.
#[derive(Debug)]
pub(crate) struct Recording {
    pub(super) why: Why,
    number: u64,
    most: usize,
    warps: Vec<WarpTrace>,
    accesses: Vec<Vec<Access>>,
    /// For each warp, the loads since its last change of memory that may be polls.
    polls: Vec<Vec<Poll>>,
    signals: Signals,
}

impl Recording {
    /// Records at most `most` instructions of each warp.
    pub(super) fn new(why: Why, shape: &BlockShape, most: u32) -> Self {
        let warps = shape.warps as usize;
        Self {
            why,
            number: shape.ticket,
            most: most as usize,
            warps: vec![WarpTrace::default(); warps],
            accesses: vec![Vec::new(); warps],
            polls: vec![Vec::new(); warps],
            signals: Signals::default(),
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
        accesses.sort_by_key(|access| access.pc);
        let mut pending = accesses.iter().filter(|access| (from.pc..end).contains(&access.pc)).peekable();
        for pc in from.pc..end {
            trace.total += 1;
            let function = from.function;
            let mut step = Step {
                function,
                pc,
                lanes: active,
                units: 0,
                passes: 0,
                space: None,
                bytes: 0,
                sectors: (0, 0),
                effect: Effect::None,
                place: 0,
            };
            while let Some(access) = pending.next_if(|access| access.pc == pc) {
                step.add(access);
            }
            if trace.steps.len() < self.most {
                trace.steps.push(step);
                drop_repeated(trace, poll);
            } else {
                trace.full = true;
            }
        }
        accesses.clear();
    }

    pub(super) fn touch(&mut self, touch: &Touch<'_>, units: u32, passes: u32) {
        let Some(trace) = self.warps.get_mut(touch.warp as usize) else { return };
        let first = trace.sectors.len() as u32;
        if touch.space == Space::Global && !trace.full {
            trace.sectors.extend(sectors_of(touch));
        }
        let bytes = touch.bytes * touch.mask.count_ones();
        let sectors = (first, trace.sectors.len() as u32 - first);
        let effect = match touch.kind {
            AccessKind::Load if touch.order == Order::Weak => Effect::None,
            AccessKind::Load => Effect::Polls,
            AccessKind::Store | AccessKind::Atomic | AccessKind::Discard => Effect::Changes,
        };
        let mut place = 0_u64;
        crate::lanes::each(touch.mask, |lane| place = place.wrapping_add(touch.addresses[lane]));
        let access = Access { pc: touch.site.pc, space: touch.space, units, passes, bytes, sectors, effect, place };
        let polls = &mut self.polls[touch.warp as usize];
        if trace.full {
            let Site { function, pc } = touch.site;
            let poll = Poll { key: (function, pc, touch.mask, place), at: usize::MAX, total: trace.total };
            if let Some(earlier) = repeats(polls, effect, poll) {
                trace.total = earlier.total;
            }
        } else if let Some(step) = last(trace, touch.site, touch.mask) {
            step.add(&access);
            drop_repeated(trace, polls);
        } else if let Some(accesses) = self.accesses.get_mut(touch.warp as usize) {
            accesses.push(access);
        }
    }

    pub(super) fn issue(&mut self, range: &Range) {
        let warp = range.warp as usize;
        if let (Some(trace), Some(polls)) = (self.warps.get_mut(warp), self.polls.get_mut(warp)) {
            polls.clear();
            let step = trace.last_step();
            self.signals.issue(&mut trace.signals, step, range);
        }
    }

    pub(super) fn range(&mut self, range: &Range) {
        if let Some(trace) = self.warps.get_mut(range.warp as usize) {
            self.signals.range(&mut trace.signals, self.number, range);
        }
    }

    pub(super) fn release(&mut self, warp: u32, variable: Variable) {
        if let Some(trace) = self.warps.get_mut(warp as usize) {
            let step = trace.last_step();
            self.signals.release(&mut trace.signals, step, self.number, variable);
        }
    }

    pub(super) fn acquire(&mut self, warp: u32, variable: Variable) {
        let warp = warp as usize;
        if let (Some(trace), Some(polls)) = (self.warps.get_mut(warp), self.polls.get_mut(warp)) {
            polls.clear();
            let step = trace.last_step();
            acquire(&mut trace.signals, step, self.number, variable);
        }
    }

    pub(super) fn bypass(&mut self, past: &Bypass<'_>, taken: u32) {
        let trace = self.warps.get_mut(past.warp as usize);
        if let Some(step) = trace.and_then(|trace| last(trace, past.site, past.mask)) {
            step.units = taken;
        }
    }
}

/// Drops the rounds of a loop of loads that waits for another thread, except the first: how many there are depends on
/// the order in which the simulator runs the blocks. Loops of atomics stay as they are, which may be work. The last
/// step was just recorded, or has just got its access.
fn drop_repeated(trace: &mut WarpTrace, polls: &mut Vec<Poll>) {
    let Some(step) = trace.steps.last().copied() else { return };
    let poll =
        Poll { key: (step.function, step.pc, step.lanes, step.place), at: trace.steps.len() - 1, total: trace.total };
    if let Some(earlier) = repeats(polls, step.effect, poll) {
        trace.total -= (poll.at - earlier.at) as u64;
        trace.steps.truncate(earlier.at + 1);
    }
}

/// Returns the last recorded step of a warp if it is this instruction: an instruction that ends a run accesses memory
/// after the run was reported. Other lanes may be about to execute the same instruction.
fn last(trace: &mut WarpTrace, site: Site, mask: u32) -> Option<&mut Step> {
    let step = trace.steps.last_mut().filter(|_| !trace.full)?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{Trace, Traced};
    use crate::{Config, Launch, Machine, Program};

    /// The first block's warps of a kernel of two warps with this body.
    fn warps(body: &str, steps: u32) -> Vec<WarpTrace> {
        // Room for the warps of two blocks, so that none of them may have more steps.
        let trace = Trace { steps, warps: 4, ..Trace::default() };
        traced(body, 1, trace).blocks[0].warps.clone()
    }

    /// The trace of a kernel with this body and blocks of two warps.
    fn traced(body: &str, blocks: u32, trace: Trace) -> Traced {
        let text = format!(
            ".version 8.1\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 a)\n{{\n.reg .pred \
             %p<3>;\n.reg .b32 %r<9>;\n.reg .b64 %rd<9>;\nld.param.u64 %rd1, [a];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, \
             0;\n{body}\nret;\n}}\n"
        );
        let program = Program::parse(&text).expect("PTX");
        let mut machine = Machine::new(Config { trace: Some(trace), ..Config::default() });
        let memory = machine.alloc(256, "a").expect("memory");
        machine.fill(memory, 0, 256).expect("memory");
        let params = [memory.to_le_bytes().to_vec()];
        let (entry, grid, block, params) = ("k", [blocks, 1, 1], [64, 1, 1], &params);
        let launch = Launch { entry, grid, block, dynamic_shared: 256, params, ..Launch::default() };
        machine.launch(&program, &launch).expect("runs").traced.expect("a trace")
    }

    fn accesses(warp: &WarpTrace) -> usize {
        warp.steps.iter().filter(|step| step.space.is_some()).count()
    }

    #[test]
    fn a_wait_for_another_thread_is_one_round() {
        let waits = "setp.lt.u32 %p1, %r1, 32;\n@!%p1 bra SET;\nL:\nld.volatile.global.u32 %r3, [%rd1];\nsetp.eq.u32 \
            %p2, %r3, 0;\n@%p2 bra L;\nbra DONE;\nSET:\nst.volatile.global.u32 [%rd1], 1;\nDONE:";
        let warps = warps(waits, 1 << 10);
        assert_eq!(accesses(&warps[0]), 1);
        assert_eq!(warps[0].total, warps[0].steps.len() as u64);
    }

    #[test]
    fn a_loop_over_volatile_memory_stays() {
        for (space, address) in [("shared", "%r4"), ("global", "%rd2")] {
            let step = if space == "shared" { "add.u32 %r4, %r4, 4;" } else { "add.u64 %rd2, %rd2, 4;" };
            let body = format!(
                "mov.u32 %r4, 0;\nmov.u64 %rd2, %rd1;\nL:\nld.volatile.{space}.u32 %r3, [{address}];\n{step}\nadd.u32 \
                 %r2, %r2, 1;\nsetp.lt.u32 %p1, %r2, 8;\n@%p1 bra L;"
            );
            assert_eq!(accesses(&warps(&body, 1 << 10)[1]), 8, "{space}");
        }
    }

    #[test]
    fn the_last_block_that_did_the_most_is_kept() {
        // Block 35 is not one of the last ones, all of which did the same then.
        for (most, kept) in [(98, 98), (36, 36), (35, 99)] {
            let body =
                format!("mov.u32 %r2, %ctaid.x;\nsetp.ne.u32 %p1, %r2, {most};\n@%p1 bra L;\nnot.b32 %r3, %r1;\nL:");
            let traced = traced(&body, 100, Trace { every: 132, ..Trace::default() });
            assert_eq!(traced.last.map(|block| block.number), Some(kept));
        }
    }

    #[test]
    fn a_part_of_a_block_is_its_first_instructions() {
        let body = "L:\nadd.u32 %r2, %r2, 1;\nsetp.lt.u32 %p1, %r2, 50;\n@%p1 bra L;";
        for (most, recorded) in [(1 << 10, 77), (50, 50)] {
            let block = BlockTrace { number: 0, warps: warps(body, most) };
            let (whole, part) = (&block.warps[0], &block.up_to(0.5).warps[0]);
            assert_eq!((whole.total, part.total, part.steps.len()), (154, 77, recorded));
            assert_eq!(part.steps[..], whole.steps[..recorded]);
        }
    }

    #[test]
    fn accesses_beyond_the_last_recorded_step_are_not_added_to_it() {
        let body = "L:\nld.shared.u32 %r3, [0];\nadd.u32 %r2, %r2, 1;\nsetp.lt.u32 %p1, %r2, 50;\n@%p1 bra L;";
        for steps in 4..9 {
            let warp = &warps(body, steps)[0];
            assert_eq!(warp.steps.len() as u32, steps);
            assert!(warp.total > 200 && warp.steps.iter().all(|step| step.units <= 1), "{steps}");
        }
    }
}
