//! Races between streams: two works that touch the same bytes of memory, one of them writing, with no order between
//! them; and races between two nodes of a launched graph, with no path of dependencies between them.
//!
//! Recorded are the accesses of kernels to global memory, and those of copies, fills and frees to device memory and to
//! memory of the host that the driver knows; for the host's own accesses see [`super::watched`]. Not seen: textures and
//! surfaces.

use super::State;
use crate::model::{Access, Accessed, Clock, Copy, Device, Handle, Kernel, Kind, Set, Side, Watched, Work};
use ptx_sim::stop::Diagnostic;
use ptx_sim::{Accesses, Effect, Finding};
use std::collections::{HashSet, VecDeque};
use std::ops::Range;
use std::sync::Arc;

/// What is known for the search for races.
#[derive(Default)]
pub struct Races {
    /// What the host has waited for.
    pub host: Clock,
    accessed: Accessed,
    /// Number of streams in `host` after the last search for those that are gone.
    kept: usize,
    /// What the host must not access, the oldest first.
    pub(super) watched: VecDeque<Watched>,
    /// Pairs that were reported: what both works are, and the allocation.
    reported: HashSet<[String; 3]>,
}

impl Races {
    /// Forgets what no later work can race with.
    pub fn forget(&mut self) {
        self.accessed.forget_before(&self.host);
    }

    /// Numbers of entries, for tests of what grows.
    pub fn retained(&self) -> [(&'static str, usize); 3] {
        [("accesses", self.accessed.len()), ("host clock", self.host.len()), ("races", self.reported.len())]
    }
}

/// Greatest number of races that are reported: a program may run for days.
const MOST: usize = 10_000;

impl State {
    /// Notes what a kernel accessed.
    pub(super) fn launched(&mut self, stream: Handle, kernel: &Kernel, accesses: &Accesses) {
        let Some(work) = self.work(stream) else { return };
        // A pair of works is reported once: by a write, if there is one.
        let effects =
            [(Effect::Write, &accesses.written), (Effect::Atomic, &accesses.atomic), (Effect::Read, &accesses.read)];
        for (effect, ranges) in effects {
            self.note(&work, effect, Some(kernel.clone()), ranges.iter().cloned());
        }
    }

    /// Notes what a copy accesses.
    pub(super) fn copied(&mut self, stream: Handle, copy: &Copy) {
        let Some(work) = self.work(stream) else { return };
        let rows = |at: fn((u64, u64)) -> u64| {
            let width = copy.width;
            copy.rows().map(at).map(move |start| start..start.saturating_add(width))
        };
        if self.is_known(copy.from) {
            self.note(&work, Effect::Read, None, rows(|(from, _)| from));
        }
        if self.is_known(copy.to) {
            self.note(&work, Effect::Write, None, rows(|(_, to)| to));
        }
    }

    /// Notes what a fill writes.
    pub(super) fn filled(&mut self, stream: Handle, set: &Set) {
        let Some(work) = self.work(stream) else { return };
        let (start, pitch, bytes) = (set.address, set.pitch, set.width.saturating_mul(set.bytes));
        let rows = (0..set.height).map(move |y| start.wrapping_add(y.wrapping_mul(pitch)));
        self.note(&work, Effect::Write, None, rows.map(move |start| start..start.saturating_add(bytes)));
    }

    /// Notes that a work makes an allocation usable, or ends that.
    pub(super) fn owned(&mut self, stream: Handle, address: u64) {
        let Some(work) = self.work(stream) else { return };
        if let Some((start, block)) = self.block_at(address) {
            self.note(&work, Effect::Write, None, std::iter::once(start..start + block.bytes));
        }
    }

    /// Removes streams that are gone from all clocks, once that may be worth the search. The host has waited for their
    /// work, so that nothing can race with it.
    pub(super) fn forget_streams(&mut self) {
        const FEW: usize = 64;
        if self.races.host.len() < FEW.max(2 * self.races.kept) {
            return;
        }
        self.races.accessed.forget_all_before(&self.races.host);
        let gone = self.races.host.of(|stream| !self.streams.contains_key(&stream));
        self.streams.values_mut().for_each(|stream| stream.clock.remove(&gone));
        self.events.values_mut().for_each(|event| event.clock.remove(&gone));
        self.races.host.remove(&gone);
        self.races.kept = self.races.host.len();
    }

    /// Forgets the accesses to an allocation that is freed.
    pub(super) fn disowned(&mut self, range: Range<u64>) {
        if self.settings.streams {
            self.races.accessed.remove(range);
        }
    }

    /// The work that a stream runs.
    fn work(&self, stream: Handle) -> Option<Arc<Work>> {
        self.streams.get(&stream)?.work.clone()
    }

    /// Whether memory is the device's, or the driver's on the host: other memory of the host is read and written as the
    /// driver's documentation says, before the call returns.
    pub fn is_known(&self, side: Side) -> bool {
        side.kind == Kind::Device || self.block_at(side.address).is_some() || self.device_of(side.address).is_some()
    }

    fn note(
        &mut self,
        work: &Arc<Work>,
        effect: Effect,
        kernel: Option<Kernel>,
        ranges: impl Iterator<Item = Range<u64>>,
    ) {
        let node = self.streams.get(&work.token.stream).and_then(|stream| stream.node.clone());
        let access = Arc::new(Access { work: work.clone(), node, effect, kernel });
        let mut conflicts: Vec<(u64, Arc<Access>)> = Vec::new();
        for range in ranges.filter(|range| !range.is_empty()) {
            self.watch(&access, &range);
            for (byte, earlier) in self.races.accessed.add(range, &access) {
                if !conflicts.iter().any(|(_, other)| Arc::ptr_eq(other, &earlier)) {
                    conflicts.push((byte, earlier));
                }
            }
        }
        conflicts.into_iter().for_each(|(byte, earlier)| self.report_race(byte, &earlier, &access));
    }

    fn report_race(&mut self, byte: u64, earlier: &Access, later: &Access) {
        let (name, offset) = self.memory_at(byte);
        let is_graph = earlier.work.token == later.work.token;
        let identity = |access: &Access| {
            let node = access.node.as_ref().filter(|_| is_graph);
            format!("{} {}", access.name(), node.map(|node| node.shown()).unwrap_or_default())
        };
        let [first, second] = [earlier, later].map(identity);
        if self.races.reported.len() == MOST || !self.races.reported.insert([first, second, name.clone()]) {
            return;
        }
        let mut diagnostic = if is_graph {
            let ([one, other], stream) = ([earlier, later].map(Access::in_node), self.named(later.work.token.stream));
            let title = format!(
                "{one} and {other} of a graph in {stream} access byte {offset} of `{name}`, and no dependency orders \
                 them"
            );
            Diagnostic::new("race-graph", title)
        } else {
            let [one, other] = [earlier, later].map(|access| self.described(access));
            let title = format!("{one} and {other} access byte {offset} of `{name}`, and nothing orders them");
            Diagnostic::new("race-streams", title)
        };
        let mut places = [later, earlier].into_iter().filter_map(|access| Some((access.label(), access.place(byte)?)));
        if let Some((label, place)) = places.next() {
            (diagnostic.label, diagnostic.place) = (Some(label), Some(place));
        }
        diagnostic.related.extend(places.map(|(label, place)| (format!("{label}:"), place)));
        let help = if is_graph {
            diagnostic.notes.push("nodes have the numbers that cuGraphGetNodes gives them".to_owned());
            "let one node depend on the other (cuGraphAddDependencies), or order the streams in the capture by an event"
        } else {
            diagnostic.notes.push(format!("the calls: {}, then {}", earlier.work.call, later.work.call));
            "record an event after the first (cuEventRecord) and let the other stream wait for it (cuStreamWaitEvent), \
             or let the host wait for the first (cuStreamSynchronize)"
        };
        diagnostic.help = Some(help.to_owned());
        let about = [later, earlier].map(Access::kernel_name).into_iter().find(|name| !name.is_empty());
        self.report.findings(about.unwrap_or_default(), &[Finding::new(diagnostic, 1)]);
    }

    /// What a work does, and in which stream.
    pub(super) fn described(&self, access: &Access) -> String {
        format!("{} in {}", access.described(), self.named(access.work.token.stream))
    }

    /// The allocation at an address by its name, and the offset in it.
    pub(super) fn memory_at(&self, byte: u64) -> (String, u64) {
        if let Some((start, block)) = self.block_at(byte) {
            return (self.block_name(start, &block), byte - start);
        }
        let named = |device: &Device| {
            let (start, _) = device.machine.allocation(byte)?;
            let described = device.machine.describe(start);
            Some((described.split('`').nth(1)?.to_owned(), byte - start))
        };
        self.devices.iter().find_map(named).unwrap_or_else(|| ("memory".to_owned(), byte))
    }

    /// What reports call a stream.
    fn named(&self, stream: Handle) -> String {
        let context = self.streams.get(&stream).and_then(|known| self.contexts.get(&known.context));
        match context {
            Some(context) if context.legacy == stream => "the default stream".to_owned(),
            _ => format!("stream {stream:#x}"),
        }
    }
}
