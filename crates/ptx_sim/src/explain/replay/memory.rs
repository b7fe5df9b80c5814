//! Memory as one multiprocessor sees it: the unit that takes its requests, the first-level cache, and its share of the
//! second-level cache and of device memory. Each is a queue with a rate; a request waits until the queue is free.

use super::cache::Cache;
use crate::explain::Costs;
use std::collections::HashSet;

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

/// When a result arrives, and what it waited for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Arrival {
    pub at: f64,
    /// Cycles in the queue of device memory.
    pub dram: f64,
    /// Cycles in the other queues.
    pub cache: f64,
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
pub(super) struct Memory {
    rates: Rates,
    latency: (f64, f64, f64),
    cache: Cache,
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

impl Memory {
    pub fn new(rates: Rates, cache_bytes: u64, costs: &Costs) -> Self {
        Self {
            rates,
            latency: (costs.l1_cycles, costs.l2_cycles, costs.global_cycles),
            cache: Cache::new(cache_bytes),
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

    /// Loads sectors at a time. `cached` loads look in the first-level cache.
    pub fn load(&mut self, now: f64, sectors: &[u64], cached: bool) -> Arrival {
        let start = self.requests.max(now);
        let lines = sectors.chunk_by(|a, b| a / 4 == b / 4).count();
        let cycles = (lines as f64).max(sectors.len() as f64 / 4.0);
        self.requests = start + cycles;
        self.worked.requests += cycles;
        // All but one cycle for the first line are time in queues.
        let queued = self.requests - 1.0 - now;
        let mut arrival = Arrival { at: self.requests + self.latency.0, dram: 0.0, cache: queued };
        for &sector in sectors {
            if cached && let Some(at) = self.cache.find(sector) {
                arrival.at = arrival.at.max(at);
                continue;
            }
            let one = self.miss(self.requests, sector, self.rates.l2);
            if cached {
                self.cache.insert(sector, one.at);
            }
            if one.at > arrival.at {
                arrival = Arrival { cache: one.cache + queued, ..one };
            }
        }
        arrival
    }

    /// Copies ranges of sectors in bulk, past the first-level cache; returns when the last bytes have arrived.
    pub fn copy(&mut self, now: f64, reads: &[(u64, u64)], writes: &[(u64, u64)]) -> Arrival {
        let mut arrival = Arrival { at: now, dram: 0.0, cache: 0.0 };
        for sector in reads.iter().flat_map(|&(first, count)| first..first + count) {
            let one = self.miss(now, sector, self.rates.bulk);
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

    fn miss(&mut self, now: f64, sector: u64, rate: f64) -> Arrival {
        let start = self.l2.max(now);
        self.l2 = start + rate;
        self.worked.l2 += rate;
        let cache = start - now;
        self.owed += if self.read.insert(sector) { self.rates.first } else { 0.0 };
        if self.owed < 0.999_999 {
            return Arrival { at: self.l2 + self.latency.1, dram: 0.0, cache };
        }
        self.owed -= 1.0;
        let queued = self.dram.max(self.l2);
        self.dram = queued + self.rates.dram * self.rates.read;
        self.worked.dram += self.rates.dram * self.rates.read;
        Arrival { at: self.dram + self.latency.2, dram: queued - self.l2, cache }
    }

    /// Stores sectors at a time; returns when the request has been taken.
    pub fn store(&mut self, now: f64, sectors: &[u64]) -> f64 {
        let start = self.requests.max(now);
        let lines = sectors.chunk_by(|a, b| a / 4 == b / 4).count() as f64;
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
