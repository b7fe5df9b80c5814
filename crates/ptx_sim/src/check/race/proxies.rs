//! Check of shared memory that a bulk copy reads. Ordinary instructions use the generic proxy, bulk copies the
//! asynchronous proxy. A write through the generic proxy is visible to the asynchronous proxy only after a
//! `fence.proxy.async`, even if a barrier lies between.
//!
//! The writer may execute the fence, or a thread that is ordered after the write. A fence counts for the whole block,
//! so a fence that is not itself ordered before the copy is accepted too. Memory that a bulk copy wrote, or read before
//! it is written again, needs no fence: waiting for the copy has the same effect.

use super::clock::{Block, Who};
use super::entry::Entry;
use super::records::Record;
use super::report::Seen;
use crate::observe::{Range, Site, Touch};
use crate::program::{Async, Op, Program, Space, Warpgroup};
use crate::stop::{Diagnostic, Finding, Place, Thread};
use std::collections::BTreeMap;
use std::sync::Arc;

/// State of the shared memory of one block.
#[derive(Debug, Default)]
pub(super) struct Proxies {
    /// Last write of each word by a thread of the block, and its lane.
    writes: BTreeMap<u64, (Record, u8)>,
    /// Accesses of the block that were ordered before any fence executed so far.
    fenced: Arc<Entry>,
}

/// First occurrence and number of occurrences, by copy and write.
#[derive(Debug, Default)]
pub(super) struct Unfenced(BTreeMap<(Site, Site), (Example, u64)>);

#[derive(Debug)]
struct Example {
    address: u64,
    writer: (u32, u32, Who),
    issuer: Thread,
}

/// Whether a program has bulk copies that read shared memory.
pub(super) fn reads_shared(program: &Program) -> bool {
    let reads = |op: &Op| match op {
        Op::Warpgroup(Warpgroup::Multiply(_)) => true,
        Op::Async(op) => match &**op {
            Async::Bulk { from: (Space::Shared | Space::Generic, _), .. } => true,
            Async::Tensor { mbarrier, .. } => mbarrier.is_none(),
            _ => false,
        },
        _ => false,
    };
    program.functions.iter().flat_map(|function| &function.code).any(|inst| reads(&inst.op))
}

fn words(start: u64, bytes: u64) -> impl Iterator<Item = u64> {
    start / 4..start.saturating_add(bytes).div_ceil(4)
}

impl Proxies {
    /// Records a write by threads of the block.
    pub fn write(&mut self, record: Record, touch: &Touch<'_>) {
        crate::lanes::each(touch.mask, |lane| {
            for word in words(touch.addresses[lane], u64::from(touch.bytes)) {
                self.writes.insert(word, (record, lane as u8));
            }
        });
    }

    /// Removes the writes that threads of another block overwrite.
    pub fn remove_lanes(&mut self, touch: &Touch<'_>) {
        crate::lanes::each(touch.mask, |lane| self.remove(touch.addresses[lane], u64::from(touch.bytes)));
    }

    /// Removes the writes that an asynchronous copy overwrites.
    pub fn remove(&mut self, start: u64, bytes: u64) {
        for word in words(start, bytes) {
            self.writes.remove(&word);
        }
    }

    /// Applies a `fence.proxy.async`.
    pub fn fence(&mut self, block: &mut Block, warp: usize, lanes: u32) {
        let known = block.release(warp, lanes);
        if let Some(home) = known.get(block.home.block) {
            self.fenced = Entry::join(&self.fenced, home);
        }
    }

    /// Returns the first word of a copy's source that was written without a later fence.
    fn unfenced(&self, range: &Range) -> Option<(u64, &Record, u8)> {
        let end = range.start.saturating_add(range.bytes).div_ceil(4);
        let mut written = self.writes.range(range.start / 4..end);
        let fenced = |record: &Record, lane: u8| self.fenced.covers_any(record.warp, 1 << lane, record.stamp);
        let (word, (record, lane)) = written.find(|(_, (record, lane))| !fenced(record, *lane))?;
        Some((word * 4, record, *lane))
    }
}

impl Unfenced {
    /// Checks a copy from shared memory when a thread issues it.
    pub fn issue(&mut self, proxies: &Proxies, block: &Block, range: &Range, seen: &Seen<'_>) {
        let Some((address, record, lane)) = proxies.unfenced(range) else { return };
        let writer = (record.block, u32::from(record.warp), Who::Lane(lane));
        let issuer = Thread { block: block.id, thread: seen.thread(range.warp, range.lane) };
        let example = Example { address, writer, issuer };
        self.0.entry((range.site, record.site)).or_insert((example, 0)).1 += 1;
    }

    /// Merges the occurrences of another worker.
    pub fn absorb(&mut self, other: Self) {
        for (key, (example, count)) in other.0 {
            self.0.entry(key).or_insert((example, 0)).1 += count;
        }
    }

    /// Returns the findings, sorted by place. `describe` names the location of an address in shared memory.
    pub fn findings(self, program: &Program, seen: &Seen<'_>, describe: impl Fn(u64) -> String) -> Vec<Finding> {
        let finding = |((copy, write), (example, count)): ((Site, Site), (Example, u64))| {
            let at = describe(example.address);
            let title =
                format!("a bulk copy reads shared memory whose last write no `fence.proxy.async` follows, {at}");
            let mut diagnostic = Diagnostic::new("async-proxy", title);
            diagnostic.place = Some(Place::of(program, copy.function, copy.pc));
            diagnostic.label = Some("the copy".to_owned());
            diagnostic.thread = Some(example.issuer);
            let writer = seen.earlier(example.writer, example.issuer.block);
            diagnostic.related.push((format!("the write, by {writer}:"), Place::of(program, write.function, write.pc)));
            diagnostic.help = Some(
                "a barrier orders threads, not the copy: execute `fence.proxy.async.shared::cta` in the writing \
                threads before the barrier that precedes the copy"
                    .to_owned(),
            );
            Finding::new(diagnostic, count)
        };
        self.0.into_iter().map(finding).collect()
    }
}
