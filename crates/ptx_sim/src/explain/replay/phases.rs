//! Waits for what is under way: phases of mbarriers, and groups of copies.
//!
//! How many arrivals and copies a phase has is counted in the trace, so that the replay needs no counters of its own. A
//! phase without any, because other blocks of the cluster signal it, is not waited for.

use super::memory::Arrival;
use super::warp::{Ready, Source};
use super::{Cause, Machine, Time};
use crate::program::{Async, Group, Op};
use crate::trace::{Act, BlockTrace, Phase, Step};
use std::cmp::Reverse;
use std::collections::HashMap;

/// The phases of the blocks that run.
#[derive(Debug, Default)]
pub(super) struct Phases {
    states: HashMap<(usize, Phase), State>,
    /// Number of warps that wait.
    waiting: usize,
}

#[derive(Debug, Default)]
struct State {
    /// Contributions that are missing.
    missing: u32,
    /// The one that was the last.
    last: Ready,
    waiting: Vec<usize>,
}

impl Phases {
    /// Counts the contributions to the phases of a block.
    pub fn start(&mut self, number: usize, block: &BlockTrace) {
        let signals = block.warps.iter().flat_map(|warp| &warp.signals);
        for phase in signals.filter(|signal| signal.act != Act::Waits).filter_map(|signal| signal.phase) {
            self.states.entry((number, phase)).or_default().missing += 1;
        }
    }
}

impl Machine<'_> {
    /// Carries out what a step does to mbarriers and groups of copies; returns whether the warp has to wait for others.
    pub(super) fn synchronise(&mut self, index: usize, step: &Step, issued: f64) -> bool {
        let Op::Async(op) = &self.program.functions[step.function as usize].code[step.pc as usize].op else {
            return false;
        };
        let mut waits = None;
        let trace = self.warps[index].trace;
        let at = self.warps[index].at as u32;
        while let Some(signal) = trace.signals.get(self.warps[index].signal).filter(|signal| signal.step <= at) {
            self.warps[index].signal += 1;
            match (signal.act, signal.phase) {
                _ if signal.step < at => {}
                (Act::Waits, phase) => waits = phase,
                (Act::Arrives, Some(phase)) => {
                    let arrived = Ready::at(issued + self.costs.shared_cycles);
                    self.contribute(index, phase, arrived);
                }
                (Act::Arrives, None) => {}
                (Act::Copies, phase) => {
                    let arrival = self.memory.copy(issued, &signal.reads, &signal.writes);
                    let copied = Ready { arrival, from: Source::Memory };
                    match phase {
                        Some(phase) => self.contribute(index, phase, copied),
                        None => self.warps[index].copies(Group::Bulk).add(copied),
                    }
                }
            }
        }
        match **op {
            Async::Commit(group) => self.warps[index].copies(group).commit(),
            Async::Wait { group, pending, all } => {
                let ready = self.warps[index].copies(group).wait(pending, all);
                self.resume(index, ready);
            }
            _ => {}
        }
        let Some(phase) = waits else { return false };
        let key = (self.warps[index].block, phase);
        let Some(state) = self.phases.states.get_mut(&key) else { return false };
        if state.missing > 0 {
            state.waiting.push(index);
            self.phases.waiting += 1;
            return true;
        }
        let last = state.last;
        self.resume(index, last);
        false
    }

    /// Adds an arrival or the bytes of a copy to a phase.
    fn contribute(&mut self, index: usize, phase: Phase, ready: Ready) {
        let Some(state) = self.phases.states.get_mut(&(self.warps[index].block, phase)) else { return };
        state.missing = state.missing.saturating_sub(1);
        if ready.arrival.at > state.last.arrival.at {
            state.last = ready;
        }
        if state.missing == 0 {
            let (last, waiting) = (state.last, std::mem::take(&mut state.waiting));
            self.go_on(last, &waiting);
        }
    }

    fn go_on(&mut self, last: Ready, waiting: &[usize]) {
        self.phases.waiting -= waiting.len();
        for &index in waiting {
            self.resume(index, last);
            self.heap.push(Reverse((Time(self.warps[index].free), index)));
        }
    }

    /// Lets the warps go on that wait for a phase which will not be complete, because the trace does not have all of it.
    pub(super) fn release_stuck(&mut self) {
        if self.phases.waiting == 0 {
            return;
        }
        let mut stuck: Vec<(Ready, Vec<usize>)> = self
            .phases
            .states
            .values_mut()
            .filter(|state| !state.waiting.is_empty())
            .map(|state| (state.last, std::mem::take(&mut state.waiting)))
            .collect();
        stuck.sort_by_key(|(_, waiting)| waiting[0]);
        for (last, waiting) in stuck {
            self.go_on(last, &waiting);
        }
    }

    /// A warp that has issued a wait goes on when what it waits for is there.
    fn resume(&mut self, index: usize, ready: Ready) {
        let warp = &mut self.warps[index];
        let Arrival { at, dram, cache } = ready.arrival;
        let mut gap = (at - warp.last).max(0.0);
        if gap == 0.0 {
            return;
        }
        let mut blame = |cause: Cause, cycles: f64| {
            let part = cycles.clamp(0.0, gap);
            gap -= part;
            self.causes[cause as usize] += part;
        };
        if ready.from == Source::Memory {
            blame(Cause::Memory, dram);
            blame(Cause::Cache, cache);
            blame(Cause::Latency, f64::INFINITY);
        } else {
            blame(Cause::Barriers, f64::INFINITY);
        }
        (warp.last, warp.blamed) = (at, at);
        warp.free = warp.free.max(at);
    }
}

/// Copies of a warp that belong to groups.
#[derive(Debug, Default)]
pub(super) struct Copies {
    /// The last one that was issued since the last group.
    open: Ready,
    groups: Vec<Ready>,
}

impl Copies {
    pub fn add(&mut self, ready: Ready) {
        if ready.arrival.at > self.open.arrival.at {
            self.open = ready;
        }
    }

    fn commit(&mut self) {
        self.groups.push(std::mem::take(&mut self.open));
    }

    /// When all groups but the newest `pending` are complete; with `all` those that are not committed, too.
    fn wait(&mut self, pending: u32, all: bool) -> Ready {
        if all {
            self.commit();
        }
        let complete = if all { self.groups.len() } else { self.groups.len().saturating_sub(pending as usize) };
        let latest = self.groups.drain(..complete).max_by(|a, b| a.arrival.at.total_cmp(&b.arrival.at));
        latest.unwrap_or_default()
    }
}
