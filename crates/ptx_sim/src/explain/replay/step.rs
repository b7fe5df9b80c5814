//! One instruction of one warp: when it can be issued, what it waited for, and what it does to the units.

use super::access::returns;
use super::class::{Class, Unit};
use super::predicated::Body;
use super::ready::{Ready, Source};
use super::window::MERGED;
use super::{Cause, Machine, Time};
use crate::explain::replay::class::Classes;
use crate::explain::without::Without;
use crate::program::{Function, Op, Space};
use crate::trace::{Step, WarpTrace};
use std::cmp::Reverse;

/// Cycles of work that may wait before the memory units until warps have to wait.
const QUEUED: f64 = 64.0;
/// The same for stores, which are buffered.
const BUFFERED: f64 = 512.0;

/// Whether lanes of a warp enter the code of a branch, which is its step `at`. Others may jump around it first, or end.
fn enters(function: &Function, trace: &WarpTrace, at: usize, body: &Body) -> bool {
    let Some((branch, behind)) = trace.steps.get(at..).and_then(<[Step]>::split_first) else { return false };
    let ends = |step: &&Step| {
        let ret = function.code.get(step.pc as usize).is_some_and(|inst| matches!(inst.op, Op::Return));
        ret && step.lanes & branch.lanes == step.lanes && step.lanes != branch.lanes
    };
    let mut first = behind.iter().filter(|step| !body.jumps.contains(&step.pc)).skip_while(ends);
    first.next().is_some_and(|step| body.code.contains(&step.pc))
}

/// When an instruction can be issued, and the reasons.
struct Turn {
    /// When its operands are there.
    operands: f64,
    /// The operand that is there last.
    wait: Ready,
    /// When the partition's scheduler is free too.
    turn: f64,
    /// When the unit is free too.
    issued: f64,
}

impl Machine<'_> {
    /// Runs a warp until another one is earlier; returns the end of its block if it was the last warp.
    pub(super) fn run(&mut self, now: f64, index: usize) -> Option<f64> {
        loop {
            let Some((step, joined)) = self.next_step(index) else { return self.end(index) };
            let classes = &self.classes[&step.function];
            let class = self.changed(classes.classes[step.pc as usize], &step);
            if joined || class.unit == Unit::Nothing {
                if joined && step.space == Some(Space::Shared) {
                    self.join(index, step.bytes);
                }
                self.pass_on(index, &step, joined);
                continue;
            }
            // Code that the warp skips is issued all the same where it becomes predicates.
            let warp = &self.warps[index];
            let body = classes.bodies[step.pc as usize].as_ref().filter(|body| {
                let function = &self.program.functions[step.function as usize];
                !enters(function, warp.trace, warp.at, body)
            });
            let (skipped, wavefronts) = body.map_or((0.0, 0.0), |body| (body.slots, f64::from(body.shared)));
            let turn = self.turn(index, &step, &class);
            let issued = turn.issued;
            self.blame(index, &step, &class, &turn);
            if issued > now && self.heap.peek().is_some_and(|Reverse((Time(other), _))| *other < issued) {
                self.heap.push(Reverse((Time(issued), index)));
                return None;
            }
            let warp = &mut self.warps[index];
            warp.next += 1;
            warp.last = issued;
            warp.free = issued + class.holds + skipped;
            self.issue[warp.partition] = issued + class.slots + skipped;
            self.worked.issue[warp.partition] += class.slots + skipped;
            if wavefronts > 0.0 {
                self.pass_wavefronts(issued, wavefronts);
            }
            if class.unit == Unit::Barrier {
                self.arrive(index, issued);
                return None;
            }
            self.execute(index, &step, &class, issued);
            self.relay(index, &step, issued);
            if self.synchronise(index, &step, issued) {
                return None;
            }
        }
    }

    /// The class of an instruction after the change of the kernel that is replayed.
    fn changed(&self, class: Class, step: &Step) -> Class {
        let narrow = || {
            let op = &self.program.functions[step.function as usize].code[step.pc as usize].op;
            let plain = matches!(op, Op::Load(_) | Op::Store(_)) && step.space == Some(Space::Global);
            plain && step.bytes <= 4 * step.lanes.count_ones()
        };
        match (self.without, class.unit) {
            (Some(Without::Barriers), Unit::Barrier) => Class { unit: Unit::Nothing, ..class },
            (Some(Without::NarrowAccesses), Unit::Memory) if narrow() => Class { slots: class.slots / 4.0, ..class },
            _ => class,
        }
    }

    /// Returns the next step of a warp, and whether it is part of the one before.
    fn next_step(&mut self, index: usize) -> Option<(Step, bool)> {
        let warp = &mut self.warps[index];
        if warp.next == warp.window.len() {
            warp.base += warp.next;
            let rest = warp.trace.steps.get(warp.base..)?;
            let first = rest.first()?;
            let function = self.program.functions.get(first.function as usize)?;
            let classes = self.classes.entry(first.function).or_insert_with(|| Classes::of(function, self.costs));
            warp.window = self.windows.next(function, classes, rest);
            warp.next = 0;
            warp.ready.entry(first.function).or_insert_with(|| vec![Ready::default(); classes.registers]);
        }
        let entry = *warp.window.get(warp.next)?;
        let number = warp.base + usize::from(entry & !MERGED);
        warp.at = number;
        Some((*warp.trace.steps.get(number)?, entry & MERGED != 0))
    }

    /// Makes a load from shared memory part of the one before it, which has more to return then.
    fn join(&mut self, index: usize, bytes: u32) {
        let warp = &mut self.warps[index];
        let (first, passed) = warp.arriving;
        let wavefronts = returns(first + bytes).max(passed);
        warp.arriving = (first + bytes, wavefronts);
        self.pass_wavefronts(self.warps[index].last, f64::from(wavefronts - passed));
    }

    /// Passes over an instruction that is not in the machine code, or is part of the one before it: its results are
    /// available when its operands, or the other's results, are.
    fn pass_on(&mut self, index: usize, step: &Step, joined: bool) {
        let uses = &self.classes[&step.function].uses[step.pc as usize];
        let warp = &mut self.warps[index];
        warp.next += 1;
        let result = warp.result;
        let Some(registers) = warp.ready.get_mut(&step.function) else { return };
        let operands = uses.reads.iter().map(|&at| registers[at as usize]);
        let latest = operands.max_by(|a, b| a.arrival.at.total_cmp(&b.arrival.at)).unwrap_or_default();
        let value = if joined { result } else { latest };
        uses.sets.iter().for_each(|&at| registers[at as usize] = value);
    }

    fn turn(&self, index: usize, step: &Step, class: &Class) -> Turn {
        let warp = &self.warps[index];
        let (mut operands, mut wait) = (warp.free, Ready::default());
        for &register in &self.classes[&step.function].uses[step.pc as usize].reads {
            let ready = warp.ready[&step.function][register as usize];
            if ready.arrival.at > operands {
                (operands, wait) = (ready.arrival.at, ready);
            }
        }
        let turn = operands.max(self.issue[warp.partition]);
        let unit = match class.unit {
            Unit::Arithmetic(queue) => self.queues[warp.partition][queue],
            Unit::Exchange => self.exchange,
            Unit::Memory if step.space == Some(Space::Shared) => self.shared - QUEUED,
            Unit::Memory => {
                let atomics = self.memory.atomics - self.costs.atomic_queue_cycles;
                (self.memory.requests - QUEUED).max(self.memory.stores - BUFFERED).max(atomics)
            }
            Unit::Nothing | Unit::Barrier | Unit::Fence => 0.0,
        };
        Turn { operands, wait, turn, issued: turn.max(unit) }
    }

    /// Puts the cycles that the warp now has to wait down to causes, from the last one back. It may have to wait longer
    /// when its time has come, because others were faster.
    fn blame(&mut self, index: usize, step: &Step, class: &Class, turn: &Turn) {
        let blamed = std::mem::replace(&mut self.warps[index].blamed, turn.issued);
        let unit = match class.unit {
            Unit::Memory if step.space == Some(Space::Shared) => Cause::Shared,
            Unit::Memory if self.memory.atomics > self.memory.stores => Cause::Atomics,
            Unit::Memory => Cause::Cache,
            _ => Cause::Arithmetic,
        };
        let own = [(unit, turn.issued - turn.turn), (Cause::Issue, turn.turn - turn.operands)];
        self.put_down(turn.issued - blamed, own.into_iter().chain(turn.wait.causes()));
    }

    /// Divides cycles that a warp waits among causes, each of which has at most its part.
    pub(super) fn put_down(&mut self, cycles: f64, parts: impl IntoIterator<Item = (Cause, f64)>) {
        let mut left = cycles.max(0.0);
        for (cause, most) in parts {
            let part = most.clamp(0.0, left);
            left -= part;
            self.causes[cause as usize] += part;
        }
    }

    fn execute(&mut self, index: usize, step: &Step, class: &Class, issued: f64) {
        let partition = self.warps[index].partition;
        let done = match class.unit {
            Unit::Arithmetic(queue) => {
                self.queues[partition][queue] = issued + class.busy;
                self.worked.queues[partition][queue] += class.busy;
                Ready::at(issued + class.latency)
            }
            Unit::Exchange => {
                self.exchange = issued + class.busy;
                self.worked.exchange += class.busy;
                Ready::at(issued + class.latency)
            }
            Unit::Memory => self.access(index, step, issued),
            Unit::Fence => {
                let warp = &mut self.warps[index];
                warp.free = (issued + self.costs.fence_cycles).max(warp.settled);
                Ready::default()
            }
            Unit::Barrier | Unit::Nothing => Ready::default(),
        };
        let warp = &mut self.warps[index];
        warp.result = done;
        if matches!(done.from, Source::Memory | Source::Atomic) {
            warp.settled = warp.settled.max(done.arrival.at);
        }
        let sets = &self.classes[&step.function].uses[step.pc as usize].sets;
        if let Some(registers) = warp.ready.get_mut(&step.function) {
            sets.iter().for_each(|&at| registers[at as usize] = done);
        }
    }
}
