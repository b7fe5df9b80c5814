//! Memory as one multiprocessor sees it: the unit that takes its requests, the first-level cache, and its share of the
//! second-level cache and of device memory. Each is a queue with a rate; a request waits until the queue is free.

use super::cache::Cache;
use crate::explain::Costs;
use std::collections::{HashMap, HashSet};

/// Rates of the queues, in cycles of the multiprocessor.
#[derive(Clone, Copy, Debug)]
pub(in crate::explain) struct Rates {
    /// Cycles per sector from the second-level cache.
    pub l2: f64,
    /// The same for bulk copies, which ask for whole lines. Fitted: products of bf16 of 1024.
    pub bulk: f64,
    /// Cycles per sector from device memory.
    pub dram: f64,
    /// Cycles per line of a store.
    pub line: f64,
    /// Cycles per request of atomics.
    pub atomic: f64,
    /// Fraction of the sectors new to this multiprocessor that come from device memory; the others were read by
    /// another multiprocessor before.
    pub first: f64,
    /// Traffic with device memory per sector read: more than 1 if the second-level cache holds modified data, which is
    /// written back.
    pub read: f64,
    /// The same per sector written for the first time.
    pub written: f64,
}

/// Who else reads the sectors.
#[derive(Clone, Copy, Debug)]
pub(in crate::explain) struct Others<'t> {
    /// The sectors that an earlier block reads too, with the first one that does.
    pub first: &'t HashMap<u64, u32>,
    /// Blocks of the device that run at the same time.
    pub at_once: u64,
    /// Whether blocks pass words to each other during the launch.
    pub relay: bool,
}

/// What a load is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader {
    /// Number of the block.
    pub block: u64,
    /// Whether it looks in the first-level cache.
    pub cached: bool,
    /// Whether it may read what others wrote during the launch, which is in the second-level cache.
    pub awaits: bool,
    /// Wavefronts over the banks of the first-level cache.
    pub passes: u32,
}

/// When a result arrives, and what it waited for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Arrival {
    pub at: f64,
    /// Cycles in the queue of device memory.
    pub dram: f64,
    /// Cycles in the other queues.
    pub cache: f64,
}

/// Number of lines that sectors in order are in.
pub(super) fn lines(sectors: &[u64]) -> u32 {
    sectors.chunk_by(|a, b| a / 4 == b / 4).count() as u32
}

/// Cycles in which the queues moved something.
#[derive(Debug, Default)]
pub(super) struct Worked {
    pub dram: f64,
    pub atomics: f64,
    requests: f64,
    l2: f64,
    stores: f64,
}

impl Worked {
    /// The busiest of the caches' queues.
    pub fn cache(&self) -> f64 {
        self.requests.max(self.l2).max(self.stores)
    }
}

/// The queues; each number is the cycle at which one is free.
#[derive(Debug)]
pub(super) struct Memory<'t> {
    rates: Rates,
    others: Others<'t>,
    latency: (f64, f64, f64),
    cache: Cache,
    /// Arrivals of the sectors of a load that the first-level cache has.
    found: Vec<Option<f64>>,
    read: HashSet<u64>,
    written: HashSet<u64>,
    /// Fraction of a sector that device memory still has to deliver.
    owed: f64,
    pub requests: f64,
    pub l2: f64,
    pub dram: f64,
    pub stores: f64,
    pub atomics: f64,
    pub worked: Worked,
    /// Arrival of the first bulk copy.
    pub first: Option<f64>,
}

impl<'t> Memory<'t> {
    pub fn new(rates: Rates, others: Others<'t>, cache_bytes: u64, costs: &Costs) -> Self {
        Self {
            rates,
            others,
            latency: (costs.l1_cycles, costs.l2_cycles, costs.global_cycles),
            cache: Cache::new(cache_bytes),
            found: Vec::new(),
            read: HashSet::new(),
            written: HashSet::new(),
            owed: 0.0,
            requests: 0.0,
            l2: 0.0,
            dram: 0.0,
            stores: 0.0,
            atomics: 0.0,
            worked: Worked::default(),
            first: None,
        }
    }

    /// The cycle at which all queues are empty.
    pub fn idle(&self) -> f64 {
        self.requests.max(self.l2).max(self.dram).max(self.stores).max(self.atomics)
    }

    /// Loads sectors at a time.
    pub fn load(&mut self, now: f64, sectors: &[u64], reader: Reader) -> Arrival {
        let cached = reader.cached;
        let mut found = std::mem::take(&mut self.found);
        found.clear();
        found.extend(sectors.iter().map(|&sector| if cached { self.cache.find(sector) } else { None }));
        let start = self.requests.max(now);
        // The cache looks up four lines a cycle, and takes one for later that has not arrived.
        let lines = lines(sectors);
        let there = |arrival: &Option<f64>| arrival.is_some_and(|at| at <= start);
        let missing = sectors.iter().zip(&found).filter(|(_, found)| !there(found)).map(|(sector, _)| sector / 4);
        let mut last = None;
        let missing = missing.filter(|&line| last.replace(line) != Some(line)).count();
        let cycles = (f64::from(lines) / 4.0).max(missing as f64).max(reader.passes.into()).max(1.0);
        self.requests = start + cycles;
        self.worked.requests += cycles;
        // All but one cycle for the first wavefront are time in queues.
        let queued = self.requests - 1.0 - now;
        let mut arrival = Arrival { at: self.requests + self.latency.0, dram: 0.0, cache: queued };
        for (&sector, found) in sectors.iter().zip(&found) {
            // The parts of an instruction may share sectors.
            let again = if cached { self.cache.find(sector) } else { None };
            if let Some(at) = found.or(again) {
                arrival.at = arrival.at.max(at);
                continue;
            }
            let one = self.miss(self.requests, sector, self.rates.l2, reader);
            if cached {
                self.cache.insert(sector, one.at);
            }
            if one.at > arrival.at {
                arrival = Arrival { cache: one.cache + queued, ..one };
            }
        }
        self.found = found;
        arrival
    }

    /// Copies ranges of sectors in bulk, past the first-level cache; returns when the last bytes have arrived.
    pub fn copy(&mut self, now: f64, block: u64, reads: &[(u64, u64)], writes: &[(u64, u64)]) -> Arrival {
        let mut arrival = Arrival { at: now, dram: 0.0, cache: 0.0 };
        let reader = Reader { block, cached: false, awaits: false, passes: 0 };
        for sector in reads.iter().flat_map(|&(first, count)| first..first + count) {
            let one = self.miss(now, sector, self.rates.bulk, reader);
            if one.at > arrival.at {
                arrival = one;
            }
        }
        for &(first, count) in writes {
            let sectors: Vec<u64> = (first..first + count).collect();
            let at = self.store(now, &sectors);
            if at > arrival.at {
                arrival = Arrival { at, dram: 0.0, cache: at - now };
            }
        }
        self.first.get_or_insert(arrival.at);
        arrival
    }

    fn miss(&mut self, now: f64, sector: u64, rate: f64, reader: Reader) -> Arrival {
        let start = self.l2.max(now);
        self.l2 = start + rate;
        self.worked.l2 += rate;
        let cache = start - now;
        let new = !(reader.awaits && self.others.relay) && self.read.insert(sector);
        self.owed += if new { self.rates.first } else { 0.0 };
        if self.owed < 0.999_999 {
            let latency = if new && self.is_on_its_way(sector, reader) { self.latency.2 } else { self.latency.1 };
            return Arrival { at: self.l2 + latency, dram: 0.0, cache };
        }
        self.owed -= 1.0;
        let queued = self.dram.max(self.l2);
        self.dram = queued + self.rates.dram * self.rates.read;
        self.worked.dram += self.rates.dram * self.rates.read;
        Arrival { at: self.dram + self.latency.2, dram: queued - self.l2, cache }
    }

    /// Whether blocks that run at the same time ask for a sector too. They advance together: one that is behind finds
    /// what it needs in the second-level cache, catches up, and then waits for device memory as the first one does.
    fn is_on_its_way(&self, sector: u64, reader: Reader) -> bool {
        let at_once = self.others.at_once.max(1);
        let first = self.others.first.get(&sector).map_or(reader.block, |&first| first.into());
        first / at_once == reader.block / at_once
    }

    /// Stores sectors at a time; returns when the request has been taken.
    pub fn store(&mut self, now: f64, sectors: &[u64]) -> f64 {
        let start = self.requests.max(now);
        let lines = f64::from(lines(sectors));
        let new = sectors.iter().filter(|sector| self.written.insert(**sector)).count();
        let (stores, l2) = (lines * self.rates.line, 0.5 * self.rates.l2 * sectors.len() as f64);
        let dram = self.rates.dram * self.rates.written * new as f64;
        self.requests = start + lines;
        self.stores = self.stores.max(start) + stores;
        self.l2 = self.l2.max(start) + l2;
        self.dram = self.dram.max(start) + dram;
        self.worked.requests += lines;
        self.worked.stores += stores;
        self.worked.l2 += l2;
        self.worked.dram += dram;
        self.requests
    }

    /// Performs atomics at a time; returns when they have been performed.
    pub fn atomic(&mut self, now: f64, sectors: &[u64]) -> f64 {
        let taken = self.store(now, sectors);
        self.atomics = self.atomics.max(taken) + self.rates.atomic;
        self.worked.atomics += self.rates.atomic;
        self.atomics
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_takes_its_wavefronts_and_a_cycle_for_four_lines_or_one_that_has_not_arrived() {
        let rates =
            Rates { l2: 0.0, bulk: 0.0, dram: 0.0, line: 0.0, atomic: 0.0, first: 0.0, read: 1.0, written: 1.0 };
        let (costs, first) = (Costs::default(), HashMap::new());
        let cycles = |lines: u64, passes: u32| {
            let mut memory = Memory::new(rates, Others { first: &first, at_once: 1, relay: false }, 1 << 16, &costs);
            let sectors: Vec<u64> = (0..lines).map(|line| 4 * line).collect();
            let reader = Reader { block: 0, cached: true, awaits: false, passes };
            // The first time, while its sectors are on their way, and when they are there.
            [0.0, 100.0, 1e4].map(|now| {
                memory.load(now, &sectors, reader);
                memory.requests - now
            })
        };
        assert_eq!([cycles(1, 1), cycles(1, 4)], [[1.0; 3], [4.0; 3]]);
        assert_eq!([cycles(32, 1), cycles(32, 32)], [[32.0, 32.0, 8.0], [32.0; 3]]);
    }

    #[test]
    fn what_blocks_of_the_same_time_read_comes_from_memory_for_all_of_them() {
        let rates =
            Rates { l2: 1.0, bulk: 1.0, dram: 2.0, line: 3.5, atomic: 100.0, first: 0.0, read: 1.0, written: 1.0 };
        let (costs, first) = (Costs::default(), HashMap::from([(5, 0)]));
        let latency = |sector: u64, block: u64, awaits: bool| {
            let mut memory = Memory::new(rates, Others { first: &first, at_once: 4, relay: true }, 1 << 16, &costs);
            let reader = Reader { block, cached: true, awaits, passes: 1 };
            let arrivals = [0.0, 1e4].map(|now| memory.load(now, &[sector], reader).at - now);
            (arrivals[0] - 2.0, arrivals[1] - 1.0)
        };
        // Block 0 reads sector 5 first, at the same time as block 3 and long before block 8; no other reads sector 6.
        let (memory, l2, l1) = (costs.global_cycles, costs.l2_cycles, costs.l1_cycles);
        assert_eq!([latency(5, 3, false), latency(5, 8, false)], [(memory, l1), (l2, l1)]);
        assert_eq!([latency(6, 8, false), latency(6, 8, true)], [(memory, l1), (l2, l1)]);
    }
}
