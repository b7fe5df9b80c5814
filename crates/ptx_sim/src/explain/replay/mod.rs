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
mod step;
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
pub(in crate::explain) use memory::Rates;
use phases::Phases;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use warp::{Running, Warp};
use window::Windows;

/// The multiprocessor that runs the blocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setting {
    /// Blocks that are resident at the same time.
    pub resident: u32,
    /// Cycles between the starts of two blocks.
    pub start: f64,
    /// Bytes of the first-level cache.
    pub cache_bytes: u64,
    /// Rates of memory.
    pub rates: Rates,
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
    /// Cycles of all warps by cause.
    pub causes: [f64; CAUSES],
    /// Cycles in which the units that warps wait for worked, by cause; of several units the busiest one.
    pub busy: [f64; CAUSES],
}

/// Replays blocks in order.
pub(super) fn replay(program: &Program, blocks: &[&BlockTrace], setting: &Setting, costs: &Costs) -> Replayed {
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
    Replayed { ends, idle: machine.memory.idle(), first, causes: machine.causes, busy }
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
    memory: Memory,
    causes: [f64; CAUSES],
    worked: Worked,
    phases: Phases,
    warps: Vec<Warp<'t>>,
    running: Vec<Running>,
    /// The warps that can go on, by time.
    heap: BinaryHeap<Reverse<(Time, usize)>>,
}

impl<'t> Machine<'t> {
    fn new(program: &'t Program, setting: &Setting, costs: &'t Costs) -> Self {
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
            memory: Memory::new(setting.rates, setting.cache_bytes, costs),
            causes: [0.0; CAUSES],
            worked: Worked::default(),
            phases: Phases::default(),
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
        self.running.push(Running { live: block.warps.len() as u32, arrived: Vec::new(), end: at });
        for trace in &block.warps {
            self.causes[Cause::Blocks as usize] += idle;
            self.heap.push(Reverse((Time(at), self.warps.len())));
            self.warps.push(Warp::new(trace, number, self.warps.len() % 4, at));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Report;
    use crate::trace::Trace;
    use crate::{Config, Launch, Machine as Simulator};

    /// The report of a kernel with this body, whose blocks are recorded, one of `every`.
    fn traced(body: &str, blocks: u32, every: u32) -> (Report, Program) {
        let text = format!(
            ".version 8.1\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 a)\n{{\n.reg .pred \
             %p<3>;\n.reg .b32 %r<40>;\n.reg .b64 %rd<20>;\n.reg .f32 %f<20>;\n\
             ld.param.u64 %rd1, [a];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, \
             %rd2;\n{body}\nret;\n}}\n"
        );
        let program = Program::parse(&text).expect("PTX");
        let trace = Trace { every, ..Trace::default() };
        let mut machine = Simulator::new(Config { trace: Some(trace), ..Config::default() });
        let memory = machine.alloc(1 << 20, "a").expect("memory");
        machine.fill(memory, 0, 1 << 20).expect("memory");
        let params = [memory.to_le_bytes().to_vec()];
        let launch = Launch {
            entry: "k",
            grid: [blocks, 1, 1],
            block: [128, 1, 1],
            dynamic_shared: 4096,
            params: &params,
            ..Launch::default()
        };
        (machine.launch(&program, &launch).expect("runs"), program)
    }

    /// Cycles of blocks of a kernel with this body, and the causes.
    pub(super) fn cycles(body: &str, blocks: u32, resident: u32) -> (f64, [f64; CAUSES]) {
        let replayed = replayed(body, blocks, resident);
        (replayed.ends.last().copied().expect("a block"), replayed.causes)
    }

    fn replayed(body: &str, blocks: u32, resident: u32) -> Replayed {
        let (report, program) = traced(body, blocks, 1);
        let traced = report.traced.expect("a trace");
        let rates =
            Rates { l2: 1.0, bulk: 1.0, dram: 2.0, line: 3.5, atomic: 100.0, first: 1.0, read: 1.0, written: 1.0 };
        let setting = Setting { resident, start: 10.0, cache_bytes: 1 << 16, rates, without: None };
        let recorded: Vec<&BlockTrace> = traced.blocks.iter().collect();
        let replayed = replay(&program, &recorded, &setting, &Costs::default());
        assert_eq!(replayed.ends.len(), blocks as usize);
        replayed
    }

    #[test]
    fn predicated_code_is_issued_once_whichever_lanes_enter_it() {
        // The body is elsewhere, so the lanes that skip it jump over a jump.
        let wavefronts = |lanes: u32| {
            let body = format!(
                "setp.lt.u32 %p1, %r1, {lanes};\nmov.b32 %r3, 0;\n@%p1 bra BODY;\nbra.uni \
                 NEXT;\nNEXT:\nst.global.u32 [%rd3], %r1;\nret;\nBODY:\nst.shared.u32 [%r3], %r1;\nbra.uni NEXT;"
            );
            replayed(&body, 1, 1).busy[Cause::Shared as usize] / Costs::default().wavefront_cycles
        };
        assert_eq!([0, 16, 32, 128].map(wavefronts), [4.0; 4]);
        let issues = |lanes: u32| {
            let body = format!(
                "setp.lt.u32 %p1, %r1, {lanes};\nmov.b32 %r3, 0;\n@%p1 bra BODY;\nbra.uni NEXT;\nNEXT:\n\
                 st.global.u32 [%rd3], %r1;\nret;\nBODY:\nmul.wide.u32 %rd4, %r1, 8;\nadd.s64 %rd5, %rd1, %rd4;\nadd.s64 %rd6, %rd5, %rd5;\nst.global.u64 \
                 [%rd5], %rd6;\nbra.uni NEXT;"
            );
            replayed(&body, 1, 1).busy[Cause::Issue as usize]
        };
        assert_eq!(issues(0), issues(128));
        assert_eq!(issues(0), issues(16));
    }

    #[test]
    fn atomics_whose_result_is_not_used_count_lanes() {
        let wavefronts = |body: &str| {
            let body = format!("mov.b32 %r3, 0;\n{body}");
            replayed(&body, 1, 1).busy[Cause::Shared as usize] / Costs::default().wavefront_cycles
        };
        // Four warps of 32 lanes at one word.
        assert_eq!(wavefronts("atom.shared.add.u32 %r4, [%r3], 1;"), 4.0);
        assert_eq!(wavefronts("atom.shared.add.u32 %r4, [%r3], 1;\nst.global.u32 [%rd3], %r4;"), 128.0);
    }

    #[test]
    fn loads_that_do_not_need_each_other_overlap() {
        let load = |k: u32| format!("ld.global.f32 %f{k}, [%rd3+{}];\n", 4096 * k);
        let independent: String = (1..5).map(load).collect();
        let dependent = "ld.global.u64 %rd4, [%rd1];\nadd.s64 %rd3, %rd3, %rd4;\n".repeat(4);
        let (together, _) = cycles(&independent, 1, 1);
        let (one_by_one, causes) = cycles(&dependent, 1, 1);
        assert!(one_by_one > together + 60.0, "{one_by_one} {together}");
        let most = causes.iter().copied().fold(0.0, f64::max);
        assert_eq!(causes[Cause::Latency as usize], most, "{causes:?}");
    }

    #[test]
    fn the_first_level_cache_keeps_lines() {
        let twice = "ld.global.f32 %f1, [%rd3];\nadd.f32 %f2, %f1, %f1;\nst.global.f32 [%rd3+8192], %f2;\nbar.sync \
            0;\nld.global.f32 %f3, [%rd3];\nadd.f32 %f4, %f3, %f3;\nst.global.f32 [%rd3+8192], %f4;";
        let other = twice.replace("%f3, [%rd3]", "%f3, [%rd3+65536]");
        let (hit, miss) = (cycles(twice, 1, 1).0, cycles(&other, 1, 1).0);
        assert!(miss > hit + 300.0, "{hit} {miss}");
    }

    #[test]
    fn blocks_that_are_resident_together_overlap() {
        let body = "ld.global.f32 %f1, [%rd3];\nadd.f32 %f2, %f1, %f1;\nst.global.f32 [%rd3], %f2;";
        let (in_turn, at_once) = (cycles(body, 8, 1).0, cycles(body, 8, 8).0);
        assert!(in_turn > 3.0 * at_once, "{in_turn} {at_once}");
    }

    #[test]
    fn what_warps_wait_for_is_named() {
        let shares = |body: &str, cause: Cause| {
            let causes = cycles(body, 16, 16).1;
            causes[cause as usize] / causes.iter().sum::<f64>()
        };
        let atomics = "red.global.add.u32 [%rd1], 1;\n".repeat(20);
        assert!(shares(&atomics, Cause::Atomics) > 0.5);
        let conflicts = format!(
            "shl.b32 %r2, %r1, 7;\nand.b32 %r2, %r2, 4095;\n{}",
            "st.volatile.shared.u32 [%r2], %r1;\n".repeat(20)
        );
        assert!(shares(&conflicts, Cause::Shared) > 0.5);
        assert!(shares(&"add.f32 %f1, %f2, %f3;\n".repeat(20), Cause::Issue) > 0.3);
    }

    /// The estimate of a launch.
    fn time(report: &Report, program: &Program, blocks: u32) -> crate::explain::Time {
        let launch = Launch { entry: "k", grid: [blocks, 1, 1], block: [128, 1, 1], ..Launch::default() };
        let (profile, costs) = (crate::Profile::default(), Costs::default());
        crate::explain::analyse(program, &launch, report, &profile, &costs, 1.0).expect("a trace").time
    }

    #[test]
    fn a_last_block_that_does_more_adds_its_time() {
        let sums = |block: u32| {
            let chain = "add.f32 %f1, %f1, %f2;\n".repeat(200);
            let body = format!("mov.u32 %r2, %ctaid.x;\nsetp.ne.u32 %p1, %r2, {block};\n@%p1 bra DONE;\n{chain}DONE:");
            let (report, program) = traced(&body, 8, 132);
            time(&report, &program, 8)
        };
        let cycles_of_the_chain = 200.0 * Costs::default().alu_cycles;
        // No block has the number 9.
        let us = sums(6).kernel_us - sums(9).kernel_us;
        let clock = crate::Profile::default().clock_mhz as f64;
        assert!((us * clock - cycles_of_the_chain).abs() < 0.05 * cycles_of_the_chain, "{us} us");
    }

    #[test]
    fn warps_of_unequal_work_are_known() {
        let unequal = |lanes: u32| {
            let long = "add.f32 %f1, %f1, %f2;\n".repeat(100);
            let body = format!("setp.ge.u32 %p1, %r1, {lanes};\n@%p1 bra DONE;\n{long}DONE:");
            let (report, program) = traced(&body, 1, 1);
            time(&report, &program, 1).unequal
        };
        assert_eq!(unequal(128), 1.0);
        assert!((3.0..4.0).contains(&unequal(32)), "{}", unequal(32));
    }

    #[test]
    fn units_work_no_longer_than_the_kernel_takes() {
        // The recorded blocks are the heavy ones, so that the others end sooner than their rate says.
        let body = format!(
            "mov.u32 %r2, %ctaid.x;\nsetp.gt.u32 %p1, %r2, 133;\n@%p1 bra DONE;\n{}DONE:",
            "add.f32 %f1, %f1, %f2;\n".repeat(400)
        );
        let (report, program) = traced(&body, 132 * 8, 132);
        let time = time(&report, &program, 132 * 8);
        assert!(time.busy_us.iter().all(|&busy| busy <= time.kernel_us), "{time:?}");
    }

    #[test]
    fn the_parts_add_up_to_the_time() {
        let (_, causes) = cycles("ld.global.f32 %f1, [%rd3];\nst.global.f32 [%rd3], %f1;", 16, 4);
        let (traced, program) = traced("st.global.u32 [%rd3], %r1;", 300, 1);
        let time = time(&traced, &program, 300);
        let sum: f64 = time.limits.iter().map(|limit| limit.us).sum();
        assert!((sum - time.kernel_us).abs() < 1e-6 * time.kernel_us && time.kernel_us > 0.0, "{time:?}");
        assert!(causes.iter().all(|cycles| *cycles >= 0.0), "{causes:?}");
    }
}
