//! The multiprocessor with the most blocks, which determines the time of a launch: the blocks that the trace recorded
//! are replayed, and the others continue at their rate.

use super::costs::Costs;
use super::replay::{CAUSES, Cause, Others, Rates, Replayed, Setting, different_sectors, replay};
use super::subject::Subject;
use super::without::Without;
use crate::program::Program;
use crate::trace::{Act, BlockTrace};
use std::borrow::Cow;

/// Bytes of the first-level cache and shared memory of a multiprocessor, and the least that the cache has.
const L1_BYTES: u64 = 256 << 10;
const LEAST_L1_BYTES: u64 = 16 << 10;

/// Data of up to this many times the second-level cache finds data of others there, which is partly written back; from
/// twice as much on a kernel finds the end of its own.
const OTHERS: f64 = 4.0;

/// The time of the busiest multiprocessor.
pub struct Busiest {
    /// Its cycles.
    pub cycles: f64,
    /// Parts of them by cause, which add up to them.
    pub parts: [f64; CAUSES],
    /// Cycles in which the units work that the causes stand for.
    pub busy: [f64; CAUSES],
}

/// The multiprocessor, with what all its replays share.
pub struct Multiprocessor<'a> {
    subject: &'a Subject<'a>,
    costs: &'a Costs,
    /// Number of its blocks.
    own: u64,
    /// The recorded ones that it gets first, without a gap.
    chosen: Vec<Cow<'a, BlockTrace>>,
    /// Work of a block of the device relative to that of these; 1 where the work is not drawn.
    part: f64,
    /// Whether blocks draw their work.
    drawn: bool,
    rates: Rates,
}

impl<'a> Multiprocessor<'a> {
    pub fn new(subject: &'a Subject<'a>, costs: &'a Costs) -> Self {
        let multiprocessors = subject.multiprocessors();
        let recorded = subject.traced.blocks.iter().zip(0_u64..);
        let mut chosen: Vec<Cow<'_, BlockTrace>> = recorded
            .take_while(|(block, at)| block.number == at * multiprocessors)
            .map(|(block, _)| Cow::Borrowed(block))
            .collect();
        let own = subject.blocks.max(1).div_ceil(multiprocessors);
        let drawn = part(subject, &chosen);
        let mut part = drawn.unwrap_or(1.0);
        if part < 1.0 {
            // The device's blocks end where these have had their part: the time to fill and to drain is the same.
            chosen.iter_mut().for_each(|block| *block = Cow::Owned(block.up_to(part)));
            part = 1.0;
        }
        let rates = rates(subject, &chosen, costs);
        Self { subject, costs, own, chosen, part, drawn: drawn.is_some(), rates }
    }

    /// Instructions of the longest warp of its recorded blocks relative to the mean.
    pub fn unequal(&self) -> f64 {
        let warps: Vec<f64> = self.chosen.iter().flat_map(|block| &block.warps).map(|warp| warp.total as f64).collect();
        let mean = warps.iter().sum::<f64>() / warps.len().max(1) as f64;
        if mean > 0.0 { warps.iter().copied().fold(0.0, f64::max) / mean } else { 1.0 }
    }

    /// Its time with all work of the kernel.
    pub fn time(&self) -> Busiest {
        self.replayed(None)
    }

    /// Its cycles without some work of the kernel, or `None` if the kernel has no such work.
    pub fn without(&self, work: Without) -> Option<f64> {
        let Subject { counters, occupancy, .. } = *self.subject;
        let several_waves = self.own > u64::from(occupancy.blocks);
        let has = match work {
            Without::Conflicts => counters.shared_wavefronts > counters.shared_ideal_wavefronts,
            // A few unaligned requests are no pattern.
            Without::Scattered => 10 * counters.global_sectors > 11 * counters.global_ideal_sectors,
            Without::Contention => counters.global_atomics > 0,
            Without::Starts => several_waves,
            // Blocks that the multiprocessor does not get would not fill its places.
            Without::EmptyPlaces => {
                several_waves && 2 * occupancy.warps <= self.subject.profile.warps_per_multiprocessor()
            }
            Without::NarrowAccesses | Without::Barriers => true,
        };
        has.then(|| self.replayed(Some(work)).cycles)
    }

    fn replayed(&self, without: Option<Without>) -> Busiest {
        let Self { subject, costs, own, ref chosen, part, drawn, mut rates } = *self;
        let blocks: Vec<&BlockTrace> = chosen.iter().map(Cow::as_ref).collect();
        let places = if without == Some(Without::EmptyPlaces) { 2 } else { 1 } * subject.occupancy.blocks.max(1);
        let resident = u64::from(places).min(own) as u32;
        let shared = u64::from(resident) * subject.shared_bytes;
        if without == Some(Without::Contention) {
            rates.atomic = 0.0;
        }
        let active = subject.blocks.max(1).min(subject.multiprocessors());
        let setting = Setting {
            resident,
            start: costs.block_start_ns * subject.clock() * active as f64,
            cache_bytes: L1_BYTES.saturating_sub(shared).max(LEAST_L1_BYTES),
            rates,
            others: Others {
                first: &subject.traced.shared,
                at_once: active * u64::from(resident),
                relay: subject.traced.relayed > 0,
            },
            without,
        };
        let replayed = replay(subject.program, &blocks, &setting, costs);
        let (end, idle) = (replayed.ends.last().copied().unwrap_or(0.0), replayed.idle);
        let recorded = replayed.ends.len() as u64;
        let mut causes = replayed.causes;
        let warps = chosen.first().map_or(1, |block| block.warps.len()) as f64 * f64::from(resident);
        causes[Cause::Memory as usize] += (idle - end).max(0.0) * warps;
        causes[Cause::Blocks as usize] += costs.block_cycles * warps;
        let mut cycles = end.max(idle);
        if own > recorded && recorded > 0 {
            // The rest continues at the rate of the second half of those that were recorded, or of memory.
            let half = replayed.ends[(recorded as usize - 1) / 2];
            let rate = if recorded > 1 { (end - half) / (recorded / 2) as f64 } else { end / f64::from(resident) };
            cycles = (end + (own - recorded) as f64 * rate).max(idle * own as f64 / recorded as f64);
        }
        let chain = self.chain(&replayed, &setting);
        causes[Cause::Latency as usize] += (chain - cycles).max(0.0) * warps;
        cycles = cycles.max(chain);
        // Where blocks draw their work, one that did more has had a larger part of it.
        if !drawn {
            cycles += extra_of_the_last(subject, &setting, costs);
        }
        // What comes before the first copy has arrived does not depend on the number of copies.
        let first = replayed.first.min(cycles);
        cycles = first + (cycles - first) * part + costs.block_cycles;
        let continued = own as f64 / recorded.max(1) as f64 * part;
        let busy = replayed.busy.map(|busy| (busy * continued).min(cycles));
        Busiest { cycles, parts: parts(cycles, &causes, &busy), busy }
    }

    /// Cycles in which results pass through a chain of blocks from the first one to the last, each of which waits for
    /// earlier ones; 0 without such a chain.
    fn chain(&self, replayed: &Replayed, setting: &Setting<'_>) -> f64 {
        let passed = self.subject.traced.relayed as f64 * replayed.relay;
        let Some(first) = self.chosen.first().filter(|_| passed > 0.0) else { return 0.0 };
        // The first block starts the chain, and the last one ends as the first one does.
        passed + alone(self.subject.program, first, setting, self.costs)
    }
}

/// Where blocks draw their work, the device's blocks draw equal parts, while the simulator's schedule lets some do
/// more: the mean over the number of copies of the recorded blocks, if there is an atomic for each copy.
fn part(subject: &Subject<'_>, chosen: &[Cow<'_, BlockTrace>]) -> Option<f64> {
    let signals = chosen.iter().flat_map(|block| &block.warps).flat_map(|warp| &warp.signals);
    let copies = signals.filter(|signal| signal.act == Act::Copies).count();
    let all = subject.traced.copies;
    if copies == 0 || subject.counters.global_atomics < all {
        return None;
    }
    Some((all * chosen.len() as u64).div_ceil(subject.blocks.max(1)) as f64 / copies as f64)
}

/// The parts of the time: the unit that works the longest has at least the time in which it works, because nothing else
/// makes the kernel shorter than that; the rest is divided by what the warps wait for.
fn parts(cycles: f64, causes: &[f64; CAUSES], busy: &[f64; CAUSES]) -> [f64; CAUSES] {
    let all: f64 = causes.iter().sum();
    let mut parts = causes.map(|waits| if all > 0.0 { cycles * waits / all } else { 0.0 });
    let longest = (0..CAUSES).max_by(|&a, &b| busy[a].total_cmp(&busy[b])).unwrap_or_default();
    let (waited, works) = (parts[longest], busy[longest].min(cycles));
    if all > 0.0 && works > waited {
        parts = parts.map(|part| part * (cycles - works) / (cycles - waited));
        parts[longest] = works;
    }
    parts
}

/// Returns by how much the last block that did the most takes longer alone than the first one. In many reductions it
/// adds up the results of all blocks.
fn extra_of_the_last(subject: &Subject<'_>, setting: &Setting<'_>, costs: &Costs) -> f64 {
    let (Some(first), Some(last)) = (subject.traced.blocks.first(), &subject.traced.last) else { return 0.0 };
    let alone = |block: &BlockTrace| alone(subject.program, block, setting, costs);
    (alone(last) - alone(first)).max(0.0)
}

/// Cycles of a block that has a multiprocessor to itself.
fn alone(program: &Program, block: &BlockTrace, setting: &Setting<'_>, costs: &Costs) -> f64 {
    let replayed = replay(program, &[block], &Setting { resident: 1, ..*setting }, costs);
    replayed.ends.last().copied().unwrap_or(0.0)
}

/// The share of memory that the multiprocessor has.
fn rates(subject: &Subject<'_>, chosen: &[Cow<'_, BlockTrace>], costs: &Costs) -> Rates {
    let clock = subject.clock();
    let blocks = subject.blocks.max(1);
    let active = blocks.min(subject.multiprocessors()) as f64;
    let share = subject.bandwidth(costs) / active / clock; // bytes per cycle
    let l2 = (share * costs.l2_over_memory).min(costs.l2_bytes_per_cycle);
    let l2_bytes = subject.profile.l2_bytes as f64;
    let bytes = |bytes: u64| bytes as f64 * subject.stands_for;
    let (read, written) = (bytes(subject.traced.read_bytes), bytes(subject.traced.written_bytes));
    let moved = read + written;
    let others = l2_bytes * (2.0 - moved / (OTHERS * l2_bytes).max(1.0)).clamp(0.0, 1.0);
    let evicted = costs.modified * moved.min(others);
    // Traffic with device memory per byte, where some bytes stay in the cache, and the others move as pairs of sectors.
    let traffic = |bytes: f64, stay: f64, moves: f64| {
        if bytes > 0.0 { (moves * (bytes - stay) + evicted * bytes / moved) / bytes } else { 1.0 }
    };
    let moves = subject.moves(costs);
    let blocks_of_one: Vec<&BlockTrace> = chosen.iter().map(Cow::as_ref).collect();
    let own = bytes(32 * different_sectors(subject.program, &blocks_of_one, false) as u64) * blocks as f64
        / chosen.len().max(1) as f64;
    Rates {
        l2: 32.0 / l2,
        bulk: 32.0 / costs.l2_bytes_per_cycle,
        dram: 32.0 / share,
        line: costs.store_line_cycles.max(costs.store_line_ns * clock * active),
        atomic: subject.atomics_ns(costs) * clock * active / subject.counters.global_atomics.max(1) as f64,
        first: if own > 0.0 { (read / own).min(1.0) } else { 1.0 },
        read: traffic(read, 0.0, moves[0]),
        written: traffic(written, written.min(others), moves[1]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_that_works_the_longest_has_that_time() {
        let (mut causes, mut busy) = ([0.0; CAUSES], [0.0; CAUSES]);
        causes[Cause::Latency as usize] = 600.0;
        causes[Cause::Blocks as usize] = 300.0;
        causes[Cause::Memory as usize] = 100.0;
        let waiting = parts(100.0, &causes, &busy);
        assert_eq!((waiting[Cause::Latency as usize], waiting[Cause::Memory as usize]), (60.0, 10.0));
        busy[Cause::Memory as usize] = 91.0;
        busy[Cause::Issue as usize] = 40.0;
        let saturated = parts(100.0, &causes, &busy);
        let expected = [(Cause::Memory, 91.0), (Cause::Latency, 6.0), (Cause::Blocks, 3.0), (Cause::Issue, 0.0)];
        for (cause, cycles) in expected {
            assert!((saturated[cause as usize] - cycles).abs() < 1e-9, "{cause:?}: {saturated:?}");
        }
        busy[Cause::Memory as usize] = 1000.0;
        assert!((parts(100.0, &causes, &busy).iter().sum::<f64>() - 100.0).abs() < 1e-9);
    }
}
