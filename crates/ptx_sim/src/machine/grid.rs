//! One launch: blocks start strictly in order, on worker threads that each run several of them in turn.
//!
//! A block waits only for its own threads at barriers, but may spin on memory that other blocks write: single-pass
//! scans wait for earlier blocks, grid barriers for all blocks. A worker that sees a block spin therefore starts the
//! next one, and runs its resident blocks in turn. Blocks that have started keep making progress, regardless of the
//! number of workers.

use super::block::{Block, BlockTurn};
use super::context::Context;
use super::frame::{Frame, first_frame};
use super::warp::{NO_JOIN, Warp};
use super::worker::Worker;
use super::{afford, cluster_barrier, livelock, presets, stuck};
use crate::observe::Observer;
use crate::stop::{Diagnostic, Finding, Stop, StopKind};
use std::sync::PoisonError;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

/// Results of a launch.
pub struct Ran<O> {
    /// The merged observer of all workers.
    pub observer: O,
    /// Stop of the earliest block that stopped.
    pub stop: Option<Stop>,
    /// Findings of the machine and of the tracker of undefined values, sorted by place.
    pub findings: Vec<Finding>,
    /// Output of `vprintf`, block by block.
    pub printed: String,
}

/// Runs all blocks. `observe` creates a worker's observer.
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
    fn work(mut self, limit: u64) -> O {
        let mut turn = 0;
        while !self.context.stopped.load(Relaxed) {
            if self.resident.is_empty() {
                if !self.start() {
                    break;
                }
                let more = self.schedule.more_blocks();
                (0..more).take_while(|_| (self.resident.len() as u64) < limit && self.start()).count();
            }
            turn %= self.resident.len();
            // With a seed any block may be next; `turn` counts the turns of a round then.
            let next = self.schedule.block(turn, self.resident.len());
            self.snapshot.refresh(self.context.memory);
            let Some(mut block) = self.resident[next].take() else { break };
            let ran = self.run_block(&mut block);
            if std::mem::take(&mut self.acted) {
                self.context.stillness.changed();
            }
            match ran {
                Ok(BlockTurn::Done) => {
                    self.context.stillness.changed();
                    self.resident.remove(next);
                    self.leave(block.ticket, block.printed);
                    self.pool.keep_warps(block.warps.drain(..));
                    self.observer.end(block.observed);
                    if let Some(progress) = &self.context.setup.progress {
                        progress.fetch_add(1, Relaxed);
                    }
                    continue;
                }
                Ok(BlockTurn::Parked) => {
                    self.resident[next] = Some(block);
                    if let Some(stop) =
                        self.resident[next].as_deref().and_then(|block| cluster_barrier::deadlock(&self, block))
                    {
                        self.fail(self.ticket_at(next), stop);
                    }
                    turn += 1;
                }
                Ok(BlockTurn::Over) => {
                    self.resident[next] = Some(block);
                    turn += 1;
                    let before = self.resident.len();
                    if (before as u64) < limit && self.start() {
                        turn = before;
                        self.context.stillness.changed();
                    }
                }
                Err(stop) => {
                    let ticket = block.ticket;
                    self.resident[next] = Some(block);
                    self.fail(ticket, stop);
                }
            }
            if turn == self.resident.len()
                && let Err(stop) = livelock::check(&mut self)
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

    /// Starts the next block, or all blocks of the next cluster; returns false when none is left or the host has no
    /// memory for it.
    fn start(&mut self) -> bool {
        let Some(first) = self.context.ticket() else { return false };
        for ticket in first..first + self.context.cluster_blocks {
            if let Err(stop) = afford::afford_block(self) {
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

    /// Checks the limits of the launch on instructions and on time.
    ///
    /// # Errors
    /// `fuel` or `timeout` when a limit is exceeded.
    pub fn check_limits(&mut self, block: &Block<O::Block>) -> Result<(), Stop> {
        if let Some(limit) = self.context.setup.fuel {
            let new = self.clock - self.reported;
            self.reported = self.clock;
            if self.context.executed.fetch_add(new, Relaxed) + new > limit {
                return Err(self.exceeded(block, "fuel", &format!("{limit} warp instructions"), "instructions"));
            }
        }
        match self.context.setup.deadline {
            Some((end, limit)) if Instant::now() >= end => {
                Err(self.exceeded(block, "timeout", &format!("{limit:?}"), "time"))
            }
            _ => Ok(()),
        }
    }

    #[cold]
    fn exceeded(&self, block: &Block<O::Block>, code: &'static str, limit: &str, of: &str) -> Stop {
        let mut diagnostic = Diagnostic::new(code, format!("the kernel exceeded the limit of {limit}"));
        let help = format!("raise the limit if the kernel needs more {of}; the places of its threads are listed here");
        diagnostic.help = Some(help);
        stuck::describe_waiting(self, block, &mut diagnostic);
        Stop::new(StopKind::Stuck, diagnostic)
    }

    /// Creates a warp at the first instruction of the kernel.
    pub fn begin_warp(&mut self, block: [u32; 3], index: u32, lanes: u32) -> Box<Warp> {
        let mut warp = self.pool.warp();
        (warp.index, warp.live) = (index, lanes);
        let base = first_frame(&self.context.program.functions[self.context.entry as usize]);
        let frame = Frame { lanes, base, ..Frame::default() };
        presets::open_frame(self, &mut warp, block, self.context.entry, frame, NO_JOIN);
        warp
    }
}
