//! State of the race checker for blocks, memory and synchronisation variables, and the effect of strong accesses on it.

use super::agents::Agents;
use super::clock::Block;
use super::facts::Facts;
use super::options::Options;
use super::proxies::{Proxies, Unfenced};
use super::report::Seen;
use super::shadow::Shadow;
use super::view::Reach;
use super::words::{Place, Quick, each_word};
use super::workers::{Attempt, Uses};
use super::{proxies, variables};
use crate::level::Level;
use crate::memory::address::GLOBAL;
use crate::observe::{AccessKind, Setting, Touch, Variable};
use crate::program::{Program, Space};
use crate::stop::Finding;
use std::collections::HashMap;
use std::hash::BuildHasherDefault;

/// The race checker of one worker of a launch.
#[derive(Debug)]
pub(crate) struct Race<'a> {
    pub(super) level: Level,
    pub(super) facts: Facts<'a>,
    pub(super) seen: Seen<'a>,
    /// Resident blocks.
    pub(super) blocks: Vec<Option<Block>>,
    /// Shadows of the blocks' shared memory, at the same index. A shadow is reused for the next block when its block
    /// ends.
    pub(super) shared: Vec<Shadow>,
    /// Index of the resident block with a ticket.
    pub(super) tickets: HashMap<u64, usize>,
    /// Cluster of the block with a ticket, for clusters of several blocks.
    pub(super) clusters: HashMap<u32, u64>,
    pub(super) global: Shadow,
    pub(super) variables: HashMap<Place, variables::Variable, BuildHasherDefault<Quick>>,
    /// Cluster barriers and mbarriers, each with its last two phases.
    pub(super) named: HashMap<Variable, variables::Variable>,
    /// Synchronisation variables in the shared memory of each block, by block index.
    pub(super) own: Vec<Vec<Place>>,
    /// State of the asynchronous proxy by block index; `None` unless bulk copies read shared memory.
    pub(super) proxies: Option<Vec<Proxies>>,
    pub(super) unfenced: Unfenced,
    pub(super) agents: Agents,
    /// The launch, if other workers take part in it.
    pub(super) attempt: Option<&'a Attempt<'a>>,
    /// What absorbed workers have done with device memory, by the number of the page.
    pub(super) uses: HashMap<usize, Box<Uses>>,
}

impl<'a> Race<'a> {
    /// Creates the checker of a launch on one worker, or of one of the workers of an `attempt`.
    pub fn new(program: &'a Program, options: Options, level: Level, attempt: Option<&'a Attempt<'a>>) -> Self {
        let facts = Facts::new(program, options);
        let global = Shadow::large(facts.leaves_threads_out());
        Self {
            level,
            facts,
            seen: Seen::new(program, options),
            blocks: Vec::new(),
            shared: Vec::new(),
            tickets: HashMap::new(),
            clusters: HashMap::new(),
            global,
            variables: HashMap::default(),
            named: HashMap::new(),
            own: Vec::new(),
            proxies: proxies::reads_shared(program).then(Vec::new),
            unfenced: Unfenced::default(),
            agents: Agents::default(),
            attempt,
            uses: HashMap::new(),
        }
    }

    /// Returns the findings, sorted by place.
    pub fn finish(self, setting: &Setting<'_>) -> Vec<Finding> {
        let Setting { program, layout, memory, shared_bytes, .. } = setting;
        let in_shared = |address| layout.describe(program, address, *shared_bytes);
        let unfenced = self.unfenced.findings(program, &self.seen, in_shared);
        let describe = |shared, address| match shared {
            true => in_shared(address),
            false => memory.describe(address),
        };
        let offset = |shared, address| match shared {
            true => layout.offset(program, address, *shared_bytes),
            false => memory.offset(address),
        };
        let mut findings = self.seen.finish(describe, offset);
        findings.extend(unfenced);
        findings
    }

    /// Applies the acquire of a strong access, before the access is checked.
    #[inline(never)]
    pub(super) fn acquire_from(&mut self, index: usize, touch: &Touch<'_>, reach: Reach, now: bool) {
        if self.variables.is_empty() {
            return;
        }
        let warp = touch.warp as usize;
        let Some(block) = self.blocks[index].as_mut() else { return };
        let variables = &mut self.variables;
        each_word(touch, |_, place, lanes| {
            if let Some(variable) = variables.get_mut(&place) {
                variable.read(block, warp, lanes, reach, !now);
            }
        });
    }

    /// Applies the release of a strong write, after the access is checked. `in_turn`: whether a lane of an atomic that
    /// follows others at its word acquires (true) what they release, or (false) does so at its next fence.
    #[inline(never)]
    pub(super) fn release_to(
        &mut self,
        index: usize,
        touch: &Touch<'_>,
        reach: Reach,
        now: bool,
        in_turn: Option<bool>,
    ) {
        let warp = touch.warp as usize;
        let Some(block) = self.blocks[index].as_mut() else { return };
        let mut released = block.fenced(warp, touch.mask, reach);
        if now {
            released.extend(block.releases(warp, touch.mask).into_iter().map(|released| (released, reach)));
        }
        let home = block.home;
        let replaces = touch.kind == AccessKind::Store;
        let (variables, own) = (&mut self.variables, &mut self.own[index]);
        let (global, shared, tickets) = (&mut self.global, &mut self.shared, &self.tickets);
        if released.is_empty() && !replaces {
            return;
        }
        each_word(touch, |address, place, lanes| {
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
            for (released, reach) in &released {
                if let Some(released) = released.by(lanes) {
                    variable.release(home, *reach, released);
                }
            }
            let later = lanes & (lanes - 1);
            if let Some(acquires) = in_turn.filter(|_| later != 0) {
                variable.read(block, warp, later, reach, !acquires);
            }
        });
    }

    /// Ends the release sequences of words that an ordinary store overwrites.
    #[cold]
    pub(super) fn overwrite(&mut self, touch: &Touch<'_>) {
        let variables = &mut self.variables;
        each_word(touch, |_, place, _| {
            if let Some(variable) = variables.get_mut(&place) {
                *variable = variables::Variable::default();
            }
        });
    }

    /// Whether a word of the access may have been used for synchronisation.
    #[inline]
    pub(super) fn synchronises(&mut self, touch: &Touch<'_>) -> bool {
        let (shadow, base) = match touch.space {
            // A block of a cluster can also store to the shared memory of another block.
            Space::Shared => match self.tickets.get(&touch.owner) {
                Some(&owner) => (&mut self.shared[owner], 0),
                None => return false,
            },
            _ => (&mut self.global, GLOBAL),
        };
        let pages = [touch.spread.low, touch.spread.high];
        // An access that spans more than two pages is looked up without this filter.
        touch.spread.high - touch.spread.low >= 4096
            || pages.iter().any(|at| shadow.existing(at.wrapping_sub(base)).is_some_and(|page| page.synchronises))
    }
}
