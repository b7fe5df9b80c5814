//! Trace of a launch, with details that counters lack: the active lanes of each instruction, the banks that each lane
//! accesses, the sectors of each request, and the memory accessed in total. Recorded if
//! [`Config::trace`](crate::Config) is set; otherwise it has no cost.

mod atomics;
mod footprint;
mod polls;
mod recorded;
mod recording;
mod relayed;
mod signals;

use crate::count::{bypassing_sectors_of, cached_wavefronts_of, combined_wavefronts_of, sectors_of, wavefronts_of};
use crate::observe::{
    AccessKind, BlockShape, Boxed, Bypass, Completes, Factor, Observer, Peek, Range, Site, Touch, Variable, no_shadow,
};
use crate::program::{Order, Scope, Space};
use crate::registers::LANES;
use atomics::Atomics;
use footprint::Footprint;
use recorded::Why;
use recording::Recording;
use relayed::Relayed;
use std::collections::{BTreeMap, HashMap};

pub use atomics::Contention;
pub use footprint::Pairs;
pub use recorded::Trace;
pub use recording::{BlockTrace, Step, WarpTrace};
pub use signals::{Act, Phase, Signal};

/// Recorded trace of a launch.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Traced {
    /// Distinct bytes of global memory that were read, in whole sectors.
    pub read_bytes: u64,
    /// Distinct bytes of global memory that were written or updated, in whole sectors.
    pub written_bytes: u64,
    /// The sectors that were read, as device memory moves them.
    pub read: Pairs,
    /// The same of those that were written or updated.
    pub written: Pairs,
    /// Those that memory reads before it writes them, because they were written in part and not read.
    pub filled: Pairs,
    /// Bulk copies between global and shared memory.
    pub copies: u64,
    /// Work of the atomics on global memory.
    pub atomics: Contention,
    /// Words of global memory that blocks write for others which run at the same time, and that these wait for.
    pub relayed: u64,
    /// The sectors of the recorded blocks that an earlier block reads too, with the first one that does.
    pub shared: HashMap<u64, u32>,
    /// The recorded blocks by their numbers; the first one is block 0.
    pub blocks: Vec<BlockTrace>,
    /// Of the last blocks of the grid the one that executed the most instructions: in many reductions the block that
    /// ends last adds up the results of all. `None` if all blocks are in `blocks`.
    pub last: Option<BlockTrace>,
    /// Bank usage of the shared-memory instructions, in program order.
    pub banks: Vec<Banks>,
    /// Sectors of the global-memory loads and stores, in program order.
    pub sectors: Vec<Sectors>,
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

/// Returns the largest number of wavefronts of a request; 0 without requests.
fn worst(wavefronts: &[u64; 33]) -> usize {
    wavefronts.iter().rposition(|&requests| requests > 0).unwrap_or(0)
}

/// Sectors that blocks before the recorded ones read, with the first of these.
fn shared(blocks: &[BlockTrace], read: &Footprint) -> HashMap<u64, u32> {
    let mut shared = HashMap::new();
    for block in blocks {
        let warps = block.warps.iter();
        let copied = warps.clone().flat_map(|warp| &warp.signals).flat_map(|signal| &signal.reads);
        let copied = copied.flat_map(|&(first, count)| first..first + count);
        for sector in warps.flat_map(|warp| &warp.sectors).copied().chain(copied) {
            let first = read.first_block(sector).filter(|&first| u64::from(first) < block.number);
            shared.extend(first.map(|first| (sector, first)));
        }
    }
    shared
}

/// Words by lane and bank.
type Words = Box<[[u32; 32]; LANES]>;

/// Observer that records one worker's events.
#[derive(Debug)]
pub(crate) struct Tracing {
    what: Trace,
    read: Footprint,
    written: Footprint,
    copies: u64,
    atomics: Atomics,
    relayed: Relayed,
    banks: BTreeMap<Site, (Words, [u64; 33])>,
    sectors: BTreeMap<Site, Vec<u64>>,
    blocks: Vec<BlockTrace>,
    last: Option<BlockTrace>,
}

impl Tracing {
    pub fn new(what: Trace) -> Self {
        Self {
            what,
            read: Footprint::by_block(),
            written: Footprint::of_words(),
            copies: 0,
            atomics: Atomics::default(),
            relayed: Relayed::default(),
            banks: BTreeMap::new(),
            sectors: BTreeMap::new(),
            blocks: Vec::new(),
            last: None,
        }
    }

    /// Keeps a block if none of the last ones so far did more; of equal ones the later one.
    fn keep_last(&mut self, block: BlockTrace) {
        let key = |block: &BlockTrace| (block.instructions(), block.number);
        if self.last.as_ref().is_none_or(|last| key(last) < key(&block)) {
            self.last = Some(block);
        }
    }

    pub fn finish(mut self) -> Traced {
        self.blocks.sort_by_key(|block| block.number);
        let banks = self.banks.into_iter().map(|(site, (words, wavefronts))| {
            let Site { function, pc } = site;
            Banks { function, pc, words, wavefronts }
        });
        let sectors = self.sectors.into_iter().map(|(site, requests)| {
            let Site { function, pc } = site;
            Sectors { function, pc, requests }
        });
        let written = self.written.written(&self.read);
        Traced {
            read_bytes: self.read.bytes(),
            written_bytes: written.bytes,
            read: self.read.pairs(),
            written: written.pairs,
            filled: written.filled,
            copies: self.copies,
            atomics: self.atomics.contention(),
            relayed: self.relayed.words(),
            shared: shared(&self.blocks, &self.read),
            blocks: self.blocks,
            last: self.last,
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
        self.relayed.touch(touch);
        if touch.kind != AccessKind::Load {
            self.written.touch(touch);
        }
        if touch.kind != AccessKind::Store {
            self.read.touch(touch);
        }
        if touch.kind == AccessKind::Atomic {
            self.atomics.add(touch);
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
        let why = self.what.records(shape)?;
        Some(Box::new(Recording::new(why, shape, self.what.steps(shape))))
    }

    fn end(&mut self, block: Self::Block) {
        let Some(recording) = block else { return };
        match recording.why {
            Why::Chosen => self.blocks.push(recording.finish()),
            Why::Last => self.keep_last(recording.finish()),
        }
    }

    fn ran(&mut self, block: &mut Self::Block, warp: u32, from: Site, end: u32, active: u32) {
        if let Some(recording) = block {
            recording.ran(warp, from, end, active);
        }
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
        if let Some(recording) = block {
            let passes = match (touch.kind, touch.space) {
                (AccessKind::Atomic, Space::Shared) => combined_wavefronts_of(touch),
                (AccessKind::Load, Space::Global) => cached_wavefronts_of(touch),
                _ => 0,
            };
            recording.touch(touch, units, passes);
        }
    }

    fn bypass(&mut self, block: &mut Self::Block, past: &Bypass<'_>) {
        let (shown, taken) = bypassing_sectors_of(past);
        if let Some(requests) = self.sectors.get_mut(&past.site) {
            requests[shown.min(64) as usize] -= 1;
            requests[taken.min(64) as usize] += 1;
        }
        if let Some(recording) = block {
            recording.bypass(past, taken);
        }
    }

    fn absorb(&mut self, other: Self) {
        self.read.absorb(other.read);
        self.written.absorb(other.written);
        self.copies += other.copies;
        self.atomics.absorb(other.atomics);
        self.relayed.absorb(other.relayed);
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
        self.blocks.extend(other.blocks);
        if let Some(block) = other.last {
            self.keep_last(block);
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

    fn announce(&mut self, _: &mut Self::Block, _: &Touch<'_>) {}

    fn issue(&mut self, block: &mut Self::Block, range: &Range, _: Peek<'_>) {
        self.copies += u64::from(!matches!(range.completes, Completes::Warpgroup { .. }));
        if let Some(recording) = block {
            recording.issue(range);
        }
    }

    fn range(&mut self, block: &mut Self::Block, range: &Range, _: Peek<'_>) {
        if range.space == Space::Global {
            let moved = if range.kind == AccessKind::Load { &mut self.read } else { &mut self.written };
            moved.range(range.owner, range.start, range.bytes);
        }
        if let Some(recording) = block {
            recording.range(range);
        }
    }
    fn boxed(&mut self, _: &mut Self::Block, _: &Boxed<'_>) {}

    fn factor(&mut self, _: &mut Self::Block, _: &Factor) {}

    fn release(&mut self, block: &mut Self::Block, warp: u32, _: u32, variable: Variable, _: Scope) {
        if let Some(recording) = block {
            recording.release(warp, variable);
        }
    }

    fn acquire(&mut self, block: &mut Self::Block, warp: u32, _: u32, variable: Variable, _: Scope) {
        if let Some(recording) = block {
            recording.acquire(warp, variable);
        }
    }
}
