//! Propagation of undefined values through atomics.

use super::access::{Place, bits_of, bytes_of, low};
use super::report::Use;
use super::state::Uninit;
use crate::isa::File;
use crate::lanes::{each, first, select};
use crate::observe::{Lanes, Scene};
use crate::program::{Atomic, AtomicOperation};
use crate::registers::shadow::NEVER_WRITTEN;
use crate::registers::{NO_SLOT, Registers};

impl Uninit {
    /// `atom` and `red`: the old value in memory and the operands must be defined, except for `exch`, which only moves
    /// them. A `cas` may read undefined bytes next to the relevant ones: compilers implement atomics of one and two
    /// bytes in this way.
    pub fn atomic_shadows(
        &mut self,
        scene: &mut Scene<'_>,
        registers: &mut Registers,
        atomic: &Atomic,
        lanes: Lanes<'_>,
    ) {
        let Some(mut shadow) = registers.shadow.take() else { return };
        let file = if atomic.wide { File::Long } else { File::Word };
        let bytes = u32::from(atomic.bytes);
        let destination = atomic.destination.filter(|slot| *slot != NO_SLOT).map(|slot| shadow.row(file, slot));
        let operands = [atomic.b, atomic.c].map(|slot| shadow.row(file, slot));
        let bad = operands.iter().fold(0, |bad, row| bad | shadow.undefined(*row)) & lanes.mask;
        if bad == 0 && self.all_defined(scene, lanes, bytes) {
            destination.into_iter().for_each(|row| shadow.define(row, lanes.mask));
            registers.shadow = Some(shadow);
            return;
        }
        let exchanges = atomic.operation == AtomicOperation::Exch;
        let compares = atomic.operation == AtomicOperation::Cas;
        let found = self.bytes_of_lanes(scene, lanes, bytes);
        let bad_memory = select(lanes.mask, |lane| match found[lane].undefined {
            0 => false,
            undefined => !exchanges && (!compares || undefined == low(bytes)),
        });
        let born = select(lanes.mask, |lane| found[lane].undefined != 0);
        let origin = if born == 0 { NEVER_WRITTEN } else { self.birth(scene, lanes, bytes, born, &found) };
        if bad_memory != 0 {
            let lane = first(bad_memory);
            self.used(scene, lane, Use::Atomic, origin | lane as u32);
        }
        for row in operands {
            // For a comparison with a partly undefined word, see above.
            let whole = |lane: usize| {
                shadow.get(row, lane).0 & super::rule::ones(file) != 0
                    && (!compares || bytes_of(shadow.get(row, lane).0) & low(bytes) == low(bytes))
            };
            let wrong = select(lanes.mask, whole);
            if wrong != 0 {
                let lane = first(wrong);
                let (_, from) = self.born(scene, &shadow, row, lane);
                self.used(scene, lane, Use::Operand, from);
            }
            shadow.define(row, lanes.mask);
        }
        each(lanes.mask, |lane| {
            self.mark(scene, Place::of(lanes, lane, bytes), 0, NEVER_WRITTEN);
            if let Some(row) = destination {
                let bits = if exchanges { bits_of(found[lane].undefined) } else { 0 };
                shadow.set(row, lane, bits, origin | lane as u32);
            }
        });
        registers.shadow = Some(shadow);
    }
}
