//! Detection of data races on shared and global memory.
//!
//! Two accesses to the same byte race when different threads make them, at least one writes, no happens-before order
//! relates them, and they are not both strong (atomic, volatile, relaxed and above) with scopes that include each
//! other's thread. The order is that of PTX's memory model. It comes from program order; from block barriers, including
//! named barriers and `bar.arrive`; from `*.sync` instructions among the lanes in their mask; from releases
//! (`st.release`, `atom.release`, or a fence and then a strong write) that are acquired (`ld.acquire`, `atom.acquire`,
//! or a strong read and then a fence) through the same word of memory, if the scope of each side includes the other;
//! and from the start and the end of the kernel. Lock-step execution of a warp creates no order here, nor do guarantees
//! that a particular GPU gives beyond PTX.
//!
//! Reading order: [`entry`], [`tree`], [`view`] (vector clocks), [`clock`] (how synchronisation changes them),
//! [`variables`] (synchronisation through memory), [`records`], [`tables`], [`marks`], [`shadow`] (storage for earlier
//! accesses), [`pieces`], [`usual`], [`conflicts`] (the check), [`promises`] (`ld.global.nc`), [`proxies`]
//! (`fence.proxy.async`), [`facts`] (how LLVM compiles atomics), [`report`].
//!
//! Sources: FastTrack (Flanagan and Freund, PLDI 2009) for epochs, HiRace (arXiv 2401.04701) for the contents of a
//! shadow cell on a GPU, ScoRD (ISCA 2020) for scopes, Eraser (SOSP 1997) for interned sets.
//!
//! # Limits
//!
//! * Races that this run does not exhibit: a pair of accesses is judged by the inputs, and by the order in which this
//!   run's schedule happened to execute its synchronisation.
//! * Of the unordered accesses to a word since its last ordinary write, only the first four are kept (from different
//!   blocks, where possible).
//! * The lane of an earlier access, when several lanes of the warp made it or it was not the latest access: then it
//!   suffices that the access is ordered for any one of these lanes.
//! * Lanes that acquire or release in one instruction share the effect of each of them. A compare-and-swap that fails
//!   counts as one that succeeds. A word keeps its releases when a later relaxed atomic continues the release sequence.
//! * `shfl`, `vote` and similar instructions are assumed to order memory accesses among their lanes, which PTX does not
//!   guarantee.
//! * Strong accesses of different sizes to one word count as compatible.
//! * Two lanes of one store that write the same value to the same word are not a race: PTX defines that one of them
//!   takes effect.
//! * Accesses by the host, `vprintf`, `free` and other proxies are not checked, except for bulk copies that read shared
//!   memory written without a proxy fence.
//! * `ld.global.nc` of memory written by a bulk copy is not reported.
//!
//! Under [`Atomics::Source`](crate::Atomics::Source), atomics without an ordering are assumed to release and to
//! acquire.

mod clock;
mod conflicts;
mod entry;
mod facts;
mod marks;
mod options;
mod pieces;
mod promises;
mod proxies;
mod records;
mod report;
mod shadow;
mod span;
mod tables;
mod tree;
mod usual;
mod variables;
mod view;
mod words;

pub use options::{Atomics, Options, SameValue};

use crate::level::{Host, Level};
use crate::memory::address::GLOBAL;
use crate::observe::{AccessKind, BlockShape, Bypass, Observer, Range, Setting, Site, Touch, Variable, no_shadow};
use crate::program::{Order, Program, Scope, Space};
use crate::stop::Finding;
use clock::Block;
use conflicts::Now;
use facts::Facts;
use proxies::{Proxies, Unfenced};
use records::{Mode, Record};
use report::Seen;
use shadow::Shadow;
use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use usual::Check;
use view::Reach;
use words::{Place, Quick, each_word};

/// Upper bound on the shared memory of a block, in bytes.
const MOST_SHARED: u64 = 1 << 24;

/// The race checker of one launch. A checked launch runs on one worker.
#[derive(Debug)]
pub(crate) struct Race<'a> {
    level: Level,
    facts: Facts<'a>,
    seen: Seen<'a>,
    /// Resident blocks.
    blocks: Vec<Option<Block>>,
    /// Shadows of the blocks' shared memory, at the same index. A shadow is reused for the next block when its block
    /// ends.
    shared: Vec<Shadow>,
    /// Index of the resident block with a ticket.
    tickets: HashMap<u64, usize>,
    /// Cluster of the block with a ticket, for clusters of several blocks.
    clusters: HashMap<u32, u64>,
    global: Shadow,
    variables: HashMap<Place, variables::Variable, BuildHasherDefault<Quick>>,
    /// Cluster barriers and mbarriers, each with its last two phases.
    named: HashMap<Variable, variables::Variable>,
    /// Synchronisation variables in the shared memory of each block, by block index.
    own: Vec<Vec<Place>>,
    /// State of the asynchronous proxy by block index; `None` unless bulk copies read shared memory.
    proxies: Option<Vec<Proxies>>,
    unfenced: Unfenced,
}

impl<'a> Race<'a> {
    pub fn new(program: &'a Program, options: Options, level: Level) -> Self {
        Self {
            level,
            facts: Facts::new(program, options),
            seen: Seen::new(program, options),
            blocks: Vec::new(),
            shared: Vec::new(),
            tickets: HashMap::new(),
            clusters: HashMap::new(),
            global: Shadow::large(),
            variables: HashMap::default(),
            named: HashMap::new(),
            own: Vec::new(),
            proxies: proxies::reads_shared(program).then(Vec::new),
            unfenced: Unfenced::default(),
        }
    }

    /// Returns the findings, sorted by place.
    pub fn finish(self, setting: &Setting<'_>) -> Vec<Finding> {
        let Setting { program, layout, memory, shared_bytes, .. } = setting;
        let in_shared = |address| layout.describe(program, address, *shared_bytes);
        let unfenced = self.unfenced.findings(program, &self.seen, in_shared);
        let mut findings = self.seen.finish(|shared, address| match shared {
            true => in_shared(address),
            false => memory.describe(address),
        });
        findings.extend(unfenced);
        findings
    }

    /// Applies the acquire of a strong access, before the access is checked.
    #[inline(never)]
    fn acquire_from(&mut self, index: usize, touch: &Touch<'_>, reach: Reach, now: bool) {
        if self.variables.is_empty() {
            return;
        }
        let warp = touch.warp as usize;
        let Some(block) = self.blocks[index].as_mut() else { return };
        let variables = &mut self.variables;
        each_word(touch, |_, place| {
            if let Some(variable) = variables.get_mut(&place) {
                variable.read(block, warp, touch.mask, reach, !now);
            }
        });
    }

    /// Applies the release of a strong write, after the access is checked.
    #[inline(never)]
    fn release_to(&mut self, index: usize, touch: &Touch<'_>, reach: Reach, now: bool) {
        let warp = touch.warp as usize;
        let Some(block) = self.blocks[index].as_mut() else { return };
        let mut released = block.fenced(warp, touch.mask, reach);
        if now {
            released.push((block.release(warp, touch.mask), reach));
        }
        let home = block.home;
        let replaces = touch.kind == AccessKind::Store;
        let (variables, own) = (&mut self.variables, &mut self.own[index]);
        let (global, shared, tickets) = (&mut self.global, &mut self.shared, &self.tickets);
        if released.is_empty() && !replaces {
            return;
        }
        each_word(touch, |address, place| {
            if replaces && let Some(variable) = variables.get_mut(&place) {
                *variable = variables::Variable::default();
            }
            if released.is_empty() {
                return;
            }
            let variable = variables.entry(place).or_insert_with(|| {
                let page = match place {
                    Place::Shared(owner, _) => {
                        own.push(place);
                        tickets.get(&owner).and_then(|&index| shared[index].existing(address))
                    }
                    _ => global.existing(address.wrapping_sub(GLOBAL)),
                };
                if let Some(page) = page {
                    page.synchronises = true;
                }
                variables::Variable::default()
            });
            for (tree, reach) in &released {
                variable.release(home, *reach, tree);
            }
        });
    }

    /// Ends the release sequences of words that an ordinary store overwrites.
    #[cold]
    fn overwrite(&mut self, touch: &Touch<'_>) {
        let variables = &mut self.variables;
        each_word(touch, |_, place| {
            if let Some(variable) = variables.get_mut(&place) {
                *variable = variables::Variable::default();
            }
        });
    }
}

impl Observer for Race<'_> {
    /// Index into `blocks`.
    type Block = usize;
    type Shadow = ();

    fn shadow(&mut self) -> &mut () {
        no_shadow()
    }

    fn begin(&mut self, shape: &BlockShape) -> usize {
        self.seen.shape(shape);
        let block = Block::new(shape);
        if shape.cluster != shape.ticket {
            self.clusters.insert(block.home.block, shape.cluster);
        }
        let index = match self.blocks.iter().position(Option::is_none) {
            Some(free) => free,
            None => {
                self.blocks.push(None);
                self.shared.push(Shadow::small());
                self.own.push(Vec::new());
                self.proxies.iter_mut().for_each(|all| all.push(Proxies::default()));
                self.blocks.len() - 1
            }
        };
        self.blocks[index] = Some(block);
        self.tickets.insert(shape.ticket, index);
        index
    }

    fn end(&mut self, index: usize) {
        if let Some(block) = self.blocks[index].take() {
            let ticket = u64::from(block.home.block);
            self.tickets.remove(&ticket);
            let alone = |cluster: u64| !self.blocks.iter().flatten().any(|other| other.home.cluster == cluster);
            self.named.retain(|variable, _| match *variable {
                Variable::Mbarrier { owner, .. } => owner != ticket,
                Variable::ClusterBarrier { cluster, .. } => cluster != block.home.cluster || !alone(cluster),
            });
        }
        self.shared[index].clear();
        self.proxies.iter_mut().for_each(|all| all[index] = Proxies::default());
        for place in self.own[index].drain(..) {
            self.variables.remove(&place);
        }
    }

    #[inline]
    fn touch(&mut self, index: &mut usize, touch: &Touch<'_>) {
        let index = *index;
        if self.leaves_all(index, touch) {
            return;
        }
        // The machine has already checked the bounds; the check here keeps the size of shadow memory bounded.
        let plausible = match touch.space {
            Space::Shared => touch.spread.high < MOST_SHARED,
            Space::Global => touch.spread.low >= GLOBAL,
            _ => false,
        };
        if !plausible {
            return;
        }
        let strong = (touch.kind == AccessKind::Atomic || touch.order != Order::Weak).then(|| Reach::of(touch.scope));
        let (writes, global) = (touch.kind != AccessKind::Load, touch.space == Space::Global);
        let promises = global && !writes && self.facts.promises(touch.site);
        let mut releases = false;
        if let Some(reach) = strong {
            let acquires = match touch.kind {
                AccessKind::Atomic => {
                    let (acquires, release) = self.facts.atomic(touch.site, touch.order);
                    releases = release;
                    acquires
                }
                AccessKind::Load => matches!(touch.order, Order::Acquire | Order::AcqRel | Order::SeqCst),
                AccessKind::Store => {
                    releases = matches!(touch.order, Order::Release | Order::AcqRel | Order::SeqCst);
                    false
                }
            };
            if touch.kind != AccessKind::Store {
                self.acquire_from(index, touch, reach, acquires);
            }
        }
        let Some(block) = &self.blocks[index] else { return };
        let Some(warp) = block.warps.get(touch.warp as usize) else { return };
        let record = Record {
            block: block.home.block,
            stamp: warp.stamp,
            site: touch.site,
            warp: touch.warp as u8,
            mode: Mode { writes, strong, promises },
        };
        let promised = global && self.facts.any_promise() && (promises || writes);
        let floor = block.floor(touch.warp as usize);
        let now = Now { block, clusters: &self.clusters, touch, record, floor, promised };
        let (shadow, base) = match touch.space {
            Space::Shared if touch.owner == u64::from(block.home.block) => (&mut self.shared[index], 0),
            Space::Shared => match self.tickets.get(&touch.owner) {
                Some(&owner) => (&mut self.shared[owner], 0),
                None => return,
            },
            _ => (&mut self.global, GLOBAL),
        };
        if let (Some(all), Space::Shared, true) = (&mut self.proxies, touch.space, writes) {
            match self.tickets.get(&touch.owner) {
                Some(&owner) if owner == index => all[index].write(record, touch),
                Some(&owner) => all[owner].forget_lanes(touch),
                None => {}
            }
        }
        self.level.perform(&mut Check { now: &now, shadow, base, seen: &mut self.seen });
        if let Some(reach) = strong.filter(|_| writes) {
            self.release_to(index, touch, reach, releases);
        } else if writes && !self.variables.is_empty() && self.synchronises(touch) {
            self.overwrite(touch);
        }
    }

    fn fence(&mut self, index: &mut usize, warp: u32, mask: u32, _: Order, scope: Scope) {
        if let Some(block) = &mut self.blocks[*index] {
            block.fence(warp as usize, mask, Reach::of(scope));
        }
    }

    fn proxy_fence(&mut self, index: &mut usize, warp: u32, mask: u32) {
        if let (Some(block), Some(all)) = (&mut self.blocks[*index], &mut self.proxies) {
            all[*index].fence(block, warp as usize, mask);
        }
    }

    fn issue(&mut self, index: &mut usize, range: &Range) {
        if let (Some(block), Some(all)) = (&self.blocks[*index], &self.proxies)
            && range.owner == u64::from(block.home.block)
        {
            self.unfenced.issue(&all[*index], block, range, &self.seen);
        }
    }

    fn range(&mut self, _: &mut usize, range: &Range) {
        if let (Some(all), Some(&owner)) = (&mut self.proxies, self.tickets.get(&range.owner))
            && (range.kind, range.space) == (AccessKind::Store, Space::Shared)
        {
            all[owner].forget(range.start, range.bytes);
        }
    }

    fn meet(&mut self, index: &mut usize, warp: u32, mask: u32, live: u32) {
        if let Some(block) = &mut self.blocks[*index] {
            block.meet(warp as usize, mask, live);
        }
    }

    fn arrive(&mut self, index: &mut usize, warp: u32, id: u32) {
        if let Some(block) = &mut self.blocks[*index] {
            block.arrive(warp as usize, id as usize);
        }
    }

    fn barrier(&mut self, index: &mut usize, id: u32, _: u32, waited: u32) {
        if let Some(block) = &mut self.blocks[*index] {
            block.barrier(id as usize, waited);
        }
    }

    fn release(&mut self, index: &mut usize, warp: u32, mask: u32, variable: Variable, scope: Scope) {
        if let Some(block) = &mut self.blocks[*index] {
            let released = block.release(warp as usize, mask);
            self.named.entry(variable).or_default().release(block.home, Reach::of(scope), &released);
            if let Some(past) = variables::before_last(variable) {
                self.named.remove(&past);
            }
        }
    }

    fn acquire(&mut self, index: &mut usize, warp: u32, mask: u32, variable: Variable, scope: Scope) {
        if let (Some(block), Some(variable)) = (&mut self.blocks[*index], self.named.get_mut(&variable)) {
            variable.read(block, warp as usize, mask, Reach::of(scope), false);
        }
    }

    fn absorb(&mut self, other: Self) {
        self.seen.absorb(other.seen);
        self.unfenced.absorb(other.unfenced);
    }
    fn ran(&mut self, _: &mut usize, _: u32, _: Site, _: u32, _: u32) {}

    fn guarded(&mut self, _: Site, _: u32) {}

    fn branch(&mut self, _: Site, _: bool) {}

    fn bypass(&mut self, _: &mut usize, _: &Bypass<'_>) {}
}
