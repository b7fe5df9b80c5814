//! Detection of threads that poll for a change that no thread will make, by a repeated state.
//!
//! If a worker runs all its blocks and finds every register, stack, barrier and waiting lane in an earlier state, while
//! no shared memory has changed, it will repeat this forever unless another worker changes memory. When all workers are
//! in that situation, none will. An *epoch* counts changes: writing memory, reading a clock, printing, allocating, and
//! starting or ending a block begin a new epoch, and repeated states count only within one epoch.
//!
//! A loop that stores in every iteration, even the same value, or reads a clock is not recognised;
//! [`crate::Config::fuel`] ends it.

use super::block::{Block, peers};
use super::stillness::Watch;
use super::stuck;
use super::warp::State;
use super::worker::Worker;
use crate::observe::Observer;
use crate::stop::{Diagnostic, Stop, StopKind};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

/// Number of rounds without a change before states are compared.
const CALM: u64 = 64;
/// States are compared in this many rounds after each power of two, or in one of `SHARE` rounds if that is more: to
/// hash the state takes as long as thousands of instructions, and a thread may compute, or read a word that does not
/// change, for millions of them. A cycle of `n` rounds is found within `2 * SHARE * n` rounds.
const COMPARED: u64 = 16;
const SHARE: u64 = 16;

/// Called after a round over all blocks of this worker.
///
/// # Errors
/// `livelock` or `deadlock` when no block of any worker can make progress.
pub fn check<O: Observer>(worker: &mut Worker<'_, O>) -> Result<(), Stop> {
    let stillness = &worker.context.stillness;
    let epoch = stillness.epoch.load(SeqCst);
    if epoch != worker.watch.epoch {
        worker.watch = Watch { epoch, ..Watch::default() };
        worker.schedule.calm = false;
    }
    worker.watch.rounds += 1;
    worker.schedule.calm = worker.watch.rounds >= CALM;
    if worker.watch.rounds < CALM || worker.watch.published || !is_compared(worker.watch.rounds) {
        return Ok(());
    }
    let state = Some(state_of(&worker.resident));
    if state != worker.watch.earlier {
        if worker.watch.rounds.is_power_of_two() {
            worker.watch.earlier = state;
        }
        return Ok(());
    }
    worker.watch.published = true;
    match worker.resident.first() {
        Some(Some(first)) if stillness.publish(epoch) => Err(livelock(worker, first)),
        _ => Ok(()),
    }
}

/// Whether the state after a round is compared with that of the last round that was a power of two.
fn is_compared(round: u64) -> bool {
    let power = 1 << round.max(1).ilog2();
    round - power <= COMPARED.max(power / SHARE)
}

#[cold]
fn livelock<O: Observer>(worker: &Worker<'_, O>, block: &Block<O::Block>) -> Stop {
    let mbarriers = worker.resident.iter().flatten().all(|block| only_mbarriers(block));
    let (code, title) = match mbarriers {
        true => ("deadlock", "deadlock: every running thread waits for an mbarrier that no thread will complete"),
        false => ("livelock", "livelock: every running thread polls for a change that no thread will make"),
    };
    let mut diagnostic = Diagnostic::new(code, title);
    for peer in peers(&worker.resident, block.cluster) {
        stuck::describe_waiting(worker, peer, &mut diagnostic);
    }
    diagnostic.notes.push("the state repeated without a change in memory, so the threads poll forever".to_owned());
    diagnostic.help =
        Some("find the thread that should make the change: it may have ended, or may be waiting itself".to_owned());
    let context = worker.context;
    let waiting = context.blocks - context.next.load(Relaxed).min(context.blocks);
    if waiting != 0 {
        let (blocks, resident, name) = (context.blocks, context.resident, &context.setup.profile.name);
        diagnostic.notes.push(format!(
            "{waiting} of the grid's {blocks} blocks have not started: an {name} has room for {resident} at one time, \
             and the others start only when those end"
        ));
        diagnostic.help = Some(format!(
            "blocks that wait for all blocks of the grid need a grid that fits, of at most {resident} blocks here; a \
             cooperative launch refuses a larger one"
        ));
    }
    Stop::new(StopKind::Stuck, diagnostic)
}

/// Whether every lane that can run has found an mbarrier's phase incomplete.
fn only_mbarriers<B>(block: &Block<B>) -> bool {
    block.warps.iter().all(|warp| {
        let waits = block.in_flight.waits.get(&warp.index).map_or(0, |waiting| waiting.lanes);
        let ready = warp.splits.iter().filter(|split| split.state == State::Ready);
        ready.fold(0, |mask, split| mask | split.mask) & !waits == 0
    })
}

/// Hashes all state that determines what the blocks do next, except memory, which has not changed.
fn state_of<B>(resident: &[Option<Box<Block<B>>>]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for block in resident.iter().flatten() {
        (block.ticket, block.live, &block.barriers, &block.warps).hash(&mut hasher);
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_of_any_length_are_found_in_a_part_of_the_rounds() {
        for length in 1..=1000 {
            let found = (CALM..).find(|&round| {
                let power = 1 << round.ilog2();
                round - power == length && is_compared(round)
            });
            assert!(found.is_some_and(|round| round <= (2 * SHARE * length + length).max(2 * CALM)), "{length}");
        }
        let compared = (1 << 14..1 << 15).filter(|&round| is_compared(round)).count();
        assert_eq!(compared, (1 << 10) + 1);
    }
}
