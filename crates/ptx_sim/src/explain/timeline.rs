//! Time of one block alone on a multiprocessor: the recorded instructions of its warps are replayed, each warp in
//! order, each instruction as soon as its operands are available. Independent loads overlap, and warps wait for each
//! other at block barriers.

use super::costs::Costs;
use crate::isa::facts::Latency;
use crate::program::{Op, Program, Space, Uses};
use crate::trace::{Step, WarpTrace};
use std::collections::HashMap;

/// Returns the clock cycles from the block's first instruction to its last.
pub fn block_cycles(program: &Program, warps: &[WarpTrace], costs: &Costs) -> f64 {
    let mut known = HashMap::new();
    let mut lines: Vec<Line<'_>> = warps.iter().map(Line::new).collect();
    loop {
        let mut waiting = Vec::new();
        for (warp, line) in lines.iter_mut().enumerate() {
            if line.run(program, costs, &mut known) {
                waiting.push(warp);
            }
        }
        if waiting.is_empty() {
            break;
        }
        // Warps at a barrier continue together; ended warps are not waited for.
        let meet = waiting.iter().map(|&warp| lines[warp].now).fold(0.0, f64::max) + costs.barrier_cycles;
        waiting.iter().for_each(|&warp| lines[warp].now = meet);
    }
    lines.iter().map(Line::end).fold(0.0, f64::max)
}

/// The operands of all instructions, by function.
type Known = HashMap<u32, Vec<Uses>>;

/// One warp while its instructions are replayed.
struct Line<'t> {
    trace: &'t WarpTrace,
    next: usize,
    now: f64,
    /// Time when each register's value is available, by function and register.
    ready: HashMap<(u32, u32), f64>,
}

impl<'t> Line<'t> {
    fn new(trace: &'t WarpTrace) -> Self {
        Self { trace, next: 0, now: 0.0, ready: HashMap::new() }
    }

    /// Replays instructions to the next barrier (true) or to the end.
    fn run(&mut self, program: &Program, costs: &Costs, known: &mut Known) -> bool {
        while let Some(step) = self.trace.steps.get(self.next) {
            self.next += 1;
            let Some(function) = program.functions.get(step.function as usize) else { continue };
            let Some(inst) = function.code.get(step.pc as usize) else { continue };
            let all = known.entry(step.function).or_insert_with(|| Uses::of_all(function));
            let Some(own) = all.get(step.pc as usize) else { continue };
            let at = |register: &u32| self.ready.get(&(step.function, *register)).copied().unwrap_or(0.0);
            self.now = own.reads.iter().map(at).fold(self.now, f64::max) + 1.0;
            if matches!(inst.op, Op::Barrier { .. }) {
                return true;
            }
            let done = self.now + cycles(function.facts(step.pc).latency, step, costs);
            self.ready.extend(own.sets.iter().map(|register| ((step.function, *register), done)));
        }
        false
    }

    /// Returns the warp's last cycle; instructions that were not recorded are assumed to continue at the same rate.
    fn end(&self) -> f64 {
        let recorded = self.trace.steps.len().max(1) as f64;
        self.now * (self.trace.total as f64 / recorded).max(1.0)
    }
}

/// Returns the cycles until the result is available.
fn cycles(latency: Latency, step: &Step, costs: &Costs) -> f64 {
    let passes = f64::from(step.units.saturating_sub(1));
    match (latency, step.space) {
        (Latency::Atomic, Some(Space::Global)) => costs.global_atomic_cycles,
        (_, Some(Space::Global)) => costs.global_cycles,
        (_, Some(Space::Shared)) => costs.shared_cycles + passes * costs.wavefront_cycles,
        (_, Some(_)) => costs.shared_cycles,
        (Latency::Warp, None) => costs.shuffle_cycles,
        (Latency::Special, None) => costs.special_cycles,
        // Instructions without an access: an atomic without lanes, a fence.
        (Latency::Alu | Latency::Memory | Latency::Atomic, None) => costs.alu_cycles,
    }
}
