//! Findings of the race checker: one for each pair of instructions and hazard, with both places, both threads, and the
//! missing synchronisation.

use super::clock::Who;
use super::facts::starts_emulation;
use super::now::Now;
use super::occurrence::{
    Apart, Asynchronous, Example, Hazard, Issuer, Key, Missing, Occurrences, help, is_product, made_by,
};
use super::options::{Options, SameValue};
use super::records::{Conflict, Record};
use crate::observe::{AccessKind, BlockShape};
use crate::program::{Program, Space};
use crate::stop::{Diagnostic, Finding, Place, Thread, Triple, block_order};
use std::collections::HashMap;

/// Note of a race in which no occurrence changed what is in memory.
pub(crate) const SAME_VALUE: &str = "both accesses wrote the same value in every occurrence";

/// A pair of accesses that race.
pub(super) struct Found<'a> {
    pub now: &'a Now<'a>,
    pub earlier: &'a Record,
    pub who: Who,
    /// Lane that made the later access.
    pub lane: usize,
    pub address: u64,
    /// At most 4 bytes, at an aligned address.
    pub bytes: u32,
    pub conflict: Conflict,
    /// Whether one of them is an `ld.global.nc`, which allows no write to the memory, ordered or not.
    pub violates_nc: bool,
}

/// All races of a launch.
#[derive(Debug)]
pub(super) struct Seen<'a> {
    program: &'a Program,
    same_values: SameValue,
    grid: [u32; 3],
    threads: [u32; 3],
    /// `%ctaid` by ticket, where clusters change the launch order of blocks.
    ids: HashMap<u32, [u32; 3]>,
    pairs: HashMap<Key, Occurrences>,
    /// The last access of each agent, by its block and number.
    issuers: HashMap<(u32, u8), Issuer>,
}

impl<'a> Seen<'a> {
    pub fn new(program: &'a Program, options: Options) -> Self {
        let same_values = options.same_value_writes;
        Self {
            program,
            same_values,
            grid: [1; 3],
            threads: [1; 3],
            ids: HashMap::new(),
            pairs: HashMap::new(),
            issuers: HashMap::new(),
        }
    }

    /// Records the shape of the launch.
    pub fn shape(&mut self, shape: &BlockShape) {
        (self.grid, self.threads) = (shape.grid, shape.threads);
        if let (true, Ok(ticket)) = (shape.cluster != shape.ticket, u32::try_from(shape.ticket)) {
            self.ids.insert(ticket, shape.block);
        }
    }

    /// Records the thread that issued the last access of an agent.
    pub fn issued(&mut self, agent: (u32, u8), issuer: Issuer) {
        self.issuers.insert(agent, issuer);
    }

    /// Drops the issuers of a block that ends.
    pub fn end(&mut self, block: u32) {
        if !self.issuers.is_empty() {
            self.issuers.retain(|(owner, _), _| *owner != block);
        }
    }

    /// Records a race.
    #[cold]
    pub fn add(&mut self, found: &Found<'_>) {
        let now = found.now;
        let (earlier, later) = (found.earlier, &now.record);
        let hazard = match (earlier.mode.writes, later.mode.writes) {
            (true, false) => Hazard::ReadAfterWrite,
            (false, _) => Hazard::WriteAfterRead,
            (true, true) => Hazard::WriteAfterWrite,
        };
        let home = now.block.home.block;
        let apart = match (earlier.block == home, u32::from(earlier.warp) == now.touch.warp) {
            (true, true) => Apart::Warp,
            (true, false) => Apart::Block,
            _ => Apart::Grid,
        };
        let values = values(found).filter(|_| hazard == Hazard::WriteAfterWrite);
        let same_value = values.is_some_and(|(earlier, later, _)| earlier == later);
        let same_instruction = in_same_store(found);
        // PTX defines the result of lanes of one store that write the same value: one of them takes effect.
        if same_value && (same_instruction || self.same_values == SameValue::Ignore) {
            return;
        }
        let missing = if found.violates_nc { Missing::Order } else { missing(found) };
        let scopes = matches!(missing, Missing::Scopes(..));
        let shared = now.touch.space == Space::Shared;
        let violates_nc = found.violates_nc;
        let key = Key { earlier: earlier.site, later: later.site, hazard, scopes, shared, violates_nc };
        let agent = self.issuers.get(&(earlier.block, earlier.warp)).copied();
        // What a product or a copy has read or written is done when a thread has waited for it. A copy that is issued
        // after that thread's release, of any scope, comes later, and so does any write after a read: kernels with
        // clusters release stages so.
        if scopes && agent.is_some() && (now.asynchronous || hazard == Hazard::WriteAfterRead) {
            return;
        }
        let later_is = if is_product(self.program, later.site) { Asynchronous::Product } else { Asynchronous::Copy };
        let by = [agent.map(|issuer| issuer.kind), now.asynchronous.then_some(later_is)];
        let threads = match agent {
            Some(Issuer { block, warp, lane, .. }) => (block, warp, Who::Lane(lane)),
            None => (earlier.block, u32::from(earlier.warp), found.who),
        };
        let example = Example {
            apart,
            by,
            earlier: threads,
            later: Thread { block: now.block.id, thread: self.thread(now.touch.warp, found.lane as u32) },
            address: found.address,
            missing,
            values,
            strong: (earlier.mode.strong.is_some(), later.mode.strong.is_some()),
            same_instruction,
        };
        let pair = self.pairs.entry(key).or_insert(Occurrences { example, count: 0, bytes: [u64::MAX, 0], same_value });
        let place = |example: &Example| (std::cmp::Reverse(example.apart), block_order(example.later.block));
        if place(&example) < place(&pair.example) {
            pair.example = example;
        }
        pair.count += 1;
        pair.widen([found.address, found.address + u64::from(found.bytes)]);
        pair.same_value &= same_value;
    }

    /// Merges the races of another worker.
    pub fn absorb(&mut self, other: Self) {
        if self.pairs.is_empty() {
            (self.grid, self.threads, self.ids) = (other.grid, other.threads, other.ids);
        }
        for (key, theirs) in other.pairs {
            match self.pairs.get_mut(&key) {
                Some(mine) => {
                    mine.count += theirs.count;
                    mine.widen(theirs.bytes);
                    mine.same_value &= theirs.same_value;
                }
                None => drop(self.pairs.insert(key, theirs)),
            }
        }
    }

    /// Returns the findings, sorted by place. `describe` names the location of an address in global (false) or shared
    /// (true) memory, and `offset` is the number of bytes before it in its allocation.
    pub fn finish(
        self,
        describe: impl Fn(bool, u64) -> String,
        offset: impl Fn(bool, u64) -> Option<u64>,
    ) -> Vec<Finding> {
        let mut pairs: Vec<_> = self.pairs.iter().collect();
        pairs.sort_by_key(|(key, _)| **key);
        pairs.retain(|(key, pair)| {
            let emulation = |load, swap| starts_emulation(self.program, load, swap);
            let swap_then_load = pair.example.strong.0 && emulation(key.later, key.earlier);
            let load_then_swap = pair.example.strong.1 && emulation(key.earlier, key.later);
            key.violates_nc || !swap_then_load && !load_then_swap
        });
        let bytes = |shared, [first, end]: [u64; 2]| {
            let (from, to) = (offset(shared, first)?, offset(shared, end - 1)?);
            // Otherwise they are in different allocations.
            (to.checked_sub(from)? == end - 1 - first).then_some(from..to + 1)
        };
        let finding = |(key, pair): (&Key, &Occurrences)| Finding {
            bytes: bytes(key.shared, pair.bytes),
            ..self.finding(*key, pair, &describe)
        };
        pairs.into_iter().map(finding).collect()
    }

    fn finding(&self, key: Key, pair: &Occurrences, describe: &impl Fn(bool, u64) -> String) -> Finding {
        let Example { apart, earlier, later, missing, strong, .. } = pair.example;
        let (code, [first, second], both) = match key.hazard {
            Hazard::ReadAfterWrite => (["race-raw", "race-warp-raw"], ["write", "read"], "a write and a read"),
            Hazard::WriteAfterRead => (["race-war", "race-warp-war"], ["read", "write"], "a read and a write"),
            Hazard::WriteAfterWrite => (["race-waw", "race-warp-waw"], ["write", "write"], "two writes"),
        };
        let code = match (key.scopes, apart) {
            _ if key.violates_nc => "nc-written",
            (true, _) => "race-scope",
            (_, Apart::Warp) => code[1],
            _ => code[0],
        };
        let space = if key.shared { "shared" } else { "global" };
        let at = describe(key.shared, pair.example.address);
        let how = match missing {
            Missing::Scopes(a, b) if strong == (true, true) => {
                format!("whose scopes {} and {} do not include both threads", a.name(), b.name())
            }
            Missing::Scopes(a, b) => {
                format!(
                    "ordered only by a release at {} and an acquire at {}, which are too narrow",
                    a.name(),
                    b.name()
                )
            }
            Missing::OneSize(a, b) => format!("of {a} and {b} bytes, which overlap only in part"),
            _ if pair.example.same_instruction => "of different values by lanes of one instruction".to_owned(),
            _ if apart == Apart::Warp => "by lanes of one warp, ordered only by lock-step execution".to_owned(),
            _ => "without ordering between them".to_owned(),
        };
        let title = match (key.violates_nc, second) {
            (false, _) => format!("data race on {space} memory: {both} {how}, {at}"),
            (true, "read") => format!("`ld.global.nc` reads memory that the same launch has written, {at}"),
            (true, _) => format!("write to memory that the same launch has read by `ld.global.nc`, {at}"),
        };
        let mut diagnostic = Diagnostic::new(code, title);
        diagnostic.place = Some(Place::of(self.program, key.later.function, key.later.pc));
        let [by_first, by_second] = pair.example.by.map(made_by);
        diagnostic.label = Some(format!("the later {second}{by_second}"));
        diagnostic.thread = Some(later);
        let whose = self.earlier(earlier, later.block);
        let place = Place::of(self.program, key.earlier.function, key.earlier.pc);
        let issued = if pair.example.by[0].is_some() { "issued by" } else { "by" };
        diagnostic.related.push((format!("the earlier {first}{by_first}, {issued} {whose}:"), place));
        diagnostic.notes.push(format!("the address is {:#x}", pair.example.address));
        if pair.same_value {
            diagnostic.notes.push(SAME_VALUE.to_owned());
        }
        if let Some((old, new, bytes)) = pair.example.values.filter(|(old, new, _)| old != new) {
            let width = bytes as usize * 2 + 2;
            diagnostic.notes.push(format!("the earlier write stored {old:#0width$x}, the later write {new:#0width$x}"));
        }
        if strong.0 != strong.1 && !key.violates_nc {
            let which = if strong.0 { "earlier" } else { "later" };
            diagnostic.notes.push(format!("only the {which} access is atomic or otherwise strong"));
        }
        diagnostic.help = Some(help(key, &pair.example));
        Finding::new(diagnostic, pair.count)
    }

    /// Describes the thread or threads of the earlier access, with their block if it differs from the later one's.
    pub fn earlier(&self, (ticket, warp, who): (u32, u32, Who), later: [u32; 3]) -> String {
        let [x, y, _] = self.grid.map(u64::from);
        let linear = u64::from(ticket);
        let block = [linear % x.max(1), linear / x.max(1) % y.max(1), linear / (x * y).max(1)].map(|axis| axis as u32);
        let block = self.ids.get(&ticket).copied().unwrap_or(block);
        let threads = match who {
            Who::Lane(lane) => format!("thread {}", Triple(self.thread(warp, u32::from(lane)))),
            Who::Several => format!("several threads of warp {warp}"),
            Who::Unknown => format!("a thread of warp {warp}"),
        };
        if block == later { threads } else { format!("{threads} of block {}", Triple(block)) }
    }

    /// Computes the `%tid` of a lane.
    pub fn thread(&self, warp: u32, lane: u32) -> [u32; 3] {
        let linear = warp * 32 + lane;
        let [x, y, _] = self.threads.map(|axis| axis.max(1));
        [linear % x, linear / x % y, linear / x / y]
    }
}

fn missing(found: &Found<'_>) -> Missing {
    let now = found.now;
    if found.conflict == Conflict::Scopes
        && let (Some(earlier), Some(later)) = (found.earlier.mode.strong, now.record.mode.strong)
    {
        return Missing::Scopes(earlier, later);
    }
    if found.conflict == Conflict::Sizes {
        return Missing::OneSize(found.earlier.mode.bytes, now.record.mode.bytes);
    }
    let (warp, lane) = (now.touch.warp as usize, found.lane as u8);
    if let Some((release, acquire)) = now.block.too_narrow(warp, lane, found.earlier) {
        Missing::Scopes(release, acquire)
    } else if now.block.awaits_fence(warp, lane, found.earlier) {
        Missing::Acquire
    } else if now.block.releases_a_neighbour(warp, lane, found.earlier) {
        Missing::WarpSync
    } else {
        Missing::Order
    }
}

/// Whether another lane made the earlier access in the same execution of the instruction.
fn in_same_store(found: &Found<'_>) -> bool {
    let touch = found.now.touch;
    let Who::Lane(lane) = found.who else { return false };
    let start = touch.addresses[usize::from(lane) % 32];
    *found.earlier == found.now.record
        && touch.kind == AccessKind::Store
        && touch.mask >> lane & 1 != 0
        && found.address.checked_sub(start).is_some_and(|offset| offset < u64::from(touch.bytes))
}

/// Returns the values that two ordinary stores wrote.
fn values(found: &Found<'_>) -> Option<(u32, u32, u32)> {
    let (now, touch) = (found.now, found.now.touch);
    if touch.kind != AccessKind::Store || now.record.mode.strong.is_some() || found.earlier.mode.strong.is_some() {
        return None;
    }
    let bytes = found.bytes.clamp(1, 4);
    let mask = u32::MAX >> (32 - 8 * bytes);
    let stored = |lane: usize| {
        let offset = found.address.checked_sub(touch.addresses[lane % 32])?;
        let word = touch.peek.stored(lane)?.get((offset >> 2) as usize).copied()?;
        Some(word >> ((offset & 3) * 8) & mask)
    };
    let old = match found.who {
        Who::Lane(lane) if in_same_store(found) => stored(usize::from(lane))?,
        _ => touch.peek.before(touch.space, found.address, bytes as u8)? as u32 & mask,
    };
    Some((old, stored(found.lane)?, bytes))
}
