//! State of one host thread of a launch.

use super::block::Block;
use super::budget::register_bytes;
use super::context::{Context, Outcome};
use super::frame::{Frame, Held};
use super::schedule::Schedule;
use super::stillness::Watch;
use super::warp::Warp;
use crate::memory::Snapshot;
use crate::observe::{Findings, Observer, Shadow};
use crate::registers::Registers;
use std::sync::PoisonError;

/// One host thread of a launch.
pub struct Worker<'a, O: Observer> {
    pub context: &'a Context<'a>,
    pub observer: O,
    pub snapshot: Snapshot,
    /// Number of warp instructions executed by this worker.
    pub clock: u64,
    /// Findings of the machine itself, one per instruction.
    pub findings: Findings,
    /// Register files of ended frames by function, for reuse.
    pub pool: Vec<Vec<Held>>,
    /// Warps of ended blocks, whose memory is reused.
    #[expect(clippy::vec_box, reason = "blocks keep them in boxes")]
    pub spare: Vec<Box<Warp>>,
    /// Placeholder for the warp that runs.
    pub nobody: Option<Box<Warp>>,
    pub reported: u64,
    /// Whether the block's turn had an effect that others can see, or that may differ the next time.
    pub acted: bool,
    pub watch: Watch,
    /// Scheduler.
    pub schedule: Schedule,
    /// Whether the last instruction waits, so that others should run.
    pub pause: bool,
    /// Blocks that have started and not ended; the running block is taken out.
    pub resident: Vec<Option<Box<Block<O::Block>>>>,
}

impl<'a, O: Observer> Worker<'a, O> {
    pub fn new(context: &'a Context<'a>, observer: O) -> Self {
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

    pub fn merge_findings(&mut self) {
        let mine = std::mem::take(&mut self.findings);
        self.outcome(|outcome| outcome.findings.absorb(mine));
    }

    pub fn outcome(&self, change: impl FnOnce(&mut Outcome)) {
        change(&mut self.context.outcome.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Returns registers for a function with undefined contents, and whether they are new, so that even their constants
    /// have to be filled in.
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

    /// Returns the number of register files that are kept for frames of a function.
    pub fn pooled(&self, function: u32) -> usize {
        self.pool[function as usize].len()
    }

    /// Returns the warps of ended blocks, whose memory is reused; the last one is used first.
    pub fn spare(&self) -> &[Box<Warp>] {
        &self.spare
    }

    /// Keeps the registers of an ended frame for reuse.
    pub fn recycle(pool: &mut [Vec<Held>], frame: &mut Frame) {
        pool[frame.function as usize].push(std::mem::take(&mut frame.registers));
    }

    /// Returns the pool, for [`Worker::recycle`] while the worker's other parts are borrowed.
    pub fn pool(&mut self) -> &mut [Vec<Held>] {
        &mut self.pool
    }
}
