//! Time of the blocks that one multiprocessor gets: the recorded instructions of their warps are replayed in order,
//! each as soon as its operands are there and the units that it needs are free. Loads in flight overlap, warps wait for
//! each other at block barriers, and a block starts when another has ended.
//!
//! The cycles between two instructions of a warp are put down to what the second one waited for. Summed over the warps
//! they are the parts of the time, as a profiler's stall reasons are.
//!
//! Not modelled: a block that polls memory, or an mbarrier that other blocks signal, does not wait for them, and every
//! barrier is one of all warps of the block.

mod access;
mod cache;
mod cause;
mod class;
mod copies;
mod fused;
mod halves;
mod ideal;
mod memory;
mod phases;
mod predicated;
mod ready;
mod relay;
mod step;
#[cfg(test)]
mod tests;
mod warp;
mod window;

use super::costs::Costs;
use super::without::Without;
use crate::program::Program;
use crate::trace::BlockTrace;
pub(super) use cause::{CAUSES, Cause};
use class::{Classes, QUEUES};
use ideal::Ideal;
pub(super) use ideal::different_sectors;
use memory::Memory;
pub(in crate::explain) use memory::{Others, Rates};
use phases::Phases;
use relay::Relay;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use warp::{Running, Warp};
use window::Windows;

/// The multiprocessor that runs the blocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setting<'t> {
    /// Blocks that are resident at the same time.
    pub resident: u32,
    /// Cycles between the starts of two blocks.
    pub start: f64,
    /// Bytes of the first-level cache.
    pub cache_bytes: u64,
    /// Rates of memory.
    pub rates: Rates,
    /// Other readers of the same memory.
    pub others: Others<'t>,
    /// Work that is left out.
    pub without: Option<Without>,
}

/// Result of a replay.
#[derive(Clone, Debug, Default)]
pub(super) struct Replayed {
    /// Cycle at which each block ended, in order.
    pub ends: Vec<f64>,
    /// Cycle at which memory was idle.
    pub idle: f64,
    /// Cycle at which the first bulk copy had arrived.
    pub first: f64,
    /// Cycles for each word that a warp reads from other blocks until it publishes what it made of them; 0 if none
    /// does.
    pub relay: f64,
    /// Cycles of all warps by cause.
    pub causes: [f64; CAUSES],
    /// Cycles in which the units that warps wait for worked, by cause; of several units the busiest one.
    pub busy: [f64; CAUSES],
}

/// Replays blocks in order.
pub(super) fn replay(program: &Program, blocks: &[&BlockTrace], setting: &Setting<'_>, costs: &Costs) -> Replayed {
    let mut machine = Machine::new(program, setting, costs);
    if setting.without == Some(Without::Scattered) {
        machine.ideal = Some(Ideal::new(program, blocks));
    }
    let mut waiting = blocks.iter();
    let mut ends = Vec::new();
    let mut started = -setting.start;
    for block in waiting.by_ref().take(setting.resident.max(1) as usize) {
        started += setting.start;
        machine.start(block, started, started);
    }
    // Blocks that loop are not started again.
    let (start, between) =
        if setting.without == Some(Without::Starts) { (0.0, 0.0) } else { (setting.start, costs.block_cycles) };
    while let Some(Reverse((Time(now), warp))) = machine.next() {
        let Some(end) = machine.run(now, warp) else { continue };
        ends.push(end);
        if let Some(block) = waiting.next() {
            started = (started + start).max(end + between);
            machine.start(block, started, started - end);
        }
    }
    ends.sort_by(f64::total_cmp);
    let busy = machine.busy(setting.start * ends.len().saturating_sub(1) as f64);
    let first = machine.memory.first.unwrap_or(0.0);
    let relay = machine.relay.cycles();
    Replayed { ends, idle: machine.memory.idle(), first, relay, causes: machine.causes, busy }
}

/// A time that orders the queue.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Time(f64);

impl Eq for Time {}

impl PartialOrd for Time {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Time {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// Cycles in which the units of a multiprocessor worked.
#[derive(Debug, Default)]
struct Worked {
    issue: [f64; 4],
    queues: [[f64; QUEUES]; 4],
    exchange: f64,
    shared: f64,
}

/// The multiprocessor; times are the cycles at which a unit is free.
struct Machine<'t> {
    program: &'t Program,
    costs: &'t Costs,
    without: Option<Without>,
    ideal: Option<Ideal>,
    classes: HashMap<u32, Classes>,
    windows: Windows,
    /// The scheduler of each partition.
    issue: [f64; 4],
    /// The arithmetic units of each partition.
    queues: [[f64; QUEUES]; 4],
    exchange: f64,
    shared: f64,
    barrier: f64,
    memory: Memory<'t>,
    causes: [f64; CAUSES],
    worked: Worked,
    phases: Phases,
    relay: Relay,
    warps: Vec<Warp<'t>>,
    running: Vec<Running>,
    /// The warps that can go on, by time.
    heap: BinaryHeap<Reverse<(Time, usize)>>,
}

impl<'t> Machine<'t> {
    fn new(program: &'t Program, setting: &Setting<'t>, costs: &'t Costs) -> Self {
        Self {
            program,
            costs,
            without: setting.without,
            ideal: None,
            classes: HashMap::new(),
            windows: Windows::default(),
            issue: [0.0; 4],
            queues: [[0.0; QUEUES]; 4],
            exchange: 0.0,
            shared: 0.0,
            barrier: 0.0,
            memory: Memory::new(setting.rates, setting.others, setting.cache_bytes, costs),
            causes: [0.0; CAUSES],
            worked: Worked::default(),
            phases: Phases::default(),
            relay: Relay::default(),
            warps: Vec::new(),
            running: Vec::new(),
            heap: BinaryHeap::new(),
        }
    }

    /// The warp that can go on first.
    fn next(&mut self) -> Option<Reverse<(Time, usize)>> {
        if self.heap.is_empty() {
            self.release_stuck();
        }
        self.heap.pop()
    }

    /// Cycles in which units worked, where starting the blocks took `starts`.
    fn busy(&self, starts: f64) -> [f64; CAUSES] {
        let most = |cycles: &[f64]| cycles.iter().copied().fold(0.0, f64::max);
        let mut busy = [0.0; CAUSES];
        busy[Cause::Memory as usize] = self.memory.worked.dram;
        busy[Cause::Cache as usize] = self.memory.worked.cache();
        busy[Cause::Atomics as usize] = self.memory.worked.atomics;
        busy[Cause::Issue as usize] = most(&self.worked.issue);
        busy[Cause::Shared as usize] = self.worked.shared;
        busy[Cause::Arithmetic as usize] = most(self.worked.queues.as_flattened()).max(self.worked.exchange);
        busy[Cause::Blocks as usize] = starts;
        busy
    }

    /// Starts a block whose place was idle for some cycles.
    fn start(&mut self, block: &'t BlockTrace, at: f64, idle: f64) {
        let number = self.running.len();
        self.phases.start(number, block);
        self.running.push(Running {
            number: block.number,
            live: block.warps.len() as u32,
            arrived: Vec::new(),
            end: at,
        });
        for (position, trace) in block.warps.iter().enumerate() {
            self.causes[Cause::Blocks as usize] += idle;
            self.heap.push(Reverse((Time(at), self.warps.len())));
            // Blocks start at different partitions: warps that do more than others of their block share the units
            // evenly.
            self.warps.push(Warp::new(trace, number, (number + position) % 4, at));
        }
    }

    /// A warp arrives at a block barrier.
    fn arrive(&mut self, index: usize, now: f64) {
        self.barrier = self.barrier.max(now) + self.costs.barrier_warp_cycles;
        let block = self.warps[index].block;
        self.running[block].arrived.push((index, self.barrier));
        self.release(block);
    }

    /// Warps at a barrier continue together; ended warps are not waited for.
    fn release(&mut self, block: usize) {
        let running = &mut self.running[block];
        if running.arrived.is_empty() || running.arrived.len() < running.live as usize {
            return;
        }
        let arrived = std::mem::take(&mut running.arrived);
        let meet = arrived.iter().map(|&(_, at)| at).fold(0.0, f64::max) + self.costs.barrier_cycles;
        for (index, _) in arrived {
            let warp = &mut self.warps[index];
            self.causes[Cause::Barriers as usize] += meet - warp.last;
            (warp.last, warp.free, warp.blamed) = (meet, meet, meet);
            self.heap.push(Reverse((Time(meet), index)));
        }
    }

    /// Ends a warp; returns the end of its block if it was the last one.
    fn end(&mut self, index: usize) -> Option<f64> {
        let (block, end) = (self.warps[index].block, self.warps[index].end());
        let running = &mut self.running[block];
        running.end = running.end.max(end);
        running.live -= 1;
        if running.live == 0 {
            return Some(running.end);
        }
        self.release(block);
        None
    }
}
