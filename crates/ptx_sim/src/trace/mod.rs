//! Trace of a launch, with details that counters lack: the active lanes of each instruction, the banks that each lane
//! accesses, the sectors of each request, and the memory accessed in total. Recorded if
//! [`Config::trace`](crate::Config) is set; otherwise it has no cost.

mod footprint;

use crate::count::{bypassing_sectors_of, sectors_of, wavefronts_of};
use crate::observe::{AccessKind, BlockShape, Bypass, Observer, Peek, Range, Site, Touch, Variable, no_shadow};
use crate::program::{Order, Scope, Space};
use crate::registers::LANES;
use footprint::Footprint;
use std::collections::{BTreeMap, HashMap};

/// Options of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Trace {
    /// `%ctaid` of the block whose instructions are recorded individually.
    pub block: [u32; 3],
    /// Maximum number of recorded instructions per warp; further ones are only counted.
    pub steps: u32,
}

impl Default for Trace {
    fn default() -> Self {
        Self { block: [0; 3], steps: 1 << 14 }
    }
}

/// Recorded trace of a launch.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Traced {
    /// Distinct bytes of global memory that were read, in whole sectors.
    pub read_bytes: u64,
    /// Distinct bytes of global memory that were written or updated, in whole sectors.
    pub written_bytes: u64,
    /// Largest number of atomic requests at one address of global memory.
    pub hottest_address: u64,
    /// Instructions of the recorded block, by warp.
    pub warps: Vec<WarpTrace>,
    /// Bank usage of the shared-memory instructions, in program order.
    pub banks: Vec<Banks>,
    /// Sectors of the global-memory loads and stores, in program order.
    pub sectors: Vec<Sectors>,
}

/// Recorded instructions of one warp.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WarpTrace {
    /// Instructions in order of execution.
    pub steps: Vec<Step>,
    /// Number of instructions executed, recorded or not.
    pub total: u64,
}

/// One instruction executed by one warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Step {
    /// Index into `Program::functions`.
    pub function: u32,
    /// Index into `Function::code`.
    pub pc: u32,
    /// Active lanes.
    pub lanes: u32,
    /// Wavefronts (shared memory) or sectors (global memory); 0 for other instructions.
    pub units: u32,
    /// State space that the instruction accessed; `None` if it accessed none of the three.
    pub space: Option<Space>,
}

impl Step {
    fn add(&mut self, space: Space, units: u32) {
        self.units = units + if self.space == Some(space) { self.units } else { 0 };
        self.space = Some(space);
    }
}

/// Use of the banks of shared memory by one instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Banks {
    /// Index into `Program::functions`.
    pub function: u32,
    /// Index into `Function::code`.
    pub pc: u32,
    /// Words by lane and bank, of the first request with the most wavefronts.
    pub words: Box<[[u32; 32]; LANES]>,
    /// Number of requests by wavefronts, 0 to 32.
    pub wavefronts: [u64; 33],
}

/// Sectors of the requests of one instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sectors {
    /// Index into `Program::functions`.
    pub function: u32,
    /// Index into `Function::code`.
    pub pc: u32,
    /// Number of requests by sectors, 0 to 64.
    pub requests: Vec<u64>,
}

/// Limit on the distinct addresses of atomics; further addresses are not counted.
const MOST_ADDRESSES: usize = 1 << 16;

/// Returns the largest number of wavefronts of a request; 0 without requests.
fn worst(wavefronts: &[u64; 33]) -> usize {
    wavefronts.iter().rposition(|&requests| requests > 0).unwrap_or(0)
}

/// Words by lane and bank.
type Words = Box<[[u32; 32]; LANES]>;

/// Observer that records one worker's events.
#[derive(Debug)]
pub(crate) struct Tracing {
    what: Trace,
    read: Footprint,
    written: Footprint,
    hot: HashMap<u64, u64>,
    banks: BTreeMap<Site, (Words, [u64; 33])>,
    sectors: BTreeMap<Site, Vec<u64>>,
    warps: Vec<WarpTrace>,
}

/// State of the recorded block while it runs: its warps, and their accesses since their last instructions were
/// recorded.
#[derive(Debug, Default)]
pub(crate) struct Recording {
    warps: Vec<WarpTrace>,
    accesses: Vec<Vec<(u32, Space, u32)>>,
}

impl Recording {
    /// Returns the last recorded step of a warp if it is this instruction: an instruction that ends a run accesses
    /// memory after the run was reported. Other lanes may be about to execute the same instruction.
    fn last(&mut self, warp: u32, site: Site, mask: u32) -> Option<&mut Step> {
        let step = self.warps.get_mut(warp as usize)?.steps.last_mut()?;
        ((step.function, step.pc) == (site.function, site.pc) && step.lanes & mask != 0).then_some(step)
    }
}

impl Tracing {
    pub fn new(what: Trace) -> Self {
        Self {
            what,
            read: Footprint::default(),
            written: Footprint::default(),
            hot: HashMap::new(),
            banks: BTreeMap::new(),
            sectors: BTreeMap::new(),
            warps: Vec::new(),
        }
    }

    pub fn finish(self) -> Traced {
        let banks = self.banks.into_iter().map(|(site, (words, wavefronts))| {
            let Site { function, pc } = site;
            Banks { function, pc, words, wavefronts }
        });
        let sectors = self.sectors.into_iter().map(|(site, requests)| {
            let Site { function, pc } = site;
            Sectors { function, pc, requests }
        });
        Traced {
            read_bytes: self.read.bytes(),
            written_bytes: self.written.bytes(),
            hottest_address: self.hot.values().copied().max().unwrap_or(0),
            warps: self.warps,
            banks: banks.collect(),
            sectors: sectors.collect(),
        }
    }

    fn shared(&mut self, touch: &Touch<'_>) -> u32 {
        let passes = wavefronts_of(touch);
        let empty = || (Box::new([[0; 32]; LANES]), [0; 33]);
        let (words, wavefronts) = self.banks.entry(touch.site).or_insert_with(empty);
        let passes_so_far = worst(wavefronts);
        wavefronts[passes.min(32) as usize] += 1;
        if passes.min(32) as usize <= passes_so_far {
            return passes;
        }
        // A sum over all requests would show every lane with every bank.
        **words = [[0; 32]; LANES];
        crate::lanes::each(touch.mask, |lane| {
            for word in 0..u64::from((touch.bytes / 4).max(1)) {
                let count = &mut words[lane][((touch.addresses[lane] >> 2) + word) as usize & 31];
                *count += 1;
            }
        });
        passes
    }

    fn global(&mut self, touch: &Touch<'_>) -> u32 {
        let sectors = sectors_of(touch);
        if touch.kind != AccessKind::Load {
            self.written.touch(touch);
        }
        if touch.kind != AccessKind::Store {
            self.read.touch(touch);
        }
        if touch.kind == AccessKind::Atomic {
            let mut addresses: Vec<u64> = Vec::with_capacity(LANES);
            crate::lanes::each(touch.mask, |lane| addresses.push(touch.addresses[lane]));
            addresses.sort_unstable();
            addresses.dedup();
            for address in addresses {
                if self.hot.len() < MOST_ADDRESSES || self.hot.contains_key(&address) {
                    *self.hot.entry(address).or_default() += 1;
                }
            }
        } else {
            let requests = self.sectors.entry(touch.site).or_insert_with(|| vec![0; 65]);
            requests[sectors.min(64) as usize] += 1;
        }
        sectors
    }
}

impl Observer for Tracing {
    type Block = Option<Box<Recording>>;
    type Shadow = ();

    fn shadow(&mut self) -> &mut () {
        no_shadow()
    }

    fn begin(&mut self, shape: &BlockShape) -> Self::Block {
        (shape.block == self.what.block).then(|| {
            let warps = shape.warps as usize;
            Box::new(Recording { warps: vec![WarpTrace::default(); warps], accesses: vec![Vec::new(); warps] })
        })
    }

    fn end(&mut self, block: Self::Block) {
        if let Some(recording) = block {
            self.warps = recording.warps;
        }
    }

    fn ran(&mut self, block: &mut Self::Block, warp: u32, from: Site, end: u32, active: u32) {
        let Some(recording) = block else { return };
        let (Some(trace), Some(accesses)) =
            (recording.warps.get_mut(warp as usize), recording.accesses.get_mut(warp as usize))
        else {
            return;
        };
        // A copy writes when it is waited for, long after its instruction.
        let mut pending = accesses.iter().filter(|(at, ..)| (from.pc..end).contains(at)).peekable();
        for pc in from.pc..end {
            trace.total += 1;
            let mut step = Step { function: from.function, pc, lanes: active, units: 0, space: None };
            while let Some((_, space, units)) = pending.next_if(|(at, ..)| *at == pc) {
                step.add(*space, *units);
            }
            if trace.steps.len() < self.what.steps as usize {
                trace.steps.push(step);
            }
        }
        accesses.clear();
    }

    fn touch(&mut self, block: &mut Self::Block, touch: &Touch<'_>) {
        if touch.kind == AccessKind::Discard {
            // It moves no data.
            return;
        }
        let units = match touch.space {
            Space::Shared => self.shared(touch),
            Space::Global => self.global(touch),
            Space::Local => 4,
            _ => return,
        };
        let Some(recording) = block else { return };
        if let Some(step) = recording.last(touch.warp, touch.site, touch.mask) {
            step.add(touch.space, units);
        } else if let Some(accesses) = recording.accesses.get_mut(touch.warp as usize) {
            accesses.push((touch.site.pc, touch.space, units));
        }
    }

    fn bypass(&mut self, block: &mut Self::Block, past: &Bypass<'_>) {
        let (shown, taken) = bypassing_sectors_of(past);
        if let Some(requests) = self.sectors.get_mut(&past.site) {
            requests[shown.min(64) as usize] -= 1;
            requests[taken.min(64) as usize] += 1;
        }
        let recording = block.as_mut();
        if let Some(step) = recording.and_then(|recording| recording.last(past.warp, past.site, past.mask)) {
            step.units = taken;
        }
    }

    fn absorb(&mut self, other: Self) {
        self.read.absorb(other.read);
        self.written.absorb(other.written);
        for (address, count) in other.hot {
            *self.hot.entry(address).or_default() += count;
        }
        for (site, (words, wavefronts)) in other.banks {
            let empty = || (Box::new([[0; 32]; LANES]), [0; 33]);
            let (mine, counts) = self.banks.entry(site).or_insert_with(empty);
            if worst(&wavefronts) > worst(counts) {
                *mine = words;
            }
            counts.iter_mut().zip(wavefronts).for_each(|(sum, more)| *sum += more);
        }
        for (site, requests) in other.sectors {
            let mine = self.sectors.entry(site).or_insert_with(|| vec![0; 65]);
            mine.iter_mut().zip(requests).for_each(|(sum, more)| *sum += more);
        }
        if self.warps.is_empty() {
            self.warps = other.warps;
        }
    }
    fn guarded(&mut self, _: Site, _: u32) {}

    fn branch(&mut self, _: Site, _: bool) {}

    fn fence(&mut self, _: &mut Self::Block, _: u32, _: u32, _: Order, _: Scope) {}

    fn meet(&mut self, _: &mut Self::Block, _: u32, _: u32, _: u32) {}

    fn arrive(&mut self, _: &mut Self::Block, _: u32, _: u32) {}

    fn barrier(&mut self, _: &mut Self::Block, _: u32, _: u32, _: u32) {}

    fn left_out(&mut self, _: &mut Self::Block, _: u32, _: Site, _: u32) {}

    fn proxy_fence(&mut self, _: &mut Self::Block, _: u32, _: u32) {}

    fn issue(&mut self, _: &mut Self::Block, _: &Range, _: Peek<'_>) {}

    fn range(&mut self, _: &mut Self::Block, _: &Range, _: Peek<'_>) {}

    fn release(&mut self, _: &mut Self::Block, _: u32, _: u32, _: Variable, _: Scope) {}

    fn acquire(&mut self, _: &mut Self::Block, _: u32, _: u32, _: Variable, _: Scope) {}
}
