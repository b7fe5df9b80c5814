//! The latest accesses to each byte of memory, by the works of streams.

use super::clock::{Clock, Token};
use super::order::Position;
use ptx_sim::stop::Place;
use ptx_sim::{Effect, Program, Sites};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// An item of a stream.
#[derive(Debug)]
pub struct Work {
    pub token: Token,
    /// What comes before it.
    pub clock: Clock,
    /// The function of the driver that enqueued it.
    pub call: &'static str,
}

/// Accesses of a work, all with one effect.
#[derive(Debug)]
pub struct Access {
    pub work: Arc<Work>,
    /// The node of the graph that the work launches.
    pub node: Option<Arc<Position>>,
    pub effect: Effect,
    /// The kernel, and which of its instructions accessed what.
    pub kernel: Option<Kernel>,
}

impl Access {
    /// Whether this access is ordered before another one that was made later.
    pub fn is_before(&self, other: &Self) -> bool {
        match (&self.node, &other.node) {
            _ if self.work.token != other.work.token => other.work.clock.has(self.work.token),
            (Some(one), Some(other)) => one.is_before(other),
            _ => true,
        }
    }

    /// The instruction that accessed a byte.
    pub fn place(&self, byte: u64) -> Option<Place> {
        let kernel = self.kernel.as_ref()?;
        kernel.sites.place(&kernel.program, self.effect, byte)
    }

    /// The label of that instruction in reports.
    pub fn label(&self) -> String {
        let does = match self.effect {
            Effect::Read => "reads",
            Effect::Write => "writes",
            Effect::Atomic => "accesses atomically",
        };
        format!("`{}` {does} here", self.kernel_name())
    }

    /// The kernel's name, if it is one.
    pub fn kernel_name(&self) -> &str {
        self.kernel.as_ref().map_or("", |kernel| &kernel.name)
    }

    /// The kernel's name, or the call's.
    pub fn name(&self) -> &str {
        self.kernel.as_ref().map_or(self.work.call, |kernel| &kernel.name)
    }

    /// What it is.
    pub fn described(&self) -> String {
        let what = match self.effect {
            Effect::Read => "a read",
            Effect::Write => "a write",
            Effect::Atomic => "an atomic access",
        };
        match (&self.kernel, &self.node) {
            (Some(kernel), _) => format!("{what} of `{}`", kernel.name),
            (None, None) => format!("{what} of {}", self.work.call),
            (None, Some(_)) => what.to_owned(),
        }
    }

    /// What it is, with the number of its node.
    pub fn in_node(&self) -> String {
        let node = self.node.as_ref().map(|node| node.shown()).unwrap_or_default();
        format!("{} in node {node}", self.described())
    }
}

/// A kernel that accessed memory.
#[derive(Clone, Debug)]
pub struct Kernel {
    pub name: String,
    pub program: Arc<Program>,
    pub sites: Sites,
}

/// Pages of memory of the host that a work accesses.
#[derive(Debug)]
pub struct Watched {
    pub pages: Range<u64>,
    pub access: Arc<Access>,
}

/// Accesses to bytes from a key of the map to `end`, of which none is ordered before another one that conflicts with
/// the same accesses.
#[derive(Clone, Debug, Default)]
struct Span {
    end: u64,
    accesses: Vec<Arc<Access>>,
}

/// The latest accesses, by address.
#[derive(Debug, Default)]
pub struct Accessed {
    spans: BTreeMap<u64, Span>,
    /// Number of spans after the last [`Accessed::forget_before`].
    kept: usize,
}

impl Accessed {
    /// Adds accesses to a range, and returns earlier ones that conflict with them and are not ordered before them, with
    /// the first byte of each.
    pub fn add(&mut self, range: Range<u64>, access: &Arc<Access>) -> Vec<(u64, Arc<Access>)> {
        self.split(range.start);
        self.split(range.end);
        let mut conflicts: Vec<(u64, Arc<Access>)> = Vec::new();
        let mut at = range.start;
        while at < range.end {
            let end = self.spans.range(at..).next().map_or(range.end, |(start, _)| (*start).min(range.end));
            if at < end {
                self.spans.insert(at, Span { end, accesses: vec![access.clone()] });
                at = end;
                continue;
            }
            let Some(span) = self.spans.get_mut(&at) else { break };
            for known in &span.accesses {
                let is_new = !conflicts.iter().any(|(_, other)| Arc::ptr_eq(other, known));
                if is_new && conflict(known.effect, access.effect) && !known.is_before(access) {
                    conflicts.push((at, known.clone()));
                }
            }
            // What conflicts with one that the new one replaces would conflict with the new one.
            let stays = |known: &Arc<Access>| match access.effect {
                Effect::Write => false,
                effect => known.effect != effect || !known.is_before(access),
            };
            span.accesses.retain(stays);
            span.accesses.push(access.clone());
            at = span.end;
        }
        conflicts
    }

    /// Removes all accesses to a range: its memory is gone.
    pub fn remove(&mut self, range: Range<u64>) {
        self.split(range.start);
        self.split(range.end);
        let starts: Vec<u64> = self.spans.range(range).map(|(start, _)| *start).collect();
        starts.iter().for_each(|start| drop(self.spans.remove(start)));
    }

    /// Removes what comes before all later work, once that may be worth the search.
    pub fn forget_before(&mut self, clock: &Clock) {
        const FEW: usize = 1024;
        if self.spans.len() >= FEW.max(2 * self.kept) {
            self.forget_all_before(clock);
        }
    }

    /// Number of ranges with accesses.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// As [`Accessed::forget_before`], at once.
    pub fn forget_all_before(&mut self, clock: &Clock) {
        self.spans.retain(|_, span| {
            span.accesses.retain(|known| !clock.has(known.work.token));
            !span.accesses.is_empty()
        });
        self.kept = self.spans.len();
    }

    /// Makes a span that contains an address in its middle two.
    fn split(&mut self, address: u64) {
        let Some((start, span)) = self.spans.range_mut(..address).next_back() else { return };
        if span.end > address && *start < address {
            let second = span.clone();
            span.end = address;
            self.spans.insert(address, second);
        }
    }
}

/// Whether two accesses to a byte need an order.
fn conflict(one: Effect, other: Effect) -> bool {
    !matches!((one, other), (Effect::Read, Effect::Read) | (Effect::Atomic, Effect::Atomic))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An access by the first item of a stream, after the first items of others.
    fn access(stream: usize, after: &[usize], effect: Effect) -> Arc<Access> {
        let mut clock = Clock::default();
        after.iter().for_each(|stream| clock.add(Token { stream: *stream, number: 1 }));
        let work = Work { token: Token { stream, number: 1 }, clock, call: "cuLaunchKernel" };
        Arc::new(Access { work: Arc::new(work), node: None, effect, kernel: None })
    }

    /// The first bytes of the conflicts, and the streams of the earlier accesses.
    fn found(conflicts: &[(u64, Arc<Access>)]) -> Vec<(u64, usize)> {
        conflicts.iter().map(|(byte, access)| (*byte, access.work.token.stream)).collect()
    }

    #[test]
    fn overlaps_conflict_without_an_order() {
        let mut memory = Accessed::default();
        assert!(memory.add(0..100, &access(1, &[], Effect::Write)).is_empty());
        assert_eq!(found(&memory.add(90..110, &access(2, &[], Effect::Read))), [(90, 1)]);
        assert!(memory.add(100..200, &access(3, &[], Effect::Read)).is_empty());
        assert!(memory.add(0..50, &access(4, &[1], Effect::Write)).is_empty());
        // Both readers, and what of the first writer is left.
        assert_eq!(found(&memory.add(40..105, &access(5, &[4], Effect::Write))), [(50, 1), (90, 2), (100, 3)]);
        memory.remove(0..150);
        assert_eq!(found(&memory.add(0..151, &access(6, &[], Effect::Write))), [(150, 3)]);
    }

    #[test]
    fn atomics_conflict_with_everything_else() {
        let mut memory = Accessed::default();
        assert!(memory.add(0..8, &access(1, &[], Effect::Atomic)).is_empty());
        assert!(memory.add(0..8, &access(2, &[], Effect::Atomic)).is_empty());
        assert_eq!(found(&memory.add(0..4, &access(3, &[1], Effect::Read))), [(0, 2)]);
        assert_eq!(found(&memory.add(0..4, &access(4, &[1, 2], Effect::Write))), [(0, 3)]);
    }

    #[test]
    fn a_later_reader_does_not_hide_an_earlier_one_of_another_stream() {
        let mut memory = Accessed::default();
        memory.add(0..4, &access(1, &[], Effect::Read));
        memory.add(0..4, &access(2, &[], Effect::Read));
        memory.add(0..4, &access(3, &[1], Effect::Read));
        assert_eq!(found(&memory.add(0..4, &access(4, &[3], Effect::Write))), [(0, 2)]);
    }

    #[test]
    fn what_all_later_work_follows_is_forgotten() {
        let mut memory = Accessed::default();
        (0..2000).for_each(|at| drop(memory.add(2 * at..2 * at + 1, &access(1, &[], Effect::Write))));
        let mut clock = Clock::default();
        memory.forget_before(&clock);
        assert_eq!(memory.spans.len(), 2000);
        (2000..5000).for_each(|at| drop(memory.add(2 * at..2 * at + 1, &access(2, &[], Effect::Write))));
        clock.add(Token { stream: 1, number: 1 });
        memory.forget_before(&clock);
        assert_eq!(memory.spans.len(), 3000);
    }
}
