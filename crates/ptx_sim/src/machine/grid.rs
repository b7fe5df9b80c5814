//! One launch: blocks start strictly in order, over worker threads that each keep several of them going.
//!
//! A block waits only for itself at barriers, but may spin on memory that other blocks write: single-pass scans wait
//! for earlier blocks, grid barriers for all. So a worker that sees a block spin starts the next one, and goes round
//! those it has. Blocks that started keep making progress, whatever the number of workers.

use super::block::{Block, BlockTurn};
use super::budget::{Budget, register_bytes};
use super::launch::{Launch, Setup};
use super::livelock::{Stillness, Watch};
use super::module::Module;
use super::schedule::Schedule;
use super::validate::Placed;
use super::warp::{Frame, Held, NO_JOIN, Warp};
use crate::memory::{Memory, Snapshot};
use crate::observe::{Findings, Observer, Setting, Shadow, thread_id};
use crate::program::flow::Flow;
use crate::program::{Layout, Program};
use crate::registers::{LANES, Registers};
use crate::stop::{Diagnostic, Finding, Stop, StopKind};
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

/// What all workers of a launch share.
pub struct Context<'a> {
    pub setting: Setting<'a>,
    /// Number of the program among those that the machine has seen.
    pub module: usize,
    pub entry: u32,
    pub flows: Arc<[Flow]>,
    pub addresses: Arc<[u64]>,
    pub setup: &'a Setup,
    pub grid: [u32; 3],
    /// Threads of a block.
    pub threads: u32,
    /// `%tid` by warp, axis and lane.
    pub thread_ids: Vec<[[u32; LANES]; 3]>,
    /// Of shared memory.
    pub dynamic_bytes: u64,
    /// The kernel's parameters, as words.
    pub params: Vec<u32>,
    pub param_bytes: u64,
    blocks: u64,
    next: Apart<AtomicU64>,
    stopped: AtomicBool,
    executed: Apart<AtomicU64>,
    pub stillness: Apart<Stillness>,
    /// Blocks that the device has room for at once.
    resident: u64,
    /// Blocks of a cluster in x, y, z: all of them start together, on one worker.
    pub cluster: [u32; 3],
    /// The launch or the kernel asks for clusters.
    pub explicit_cluster: bool,
    /// Shared addresses may be those of other blocks.
    pub clusters: bool,
    /// How many these are; 1 without clusters.
    pub cluster_blocks: u64,
    pub budget: Budget,
    /// Bytes of text so far.
    pub printed: AtomicU64,
    outcome: Mutex<Outcome>,
}

impl<'a> Deref for Context<'a> {
    type Target = Setting<'a>;
    #[inline(always)]
    fn deref(&self) -> &Setting<'a> {
        &self.setting
    }
}

/// Something that all workers write, on cache lines of its own (two, as processors fetch them in pairs): what lies
/// beside it is read with every instruction.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Apart<T>(T);

impl<T> Deref for Apart<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

/// What workers leave behind.
#[derive(Default)]
struct Outcome {
    /// Of the earliest block that stopped.
    stop: Option<(u64, Stop)>,
    printed: Vec<(u64, String)>,
    findings: Findings,
}

/// One host thread of a launch.
pub struct Worker<'a, O: Observer> {
    pub context: &'a Context<'a>,
    pub observer: O,
    pub snapshot: Snapshot,
    /// Warp instructions executed by this worker.
    pub clock: u64,
    /// What the machine itself found, once per instruction.
    pub findings: Findings,
    /// Register files of ended frames, by function.
    pool: Vec<Vec<Held>>,
    /// Warps of blocks that ended, for their memory.
    #[expect(clippy::vec_box, reason = "blocks keep them in boxes")]
    spare: Vec<Box<Warp>>,
    /// In the place of the warp that runs.
    pub nobody: Option<Box<Warp>>,
    reported: u64,
    /// The turn of the block did something that others may see, or that may be different the next time.
    pub acted: bool,
    pub watch: Watch,
    /// Who runs next.
    pub schedule: Schedule,
    /// The instruction that ran last waits: others should run.
    pub pause: bool,
    /// Blocks that have begun and not ended; the one that runs is taken out.
    pub resident: Vec<Option<Box<Block<O::Block>>>>,
}

impl<'a> Context<'a> {
    /// A launch that was found to be possible.
    #[expect(clippy::too_many_arguments, reason = "all that a launch consists of")]
    pub fn new(
        program: &'a Program,
        entry: u32,
        module: &Module,
        layout: Arc<Layout>,
        launch: &Launch<'_>,
        placed: Placed,
        memory: &'a Memory,
        setup: &'a Setup,
    ) -> Self {
        let function = &program.functions[entry as usize];
        let end = function.params.iter().map(|param| param.offset + param.size).max().unwrap_or(0);
        let mut bytes = vec![0; end.next_multiple_of(8) as usize];
        for (param, value) in function.params.iter().zip(launch.params) {
            let start = param.offset as usize;
            bytes[start..start + value.len()].copy_from_slice(value);
        }
        let words = bytes.chunks_exact(4).map(|word| word.iter().rev().fold(0, |v, byte| v << 8 | u32::from(*byte)));
        let threads: u32 = launch.block.iter().product();
        let thread_ids = (0..threads.div_ceil(32)).map(|warp| {
            let id = |lane| thread_id(launch.block, warp, lane);
            std::array::from_fn(|axis| std::array::from_fn(|lane| id(lane)[axis]))
        });
        Self {
            setting: Setting {
                program,
                memory,
                shared_bytes: layout.static_bytes + launch.dynamic_shared,
                layout,
                block: launch.block,
            },
            module: module.number,
            entry,
            flows: module.flows.clone(),
            addresses: module.addresses.clone(),
            dynamic_bytes: launch.dynamic_shared,
            setup,
            grid: launch.grid,
            threads,
            thread_ids: thread_ids.collect(),
            params: words.collect(),
            param_bytes: end,
            blocks: launch.grid.iter().map(|&n| u64::from(n)).product(),
            next: Apart::default(),
            stopped: AtomicBool::new(false),
            executed: Apart::default(),
            stillness: Apart::default(),
            resident: placed.resident,
            cluster: placed.cluster,
            explicit_cluster: launch.cluster.is_some() || function.required_cluster.is_some(),
            clusters: module.maps_addresses,
            cluster_blocks: placed.cluster.iter().map(|&n| u64::from(n)).product(),
            budget: Budget::new(setup.host_bytes),
            printed: AtomicU64::new(0),
            outcome: Mutex::default(),
        }
    }

    /// `%cluster_ctarank`.
    pub fn rank_of(&self, block: [u32; 3]) -> u64 {
        let [x, y, z] = std::array::from_fn(|axis| u64::from(block[axis] % self.cluster[axis]));
        x + u64::from(self.cluster[0]) * (y + u64::from(self.cluster[1]) * z)
    }

    /// `%ctaid` of the block that starts at `ticket`.
    pub fn block_id(&self, ticket: u64) -> [u32; 3] {
        let [cx, cy, _] = self.cluster.map(u64::from);
        let [x, y] = [u64::from(self.grid[0]) / cx, u64::from(self.grid[1]) / cy];
        let (cluster, rank) = (ticket / self.cluster_blocks, ticket % self.cluster_blocks);
        let first = [cluster % x, cluster / x % y, cluster / x / y];
        let within = [rank % cx, rank / cx % cy, rank / cx / cy];
        std::array::from_fn(|axis| (first[axis] * u64::from(self.cluster[axis]) + within[axis]) as u32)
    }

    fn workers(&self) -> u64 {
        let wanted = match self.setup.workers {
            _ if self.setup.seed.is_some() => 1,
            0 => std::thread::available_parallelism().map_or(1, |cores| cores.get()),
            workers => workers,
        };
        (wanted as u64).min(self.blocks / self.cluster_blocks).max(1)
    }

    /// The first block of the next cluster, without clusters the next block.
    fn ticket(&self) -> Option<u64> {
        // Not `fetch_add`: idle workers would count on past the end.
        let next = |next| (next < self.blocks).then_some(next + self.cluster_blocks);
        self.next.fetch_update(Relaxed, Relaxed, next).ok()
    }
}

/// What a launch leaves behind.
pub struct Ran<O> {
    /// The observer, which has seen everything.
    pub observer: O,
    /// Why the earliest block that stopped did so.
    pub stop: Option<Stop>,
    /// What the machine and the shadow of undefined values found, by place.
    pub findings: Vec<Finding>,
    /// Output of `vprintf`, block by block.
    pub printed: String,
}

/// Runs all blocks. `observe` makes a worker's observer.
pub fn run<O: Observer>(context: &Context<'_>, observe: impl Fn() -> O + Sync) -> Ran<O> {
    let workers = context.workers();
    let resident = context.resident.div_ceil(workers).next_multiple_of(context.cluster_blocks);
    let work = || Worker::new(context, observe()).work(resident);
    context.stillness.start(workers);
    let mut observer = observe();
    if workers == 1 {
        observer.absorb(work());
    } else {
        std::thread::scope(|scope| {
            let handles: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
            for handle in handles {
                match handle.join() {
                    Ok(seen) => observer.absorb(seen),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
        });
    }
    let mut outcome = context.outcome.lock().unwrap_or_else(PoisonError::into_inner);
    outcome.printed.sort_by_key(|(ticket, _)| *ticket);
    let printed = outcome.printed.iter().map(|(_, text)| text.as_str()).collect();
    let findings = std::mem::take(&mut outcome.findings).finish();
    Ran { observer, stop: outcome.stop.take().map(|(_, stop)| stop), findings, printed }
}

impl<'a, O: Observer> Worker<'a, O> {
    fn new(context: &'a Context<'a>, observer: O) -> Self {
        Self {
            context,
            observer,
            snapshot: context.memory.snapshot(),
            clock: 0,
            findings: Findings::default(),
            pool: context.program.functions.iter().map(|_| Vec::new()).collect(),
            spare: Vec::new(),
            nobody: None,
            reported: 0,
            acted: false,
            watch: Watch::default(),
            schedule: Schedule::new(context.setup.seed),
            pause: false,
            resident: Vec::new(),
        }
    }

    fn work(mut self, limit: u64) -> O {
        let mut turn = 0;
        while !self.context.stopped.load(Relaxed) {
            if self.resident.is_empty() {
                if !self.start() {
                    break;
                }
                let more = self.schedule.choose(4).unwrap_or(0);
                (0..more).take_while(|_| (self.resident.len() as u64) < limit && self.start()).count();
            }
            turn %= self.resident.len();
            self.snapshot.refresh(self.context.memory);
            let Some(mut block) = self.resident[turn].take() else { break };
            let ran = self.run_block(&mut block);
            if std::mem::take(&mut self.acted) {
                self.context.stillness.changed();
            }
            match ran {
                Ok(BlockTurn::Done) => {
                    self.context.stillness.changed();
                    self.resident.remove(turn);
                    self.leave(block.ticket, block.printed);
                    self.spare.append(&mut block.warps);
                    self.observer.end(block.observed);
                    if let Some(progress) = &self.context.setup.progress {
                        progress.fetch_add(1, Relaxed);
                    }
                    continue;
                }
                Ok(BlockTurn::Parked) => {
                    self.resident[turn] = Some(block);
                    if let Some(stop) = self.resident[turn].as_deref().and_then(|block| self.cluster_stuck(block)) {
                        self.fail(self.ticket_at(turn), stop);
                    }
                    turn += 1;
                }
                Ok(BlockTurn::Over) => {
                    self.resident[turn] = Some(block);
                    turn += 1;
                    let before = self.resident.len();
                    if (before as u64) < limit && self.start() {
                        turn = before;
                        self.context.stillness.changed();
                    }
                }
                Err(stop) => {
                    let ticket = block.ticket;
                    self.resident[turn] = Some(block);
                    self.fail(ticket, stop);
                }
            }
            if turn == self.resident.len()
                && let Err(stop) = self.check_livelock()
            {
                self.fail(self.ticket_at(0), stop);
            }
        }
        for mut block in std::mem::take(&mut self.resident).into_iter().flatten() {
            self.leave(block.ticket, std::mem::take(&mut block.printed));
        }
        self.merge_findings();
        self.context.stillness.leave();
        self.observer
    }

    /// Begins the next block, with clusters all blocks of the next cluster; false when none is left or the host has no
    /// room.
    fn start(&mut self) -> bool {
        let Some(first) = self.context.ticket() else { return false };
        for ticket in first..first + self.context.cluster_blocks {
            if let Err(stop) = self.afford_block() {
                self.fail(ticket, stop);
                return false;
            }
            let block = self.begin(ticket);
            self.resident.push(Some(Box::new(block)));
        }
        true
    }

    fn ticket_at(&self, turn: usize) -> u64 {
        self.resident.get(turn).and_then(Option::as_ref).map_or(0, |block| block.ticket)
    }

    fn leave(&self, ticket: u64, printed: String) {
        if !printed.is_empty() {
            self.outcome(|outcome| outcome.printed.push((ticket, printed)));
        }
    }

    fn fail(&self, ticket: u64, stop: Stop) {
        self.context.stopped.store(true, Relaxed);
        self.outcome(|outcome| {
            if outcome.stop.as_ref().is_none_or(|(earlier, _)| ticket < *earlier) {
                outcome.stop = Some((ticket, stop));
            }
        });
    }

    fn merge_findings(&mut self) {
        let mine = std::mem::take(&mut self.findings);
        self.outcome(|outcome| outcome.findings.absorb(mine));
    }

    fn outcome(&self, change: impl FnOnce(&mut Outcome)) {
        change(&mut self.context.outcome.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Stops the launch when it has used up its fuel, or when another worker has stopped.
    pub fn check_fuel(&mut self, block: &Block<O::Block>) -> Result<(), Stop> {
        let Some(limit) = self.context.setup.fuel else { return Ok(()) };
        let new = self.clock - self.reported;
        self.reported = self.clock;
        if self.context.executed.fetch_add(new, Relaxed) + new <= limit {
            return Ok(());
        }
        let title = format!("the limit of {limit} warp instructions is used up");
        let mut diagnostic = Diagnostic::new("fuel", title);
        diagnostic.help =
            Some("raise the limit if the kernel is only long; see below where its threads are".to_owned());
        self.describe_waiting(block, &mut diagnostic);
        Err(Stop::new(StopKind::Stuck, diagnostic))
    }

    /// A warp at the first instruction of the kernel.
    pub fn begin_warp(&mut self, block: [u32; 3], index: u32, lanes: u32) -> Box<Warp> {
        let mut warp = self.spare.pop().unwrap_or_default();
        (warp.index, warp.live) = (index, lanes);
        let frame = Frame { lanes, base: crate::memory::address::STACK_START, ..Frame::default() };
        self.open_frame(&mut warp, block, self.context.entry, frame, NO_JOIN);
        warp
    }

    /// Registers for a function, with undefined contents; and whether they are new, so that not even constants are in
    /// them.
    pub fn registers(&mut self, function: u32) -> (Held, bool) {
        if let Some(registers) = self.pool[function as usize].pop() {
            return (registers, false);
        }
        let rows = self.context.program.functions[function as usize].rows;
        self.context.budget.take(register_bytes(rows));
        let registers = Registers {
            w32: vec![[0; 32]; rows.w32 as usize],
            w64: vec![[0; 32]; rows.w64 as usize],
            pred: vec![0; rows.pred as usize],
            shadow: O::Shadow::ON.then(Box::default),
        };
        (registers.into(), true)
    }

    /// Registers that are kept for frames of a function.
    pub fn pooled(&self, function: u32) -> usize {
        self.pool[function as usize].len()
    }

    /// Warps that ended, for their memory; the last one is used first.
    pub fn spare(&self) -> &[Box<Warp>] {
        &self.spare
    }

    /// Keeps the registers of a frame that ended.
    pub fn recycle(pool: &mut [Vec<Held>], frame: &mut Frame) {
        pool[frame.function as usize].push(std::mem::take(&mut frame.registers));
    }

    /// The pool, for [`Worker::recycle`] while the worker's other parts are in use.
    pub fn pool(&mut self) -> &mut [Vec<Held>] {
        &mut self.pool
    }
}
