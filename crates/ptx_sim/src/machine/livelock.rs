//! Detection of threads that poll for a change that no thread will make, by a repeated state.
//!
//! If a worker runs all its blocks and finds every register, stack, barrier, waiting lane and word of `.shared` memory
//! in an earlier state, while no other shared memory has changed, it will repeat this forever unless another worker
//! changes memory. When all workers are in that situation, none will. An *epoch* counts changes: writing memory that
//! other blocks can access, reading a clock, printing, allocating, and starting or ending a block begin a new epoch,
//! and repeated states count only within one epoch.
//!
//! A loop that stores to global memory in every iteration, even the same value, that counts its iterations, or that
//! reads a clock is not recognised; [`crate::Config::fuel`] ends it.

use super::block::{Block, peers};
use super::stillness::Watch;
use super::stuck;
use super::warp::State;
use super::worker::Worker;
use crate::observe::Observer;
use crate::stop::{Diagnostic, Stop, StopKind};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

/// Number of rounds without a change, and without a store to `.shared` memory, before states are compared; fewer if
/// they took many instructions, as those of hundreds of large blocks do.
const CALM: u64 = 64;
const CALM_OF_LARGE: u64 = 4;
const LARGE: u64 = 1 << 20;
/// Limit on the hashing between a round that is a power of two and the next such round: the whole state is hashed at
/// most `COMPARED` times, or once for every `SHARE` rounds if that is more. To hash the state takes as long as
/// thousands of instructions, and a thread may compute, or read a word that does not change, for millions of them. A
/// cycle of `n` rounds is found within `2 * SHARE * n` rounds, and within about `3 * n` if the first parts of two of
/// its states differ.
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
        worker.watch = Watch { epoch, clock: worker.clock, ..Watch::default() };
        worker.schedule.calm = false;
    }
    worker.watch.rounds += 1;
    worker.schedule.calm = is_calm(&worker.watch, worker.clock);
    if !worker.schedule.calm || worker.watch.published || !repeats(worker) {
        return Ok(());
    }
    worker.watch.published = true;
    match worker.resident.first() {
        Some(Some(first)) if stillness.publish(epoch) => Err(livelock(worker, first)),
        _ => Ok(()),
    }
}

fn is_calm(watch: &Watch, clock: u64) -> bool {
    let large = watch.rounds >= CALM_OF_LARGE && clock - watch.clock >= LARGE;
    large || watch.rounds >= CALM && !watch.stored
}

/// Whether the state after this round is that of the last round that was a power of two, as far as is compared.
fn repeats<O: Observer>(worker: &mut Worker<'_, O>) -> bool {
    let watch = &mut worker.watch;
    if watch.rounds.is_power_of_two() {
        watch.earlier = parts(&worker.resident).collect();
        watch.hashed = 0;
        return false;
    }
    // There is no earlier state if no round since the last change was a power of two.
    if watch.earlier.is_empty() || watch.hashed >= most_hashed(watch.rounds, watch.earlier.len()) {
        return false;
    }
    let hashed = &mut watch.hashed;
    parts(&worker.resident).inspect(|_| *hashed += 1).eq(watch.earlier.iter().copied())
}

/// How many parts of a state are hashed between the last power of two and the next.
fn most_hashed(round: u64, parts: usize) -> u64 {
    parts as u64 * COMPARED.max((1 << round.ilog2()) / SHARE)
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

/// Hashes all state that determines what the blocks do next, except memory that has not changed: warp by warp, so that
/// a comparison ends at the first one that differs.
fn parts<B>(resident: &[Option<Box<Block<B>>>]) -> impl Iterator<Item = u64> {
    resident.iter().flatten().flat_map(|block| {
        let of_block = hash(&(block.ticket, block.live, &block.barriers, &block.shared));
        block.warps.iter().map(hash).chain([of_block])
    })
}

fn hash(part: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    part.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rounds in which whole states are compared after a power of two, if every comparison takes all parts.
    fn compared_wholly(round: u64) -> bool {
        let offset = round - (1 << round.ilog2());
        offset > 0 && (offset - 1) * 7 < most_hashed(round, 7)
    }

    #[test]
    fn cycles_of_any_length_are_found_in_a_part_of_the_rounds() {
        for length in 1..=1000 {
            let found = (CALM..).find(|&round| round - (1 << round.ilog2()) == length && compared_wholly(round));
            assert!(found.is_some_and(|round| round <= (2 * SHARE * length + length).max(2 * CALM)), "{length}");
        }
        let compared = (1 << 14..1 << 15).filter(|&round| compared_wholly(round)).count();
        assert_eq!(compared, 1 << 10);
    }

    #[test]
    fn large_rounds_are_calm_early() {
        let calm = |rounds, clock, stored| is_calm(&Watch { rounds, stored, clock: 5, ..Watch::default() }, 5 + clock);
        assert!(!calm(CALM - 1, LARGE - 1, false) && calm(CALM, 0, false) && !calm(CALM, 0, true));
        assert!(!calm(CALM_OF_LARGE - 1, 100 * LARGE, false) && calm(CALM_OF_LARGE, LARGE, true));
    }
}
