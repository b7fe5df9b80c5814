//! State of one host thread of a launch.

use super::block::Block;
use super::context::{Context, Outcome};
use super::pool::Pool;
use super::position::Who;
use super::schedule::Schedule;
use super::stillness::Watch;
use super::warp::Warp;
use crate::memory::Snapshot;
use crate::observe::{Blamed, Findings, Observer, Scene, Site};
use crate::stop::Diagnostic;
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
    pub pool: Pool,
    /// Takes the place of the running warp in its block.
    pub placeholder: Option<Box<Warp>>,
    /// Part of `clock` that has been added to the launch's total.
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
    /// Creates a worker without blocks.
    pub fn new(context: &'a Context<'a>, observer: O) -> Self {
        Self {
            context,
            observer,
            snapshot: context.memory.snapshot(),
            clock: 0,
            findings: Findings::default(),
            pool: Pool::new(context.program),
            placeholder: None,
            reported: 0,
            acted: false,
            watch: Watch::default(),
            schedule: Schedule::new(context.setup.seed),
            pause: false,
            resident: Vec::new(),
        }
    }

    /// Adds this worker's findings to those of the launch.
    pub fn merge_findings(&mut self) {
        let mine = std::mem::take(&mut self.findings);
        self.outcome(|outcome| outcome.findings.absorb(mine));
    }

    /// Modifies the results of the launch.
    pub fn outcome(&self, change: impl FnOnce(&mut Outcome)) {
        change(&mut self.context.outcome.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Records a finding, which does not end the run. One is kept per instruction, with the text of the first block
    /// that had it.
    #[cold]
    pub fn finding(&mut self, who: Who, code: &'static str, describe: impl FnOnce() -> Diagnostic) {
        let Who { block, warp, lane, site } = who;
        let blamed = Blamed { block: self.context.block_id(block), warp, lane, site };
        self.findings.add(&self.context.setting, blamed, code, describe);
    }

    /// Returns the tracker of undefined values, and the scene of an instruction.
    #[inline(always)]
    pub fn shadow<'s>(
        &'s mut self,
        block: &'s mut Block<O::Block>,
        warp: &'s mut Warp,
        site: Site,
    ) -> (&'s mut O::Shadow, Scene<'s>) {
        let scene = Scene {
            setting: &self.context.setting,
            snapshot: &mut self.snapshot,
            findings: &mut self.findings,
            block: block.id,
            warp: warp.index,
            site,
            states: &mut block.states,
            local: &mut warp.states,
        };
        (self.observer.shadow(), scene)
    }
}
