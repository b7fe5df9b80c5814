//! Counters: what a kernel costs, in units that Nsight Compute has too. They observe the machine and change nothing.
//!
//! PTX instructions are not machine instructions: instruction counts are for comparing variants. Requests, wavefronts,
//! sectors and bank conflicts follow NVIDIA's definitions and are meant to be equal to the hardware's.

mod banks;
mod sectors;

use crate::machine::Seen;
use crate::observe::{AccessKind, BlockShape, Observer, Site, Touch};
use crate::program::{Program, Space};
use crate::stop::Place;

/// Totals of a launch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Instructions executed by warps.
    pub warp_instructions: u64,
    /// The same times the lanes that were active: 32 times as much without divergence.
    pub thread_instructions: u64,
    /// Conditional and indexed branches executed by warps.
    pub branches: u64,
    /// Those whose lanes went different ways.
    pub divergent_branches: u64,
    /// Shared-memory instructions: loads, stores and atomics.
    pub shared_requests: u64,
    /// Loads among them.
    pub shared_loads: u64,
    /// Stores among them.
    pub shared_stores: u64,
    /// Passes over the 32 banks that loads and stores took.
    pub shared_wavefronts: u64,
    /// Passes beyond what the same accesses need without conflicts.
    pub bank_conflicts: u64,
    /// Global-memory instructions: loads, stores and atomics.
    pub global_requests: u64,
    /// Loads among them.
    pub global_loads: u64,
    /// Stores among them.
    pub global_stores: u64,
    /// 32-byte sectors touched by global loads and stores, per instruction.
    pub global_sectors: u64,
    /// Of loads.
    pub global_load_sectors: u64,
    /// Of stores.
    pub global_store_sectors: u64,
    /// Bytes that lanes loaded from and stored to global memory.
    pub global_bytes: u64,
    /// Atomic instructions on shared and global memory.
    pub atomics: u64,
    /// On shared memory.
    pub shared_atomics: u64,
    /// On global memory.
    pub global_atomics: u64,
    /// Times that a warp came to a block barrier.
    pub barriers: u64,
    /// Loads and stores of local memory: arrays and spills on a thread's stack.
    pub local_requests: u64,
}

/// Counters of one instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InstructionCounters {
    /// Index into `Program::functions`.
    pub function: u32,
    /// Index into `Function::code`.
    pub pc: u32,
    /// Executions by warps, as far as its counters are concerned: memory accesses or branches.
    pub requests: u64,
    /// Executions whose lanes went different ways.
    pub divergent: u64,
    /// Wavefronts beyond the ideal.
    pub bank_conflicts: u64,
    /// Sectors touched.
    pub sectors: u64,
}

impl InstructionCounters {
    /// The instruction in PTX and in the source language.
    pub fn place(&self, program: &Program) -> Place {
        Place::of(program, self.function, self.pc)
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    requests: u64,
    divergent: u64,
    bank_conflicts: u64,
    sectors: u64,
}

/// Counts one worker's events.
#[derive(Debug, Default)]
pub(crate) struct Counting {
    totals: Counters,
    /// By function and instruction; a function's list is made when it first counts something.
    tallies: Vec<Vec<Tally>>,
}

impl Counting {
    /// What was counted, with the derived sums.
    pub fn finish(self) -> Seen {
        let mut counters = self.totals;
        counters.shared_requests = counters.shared_loads + counters.shared_stores + counters.shared_atomics;
        counters.global_requests = counters.global_loads + counters.global_stores + counters.global_atomics;
        counters.global_sectors = counters.global_load_sectors + counters.global_store_sectors;
        counters.atomics = counters.shared_atomics + counters.global_atomics;
        let mut instructions = Vec::new();
        for (function, tallies) in self.tallies.iter().enumerate() {
            for (pc, tally) in tallies.iter().enumerate().filter(|(_, tally)| tally.requests != 0) {
                let Tally { requests, divergent, bank_conflicts, sectors } = *tally;
                let (function, pc) = (function as u32, pc as u32);
                instructions.push(InstructionCounters { function, pc, requests, divergent, bank_conflicts, sectors });
            }
        }
        Seen { counters, instructions, findings: Vec::new() }
    }

    #[inline]
    fn tally(&mut self, site: Site) -> &mut Tally {
        let (function, pc) = (site.function as usize, site.pc as usize);
        if self.tallies.get(function).is_none_or(|list| list.len() <= pc) {
            self.grow(function, pc);
        }
        &mut self.tallies[function][pc]
    }

    #[cold]
    fn grow(&mut self, function: usize, pc: usize) {
        if self.tallies.len() <= function {
            self.tallies.resize_with(function + 1, Vec::new);
        }
        self.tallies[function].resize((pc + 1).next_power_of_two(), Tally::default());
    }
}

impl Observer for Counting {
    type Block = ();

    fn begin(&mut self, _: &BlockShape) {}

    #[inline]
    fn issued(&mut self, instructions: u64, active: u32) {
        self.totals.warp_instructions += instructions;
        self.totals.thread_instructions += instructions * u64::from(active.count_ones());
    }

    #[inline]
    fn branch(&mut self, site: Site, divergent: bool) {
        self.totals.branches += 1;
        self.totals.divergent_branches += u64::from(divergent);
        let tally = self.tally(site);
        tally.requests += 1;
        tally.divergent += u64::from(divergent);
    }

    #[inline]
    fn touch(&mut self, (): &mut (), touch: &Touch<'_>) {
        let (mut conflicts, mut sectors) = (0, 0);
        match (touch.space, touch.kind) {
            (Space::Shared, AccessKind::Atomic) => self.totals.shared_atomics += 1,
            (Space::Global, AccessKind::Atomic) => self.totals.global_atomics += 1,
            (Space::Shared, kind) => {
                let (passes, ideal) = banks::wavefronts(touch.addresses, touch.mask, touch.bytes, touch.spread);
                conflicts = u64::from(passes - ideal);
                self.totals.shared_wavefronts += u64::from(passes);
                self.totals.bank_conflicts += conflicts;
                match kind {
                    AccessKind::Load => self.totals.shared_loads += 1,
                    _ => self.totals.shared_stores += 1,
                }
            }
            (Space::Global, kind) => {
                sectors = u64::from(sectors::sectors(touch.addresses, touch.mask, touch.bytes, touch.spread));
                self.totals.global_bytes += u64::from(touch.bytes * touch.mask.count_ones());
                match kind {
                    AccessKind::Load => {
                        self.totals.global_loads += 1;
                        self.totals.global_load_sectors += sectors;
                    }
                    _ => {
                        self.totals.global_stores += 1;
                        self.totals.global_store_sectors += sectors;
                    }
                }
            }
            (Space::Local, _) => self.totals.local_requests += 1,
            _ => return,
        }
        let tally = self.tally(touch.site);
        tally.requests += 1;
        tally.bank_conflicts += conflicts;
        tally.sectors += sectors;
    }

    fn barrier(&mut self, (): &mut (), _: u32, arrived: u32, _: u32) {
        self.totals.barriers += u64::from(arrived.count_ones());
    }

    fn absorb(&mut self, other: Self) {
        let (to, from) = (&mut self.totals, other.totals);
        to.warp_instructions += from.warp_instructions;
        to.thread_instructions += from.thread_instructions;
        to.branches += from.branches;
        to.divergent_branches += from.divergent_branches;
        to.shared_loads += from.shared_loads;
        to.shared_stores += from.shared_stores;
        to.shared_wavefronts += from.shared_wavefronts;
        to.bank_conflicts += from.bank_conflicts;
        to.global_loads += from.global_loads;
        to.global_stores += from.global_stores;
        to.global_load_sectors += from.global_load_sectors;
        to.global_store_sectors += from.global_store_sectors;
        to.global_bytes += from.global_bytes;
        to.shared_atomics += from.shared_atomics;
        to.global_atomics += from.global_atomics;
        to.barriers += from.barriers;
        to.local_requests += from.local_requests;
        for (function, tallies) in other.tallies.into_iter().enumerate() {
            for (pc, tally) in tallies.into_iter().enumerate().filter(|(_, tally)| tally.requests != 0) {
                let mine = self.tally(Site { function: function as u32, pc: pc as u32 });
                mine.requests += tally.requests;
                mine.divergent += tally.divergent;
                mine.bank_conflicts += tally.bank_conflicts;
                mine.sectors += tally.sectors;
            }
        }
    }
}
