//! Races between streams: two works that touch the same bytes of memory, one of them writing, with no order between
//! them.
//!
//! Recorded are the accesses of kernels to global memory, and those of copies, fills and frees to device memory and to
//! memory of the host that the driver knows. Not seen: textures and surfaces, the host's own accesses, and works of one
//! graph.

use super::State;
use crate::model::{Access, Accessed, Clock, Copy, Device, Handle, Kernel, Kind, Set, Side, Work};
use ptx_sim::stop::Diagnostic;
use ptx_sim::{Accesses, Effect, Finding};
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

/// What is known for the search for races.
#[derive(Default)]
pub struct Races {
    /// What the host has waited for.
    pub host: Clock,
    accessed: Accessed,
    /// Pairs that were reported: both works and their effects, and the allocation.
    reported: HashSet<[String; 3]>,
}

impl Races {
    /// Forgets what no later work can race with.
    pub fn forget(&mut self) {
        self.accessed.forget_before(&self.host);
    }
}

impl State {
    /// Notes what a kernel accessed.
    pub(super) fn launched(&mut self, stream: Handle, kernel: &Kernel, accesses: &Accesses) {
        let Some(work) = self.work(stream) else { return };
        let effects =
            [(Effect::Read, &accesses.read), (Effect::Write, &accesses.written), (Effect::Atomic, &accesses.atomic)];
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
        let access = Arc::new(Access { work: work.clone(), effect, kernel });
        let mut conflicts: Vec<(u64, Arc<Access>)> = Vec::new();
        for range in ranges.filter(|range| !range.is_empty()) {
            for (byte, earlier) in self.races.accessed.add(range, &access) {
                if !conflicts.iter().any(|(_, other)| Arc::ptr_eq(other, &earlier)) {
                    conflicts.push((byte, earlier));
                }
            }
        }
        conflicts.into_iter().for_each(|(byte, earlier)| self.report_race(byte, &earlier, &access));
    }

    fn report_race(&mut self, byte: u64, earlier: &Access, later: &Access) {
        let memory = self.memory_at(byte);
        let [one, other] = [earlier, later].map(|access| described(access, &self.named(access.work.token.stream)));
        if !self.races.reported.insert([one.clone(), other.clone(), memory.0.clone()]) {
            return;
        }
        let (name, offset) = memory;
        let title = format!("{one} and {other} access byte {offset} of `{name}`, and nothing orders them");
        let mut diagnostic = Diagnostic::new("race-streams", title);
        let place = |access: &Access| {
            let kernel = access.kernel.as_ref()?;
            kernel.sites.place(&kernel.program, access.effect, byte)
        };
        let verb = |access: &Access| verb(access.effect);
        // The headline is an instruction, if there is one.
        match (place(earlier), place(later)) {
            (Some(first), None) => {
                diagnostic.place = Some(first);
                diagnostic.label = Some(format!("`{}` {} here", kernel(earlier), verb(earlier)));
            }
            (first, second) => {
                diagnostic.label = second.is_some().then(|| format!("`{}` {} here", kernel(later), verb(later)));
                diagnostic.place = second;
                let label = format!("`{}` {} here:", kernel(earlier), verb(earlier));
                diagnostic.related.extend(first.map(|first| (label, first)));
            }
        }
        diagnostic.notes.push(format!("the calls: {}, then {}", earlier.work.call, later.work.call));
        diagnostic.help = Some(
            "record an event after the first (cuEventRecord) and let the other stream wait for it (cuStreamWaitEvent), \
             or let the host wait for the first (cuStreamSynchronize)"
                .to_owned(),
        );
        let about = [later, earlier].map(kernel).into_iter().find(|name| !name.is_empty()).unwrap_or_default();
        self.report.findings(about, &[Finding::new(diagnostic, 1)]);
    }

    /// The allocation at an address by its name, and the offset in it.
    fn memory_at(&self, byte: u64) -> (String, u64) {
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

/// What a work does, and where.
fn described(access: &Access, stream: &str) -> String {
    let who = match &access.kernel {
        Some(kernel) => format!("`{}`", kernel.name),
        None => access.work.call.to_owned(),
    };
    format!("{} of {who} in {stream}", noun(access.effect))
}

fn kernel(access: &Access) -> &str {
    access.kernel.as_ref().map_or("", |kernel| &kernel.name)
}

fn noun(effect: Effect) -> &'static str {
    match effect {
        Effect::Read => "a read",
        Effect::Write => "a write",
        Effect::Atomic => "an atomic access",
    }
}

fn verb(effect: Effect) -> &'static str {
    match effect {
        Effect::Read => "reads",
        Effect::Write => "writes",
        Effect::Atomic => "accesses atomically",
    }
}
