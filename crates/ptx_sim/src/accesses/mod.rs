//! The bytes of global memory that a launch accesses, for users that check the order of launches: recorded if
//! [`Config::accesses`](crate::Config) is set; otherwise it has no cost.
//!
//! Not recorded: textures and surfaces.

mod bytes;

use crate::observe::{
    AccessKind, BlockShape, Boxed, Bypass, Factor, Observer, Peek, Range, Site, Touch, Variable, no_shadow,
};
use crate::program::{Order, Program, Scope, Space};
use crate::stop::Place;
use bytes::Bytes;
use std::collections::BTreeMap;

/// How a launch accesses bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// Reads them.
    Read,
    /// Writes them.
    Write,
    /// Updates them atomically, or accesses them with a memory order other than weak: other such accesses at the same
    /// time are no races.
    Atomic,
}

/// Bytes of global memory that a launch accessed, as ranges of addresses: in order, disjoint, and not adjacent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Accesses {
    /// Bytes that were read.
    pub read: Vec<std::ops::Range<u64>>,
    /// Bytes that were written.
    pub written: Vec<std::ops::Range<u64>>,
    /// Bytes that were accessed atomically.
    pub atomic: Vec<std::ops::Range<u64>>,
    /// The instructions that did it.
    pub sites: Sites,
}

/// The instructions of a launch that accessed global memory, each with the lowest and the highest byte of its accesses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sites(BTreeMap<(Effect, Site), std::ops::Range<u64>>);

impl Sites {
    /// Returns the place of an instruction that accessed a byte in this way: of those whose accesses lie around it, the
    /// one with the narrowest range. `program` is the one that was launched.
    pub fn place(&self, program: &Program, effect: Effect, byte: u64) -> Option<Place> {
        let fitting = self.0.iter().filter(|((known, _), range)| *known == effect && range.contains(&byte));
        let ((_, site), _) = fitting.min_by_key(|(_, range)| range.end - range.start)?;
        Some(Place::of(program, site.function, site.pc))
    }

    fn add(&mut self, effect: Effect, site: Site, range: &std::ops::Range<u64>) {
        let known = self.0.entry((effect, site)).or_insert_with(|| range.clone());
        *known = known.start.min(range.start)..known.end.max(range.end);
    }
}

/// Observer that records one worker's accesses.
#[derive(Debug, Default)]
pub(crate) struct Recording {
    read: Bytes,
    written: Bytes,
    atomic: Bytes,
    sites: Sites,
}

impl Recording {
    pub fn finish(self) -> Accesses {
        let Self { read, written, atomic, sites } = self;
        Accesses { read: read.ranges(), written: written.ranges(), atomic: atomic.ranges(), sites }
    }

    fn add(&mut self, effect: Effect, range: std::ops::Range<u64>) {
        let set = match effect {
            Effect::Read => &mut self.read,
            Effect::Write => &mut self.written,
            Effect::Atomic => &mut self.atomic,
        };
        set.add(range);
    }
}

/// The effect of an access; `None` if it moves no data.
fn effect(kind: AccessKind, order: Order, scope: Scope) -> Option<Effect> {
    match kind {
        AccessKind::Discard => None,
        AccessKind::Atomic => Some(Effect::Atomic),
        // A narrower scope than the device's does not include threads of another launch.
        _ if order != Order::Weak && scope >= Scope::Gpu => Some(Effect::Atomic),
        AccessKind::Load => Some(Effect::Read),
        AccessKind::Store => Some(Effect::Write),
    }
}

impl Observer for Recording {
    type Block = ();
    type Shadow = ();

    fn shadow(&mut self) -> &mut () {
        no_shadow()
    }

    fn begin(&mut self, _: &BlockShape) {}

    fn touch(&mut self, (): &mut (), touch: &Touch<'_>) {
        let effect = effect(touch.kind, touch.order, touch.scope).filter(|_| touch.space == Space::Global);
        let Some(effect) = effect else { return };
        let bytes = u64::from(touch.bytes.max(1));
        let whole = touch.spread.low..touch.spread.high.saturating_add(bytes);
        self.sites.add(effect, touch.site, &whole);
        // The lanes' accesses follow each other without gaps.
        if touch.spread.stride.is_some_and(|stride| stride.unsigned_abs() <= bytes) {
            return self.add(effect, whole);
        }
        crate::lanes::each(touch.mask, |lane| {
            let start = touch.addresses[lane];
            self.add(effect, start..start.saturating_add(bytes));
        });
    }

    fn range(&mut self, (): &mut (), range: &Range, _: Peek<'_>) {
        let effect = effect(range.kind, Order::Weak, Scope::Gpu).filter(|_| range.space == Space::Global);
        let Some(effect) = effect else { return };
        let whole = range.start..range.start.saturating_add(range.bytes);
        self.sites.add(effect, range.site, &whole);
        self.add(effect, whole);
    }

    fn absorb(&mut self, other: Self) {
        self.read.absorb(other.read);
        self.written.absorb(other.written);
        self.atomic.absorb(other.atomic);
        for ((effect, site), range) in other.sites.0 {
            self.sites.add(effect, site, &range);
        }
    }

    fn end(&mut self, (): ()) {}

    fn ran(&mut self, (): &mut (), _: u32, _: Site, _: u32, _: u32) {}

    fn guarded(&mut self, _: Site, _: u32) {}

    fn branch(&mut self, _: Site, _: bool) {}

    fn bypass(&mut self, (): &mut (), _: &Bypass<'_>) {}

    fn fence(&mut self, (): &mut (), _: u32, _: u32, _: Order, _: Scope) {}

    fn meet(&mut self, (): &mut (), _: u32, _: u32, _: u32) {}

    fn arrive(&mut self, (): &mut (), _: u32, _: u32) {}

    fn barrier(&mut self, (): &mut (), _: u32, _: u32, _: u32) {}

    fn left_out(&mut self, (): &mut (), _: u32, _: Site, _: u32) {}

    fn proxy_fence(&mut self, (): &mut (), _: u32, _: u32) {}

    fn announce(&mut self, (): &mut (), _: &Touch<'_>) {}

    fn issue(&mut self, (): &mut (), _: &Range, _: Peek<'_>) {}
    fn boxed(&mut self, (): &mut (), _: &Boxed<'_>) {}

    fn factor(&mut self, (): &mut (), _: &Factor) {}

    fn release(&mut self, (): &mut (), _: u32, _: u32, _: Variable, _: Scope) {}

    fn acquire(&mut self, (): &mut (), _: u32, _: u32, _: Variable, _: Scope) {}
}
