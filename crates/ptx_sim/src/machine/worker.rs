//! One host thread of a launch: what it keeps between instructions.

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
    /// Warp instructions executed by this worker.
    pub clock: u64,
    /// What the machine itself found, once per instruction.
    pub findings: Findings,
    /// Register files of ended frames, by function.
    pub pool: Vec<Vec<Held>>,
    /// Warps of blocks that ended, for their memory.
    #[expect(clippy::vec_box, reason = "blocks keep them in boxes")]
    pub spare: Vec<Box<Warp>>,
    /// In the place of the warp that runs.
    pub nobody: Option<Box<Warp>>,
    pub reported: u64,
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
