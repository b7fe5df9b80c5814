//! Threads that poll for something that no thread will do: proved by a state that comes back.
//!
//! A worker that goes round its blocks and finds every register, stack, barrier and waiting lane as it was an earlier
//! time, while no memory that others see has changed, will go round for ever unless somebody else changes memory. When
//! all workers are in that state, nobody will. An *epoch* counts changes: whatever writes memory, reads a clock,
//! prints, allocates, starts or ends a block begins a new one, and the workers' states count only when they came back
//! within the same epoch.
//!
//! A loop that stores on every turn, even the same value, or reads a clock is not recognised; [`crate::Config::fuel`]
//! ends it.

use super::block::Block;
use super::stillness::Watch;
use super::warp::State;
use super::worker::Worker;
use crate::observe::Observer;
use crate::stop::{Diagnostic, Stop, StopKind};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::Ordering::SeqCst;

/// Rounds without a change before states are compared, which costs time.
const CALM: u64 = 256;

impl<O: Observer> Worker<'_, O> {
    /// After a round over all blocks of this worker: a stop when no block of any worker will ever get anywhere.
    pub fn check_livelock(&mut self) -> Result<(), Stop> {
        let stillness = &self.context.stillness;
        let epoch = stillness.epoch.load(SeqCst);
        if epoch != self.watch.epoch {
            self.watch = Watch { epoch, ..Watch::default() };
            self.schedule.calm = false;
        }
        self.watch.rounds += 1;
        self.schedule.calm = self.watch.rounds >= CALM;
        if self.watch.rounds < CALM || self.watch.published {
            return Ok(());
        }
        let state = Some(state_of(&self.resident));
        if state != self.watch.earlier {
            if self.watch.rounds.is_power_of_two() {
                self.watch.earlier = state;
            }
            return Ok(());
        }
        self.watch.published = true;
        match self.resident.first() {
            Some(Some(first)) if stillness.publish(epoch) => Err(self.livelock(first)),
            _ => Ok(()),
        }
    }

    #[cold]
    fn livelock(&self, block: &Block<O::Block>) -> Stop {
        let mbarriers = self.resident.iter().flatten().all(|block| only_mbarriers(block));
        let (code, title) = match mbarriers {
            true => ("deadlock", "deadlock: every thread that runs waits for an mbarrier that no thread will complete"),
            false => ("livelock", "livelock: every thread that runs polls for something that no thread will do"),
        };
        let mut diagnostic = Diagnostic::new(code, title);
        for peer in self.resident.iter().flatten().filter(|peer| peer.cluster == block.cluster) {
            self.describe_waiting(peer, &mut diagnostic);
        }
        diagnostic
            .notes
            .push("the same state came back with nothing in memory changed, so this goes on for ever".to_owned());
        diagnostic.help =
            Some("look for the thread that should set what is polled: did it end, or does it wait too?".to_owned());
        Stop::new(StopKind::Stuck, diagnostic)
    }
}

/// Every lane that can run has found an mbarrier's phase incomplete.
fn only_mbarriers<B>(block: &Block<B>) -> bool {
    block.warps.iter().all(|warp| {
        let waits = block.in_flight.waits.get(&warp.index).map_or(0, |waiting| waiting.lanes);
        let ready = warp.splits.iter().filter(|split| split.state == State::Ready);
        ready.fold(0, |mask, split| mask | split.mask) & !waits == 0
    })
}

/// Everything that decides what the blocks do next, but for memory, which has not changed.
fn state_of<B>(resident: &[Option<Box<Block<B>>>]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for block in resident.iter().flatten() {
        (block.ticket, block.live, &block.barriers, &block.warps).hash(&mut hasher);
    }
    hasher.finish()
}
