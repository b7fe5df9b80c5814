//! Propagation of undefined values through loads, stores and atomics. Called after an access has been checked and
//! before it is performed.

use super::origin::{Birth, COMPUTED, Origin, record};
use super::report::Use;
use super::state::Uninit;
use crate::isa::File;
use crate::lanes::{each, first, select};
use crate::memory::cells::{self, Bytes, Device, Lane};
use crate::observe::{Lanes, Scene, Site};
use crate::program::{Access, Space};
use crate::registers::shadow::{NEVER_WRITTEN, RegisterShadow};
use crate::registers::{LANES, NO_SLOT, Registers};
use crate::stop;

/// Distance in bytes up to which the lanes of an access are checked as one range.
const CLOSE: u64 = 1024;

/// Bytes of memory as one lane addresses them.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub space: Space,
    pub lane: usize,
    pub address: u64,
    pub bytes: u32,
}

impl Place {
    /// Returns the bytes that a lane of an access addresses.
    pub fn of(lanes: Lanes<'_>, lane: usize, bytes: u32) -> Self {
        Self { space: lanes.space, lane, address: lanes.addresses[lane], bytes }
    }
}

/// Queries on the lanes of an access.
trait Near {
    fn close(&self, bytes: u32) -> Option<u64>;
    fn by_address(&self, holds: impl FnMut(u64) -> bool) -> u32;
}

impl Near for Lanes<'_> {
    /// Returns the span from the first to the last byte of all lanes, if it is small.
    fn close(&self, bytes: u32) -> Option<u64> {
        let span = self.spread.high.wrapping_sub(self.spread.low).checked_add(u64::from(bytes))?;
        (span <= CLOSE).then_some(span)
    }

    /// Returns the lanes for which `holds`, which depends on the address only: consecutive lanes with one address share
    /// an answer.
    #[inline(always)]
    fn by_address(&self, mut holds: impl FnMut(u64) -> bool) -> u32 {
        let (mut last, mut answer) = (None, false);
        select(self.mask, |lane| {
            let address = self.addresses[lane];
            if last != Some(address) {
                (last, answer) = (Some(address), holds(address));
            }
            answer
        })
    }
}

/// Returns the rows of an element of an access; a 16-byte element has two.
#[inline(always)]
fn rows(shadow: &RegisterShadow, access: &Access, slot: u32) -> [Option<u32>; 2] {
    if slot == NO_SLOT {
        return [None; 2];
    }
    let file = if access.wide || access.bytes == 16 { File::Long } else { File::Word };
    let second = (access.bytes == 16).then(|| shadow.row(file, slot.saturating_add(1)));
    [Some(shadow.row(file, slot)), second]
}

/// Expands a mask of bytes to a mask of their bits.
pub(super) fn bits_of(bytes: u64) -> u64 {
    (0..8).filter(|byte| bytes >> byte & 1 != 0).fold(0, |bits, byte| bits | 0xff << (byte * 8))
}

/// Returns the bytes with at least one bit set.
pub(super) fn bytes_of(bits: u64) -> u64 {
    (0..8).filter(|byte| bits >> (byte * 8) & 0xff != 0).fold(0, |bytes, byte| bytes | 1 << byte)
}

pub(super) fn low(bytes: u32) -> u64 {
    if bytes >= 64 { u64::MAX } else { (1 << bytes) - 1 }
}

impl Uninit {
    /// `ld`: sets the shadows of the destinations from the memory.
    #[inline(always)]
    pub fn load_shadows(
        &mut self,
        scene: &mut Scene<'_>,
        registers: &mut Registers,
        access: &Access,
        lanes: Lanes<'_>,
    ) {
        let bytes = u32::from(access.bytes) * access.registers.len() as u32;
        if !self.all_defined(scene, lanes, bytes) {
            self.load_undefined(scene, registers, access, lanes);
        } else {
            self.defines_loaded(registers, access, lanes.mask);
        }
    }

    /// Marks the destinations of a load of defined values as defined.
    #[inline(always)]
    fn defines_loaded(&self, registers: &mut Registers, access: &Access, mask: u32) {
        if let Some(shadow) = registers.shadow.as_deref_mut() {
            for slot in &access.registers {
                let [first, second] = rows(shadow, access, *slot);
                first.into_iter().for_each(|row| shadow.define(row, mask));
                second.into_iter().for_each(|row| shadow.define(row, mask));
            }
        }
    }

    /// Quick test: true if all bytes are defined, false if that is unclear.
    #[inline(always)]
    pub(super) fn all_defined(&mut self, scene: &mut Scene<'_>, lanes: Lanes<'_>, bytes: u32) -> bool {
        let (mask, low) = (lanes.mask, lanes.spread.low);
        match lanes.space {
            Space::Const | Space::Param => true,
            Space::Shared => match lanes.close(bytes) {
                Some(span) => cells::all_defined(&scene.states.shared, low, span),
                None => {
                    let defined = |address: u64| cells::all_defined(&scene.states.shared, address, u64::from(bytes));
                    lanes.by_address(defined) == mask
                }
            },
            Space::Local | Space::Frame => {
                let words = (low / 4) as usize..(lanes.spread.high + u64::from(bytes)).div_ceil(4) as usize;
                let Some(rows) = scene.local.get(words).filter(|rows| rows.len() <= 8) else { return false };
                rows.iter().all(|row| select(mask, |lane| row[lane] & 0xf != 0xf) == 0)
            }
            Space::Global | Space::Generic => {
                let Some(view) =
                    scene.snapshot.find(low).filter(|view| view.holds(lanes.spread.high, u64::from(bytes)))
                else {
                    return false;
                };
                let Some(shadow) = view.shadow.as_deref() else { return true };
                let (base, whole) = (view.base, u64::from(bytes));
                match lanes.close(bytes) {
                    Some(span) => cells::all_defined_on_device(shadow, low - base, span),
                    None => {
                        let defined = |address: u64| cells::all_defined_on_device(shadow, address - base, whole);
                        lanes.by_address(defined) == mask
                    }
                }
            }
        }
    }

    /// Returns the state of bytes in memory.
    pub(super) fn bytes_at(&mut self, scene: &mut Scene<'_>, place: Place) -> Bytes {
        let Place { space, lane, address, bytes } = place;
        match space {
            Space::Const | Space::Param => Bytes::default(),
            Space::Shared => cells::read(&scene.states.shared, address, bytes),
            Space::Local | Space::Frame => cells::read_lane(scene.local, lane, address, bytes),
            Space::Global | Space::Generic => {
                Self::on_device(scene, address).map_or(Bytes::default(), |(device, at)| cells::read(&device, at, bytes))
            }
        }
    }

    /// Returns the cells of the allocation at an address, and the offset in it; `None` if it is not tracked.
    fn on_device<'s>(scene: &'s mut Scene<'_>, address: u64) -> Option<(Device<'s>, u64)> {
        let view = scene.snapshot.find(address)?;
        Some((Device(view.shadow.as_deref()?), address - view.base))
    }

    /// Returns the state of memory for every lane of an access.
    pub(super) fn bytes_of_lanes(&mut self, scene: &mut Scene<'_>, lanes: Lanes<'_>, bytes: u32) -> [Bytes; LANES] {
        std::array::from_fn(|lane| match lanes.mask >> lane & 1 {
            0 => Bytes::default(),
            _ => self.bytes_at(scene, Place::of(lanes, lane, bytes)),
        })
    }

    /// Marks bytes as written; those in `undefined` with an undefined value of that origin.
    pub(super) fn mark(&mut self, scene: &mut Scene<'_>, place: Place, undefined: u64, origin: u32) {
        let Place { space, lane, address, bytes } = place;
        let word = address / 4;
        match space {
            Space::Const | Space::Param => {}
            Space::Shared => {
                cells::write(&mut scene.states.shared, address, bytes, undefined);
                if undefined != 0 {
                    record(&mut scene.states.shared_stored, word, origin);
                }
            }
            Space::Local | Space::Frame => {
                cells::write(&mut Lane(scene.local, lane), address, bytes, undefined);
                if undefined != 0 {
                    record(&mut scene.states.local_stored, (scene.warp, lane, word), origin);
                }
            }
            Space::Global | Space::Generic => {
                if let Some((mut device, at)) = Self::on_device(scene, address) {
                    cells::write(&mut device, at, bytes, undefined);
                    if undefined != 0 {
                        record(&mut self.origins.stored, word, origin);
                    }
                }
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn load_undefined(&mut self, scene: &mut Scene<'_>, registers: &mut Registers, access: &Access, lanes: Lanes<'_>) {
        let Some(mut shadow) = registers.shadow.take() else { return };
        let one = u32::from(access.bytes);
        let bytes = one * access.registers.len() as u32;
        let found = self.bytes_of_lanes(scene, lanes, bytes);
        let undefined = |lane: usize| found[lane].undefined & access.used_bytes;
        let bad = select(lanes.mask, |lane| undefined(lane) != 0);
        let origin = if bad == 0 { NEVER_WRITTEN } else { self.birth(scene, lanes, bytes, bad, &found) };
        for (index, slot) in access.registers.iter().enumerate() {
            let [first, second] = rows(&shadow, access, *slot);
            let Some(first) = first else { continue };
            let shift = index as u32 * one;
            each(lanes.mask, |lane| {
                let here = undefined(lane).checked_shr(shift).unwrap_or(0) & low(one);
                let mut bits = bits_of(here & 0xff);
                // Sign extension copies the sign bit to all bits above.
                if access.sign_extend != 0 && here >> (one - 1) & 1 != 0 {
                    bits |= u64::MAX << (one * 8 - 1).min(63);
                }
                let row_bits = match access.sign_extend {
                    0 | 64 => u64::MAX,
                    n => (1 << n) - 1,
                };
                shadow.set(first, lane, bits & row_bits, origin | lane as u32);
                if let Some(second) = second {
                    shadow.set(second, lane, bits_of(here >> 8), origin | lane as u32);
                }
            });
        }
        registers.shadow = Some(shadow);
    }

    /// Returns the origin of undefined values in a load.
    pub(super) fn birth(
        &mut self,
        scene: &mut Scene<'_>,
        lanes: Lanes<'_>,
        bytes: u32,
        bad: u32,
        found: &[Bytes; LANES],
    ) -> u32 {
        let stored = select(bad, |lane| found[lane].written != 0 && found[lane].written == found[lane].undefined);
        let word = |lane: usize| lanes.addresses[lane] / 4;
        let earlier = |lane: usize| match lanes.space {
            Space::Shared => scene.states.shared_stored.get(&word(lane)),
            Space::Local | Space::Frame => scene.states.local_stored.get(&(scene.warp, lane, word(lane))),
            _ => self.origins.stored.get(&word(lane)),
        };
        let earlier = if stored == 0 { None } else { earlier(first(stored)).copied() };
        let birth = Birth::Memory { space: lanes.space, addresses: Box::new(*lanes.addresses), bytes, stored, earlier };
        self.origins.add(Origin { site: scene.site, block: scene.block, warp: scene.warp, birth })
    }

    /// `st`: sets the shadow of memory from the sources; stores of undefined values to global memory are reported.
    #[inline]
    pub fn store_shadows(&mut self, scene: &mut Scene<'_>, registers: &Registers, access: &Access, lanes: Lanes<'_>) {
        let Some(shadow) = registers.shadow.as_deref() else { return };
        let sources = access.registers.iter().flat_map(|slot| rows(shadow, access, *slot)).flatten();
        let bad = sources.fold(0, |bad, row| bad | shadow.undefined(row)) & lanes.mask;
        if bad != 0 {
            return self.store_undefined(scene, registers, access, lanes);
        }
        let bytes = u32::from(access.bytes) * access.registers.len() as u32;
        if matches!(lanes.space, Space::Global | Space::Generic)
            && lanes.spread.stride == Some(i64::from(bytes))
            && let Some(view) = scene.snapshot.find(lanes.spread.low)
            && view.holds(lanes.spread.high, u64::from(bytes))
        {
            if let Some(shadow) = view.shadow.as_deref() {
                cells::define_range(shadow, lanes.spread.low - view.base, u64::from(bytes) * LANES as u64);
            }
            return;
        }
        if lanes.space == Space::Shared
            && lanes.spread.stride == Some(i64::from(bytes))
            && (lanes.spread.low | u64::from(bytes)) & 3 == 0
        {
            let words = (lanes.spread.low / 4) as usize..(lanes.spread.high + u64::from(bytes)).div_ceil(4) as usize;
            if let Some(cells) = scene.states.shared.get_mut(words) {
                cells.fill(cells::DEFINED);
                return;
            }
        }
        if !self.all_defined(scene, lanes, bytes) {
            each(lanes.mask, |lane| self.mark(scene, Place::of(lanes, lane, bytes), 0, NEVER_WRITTEN));
        }
    }

    #[cold]
    #[inline(never)]
    fn store_undefined(&mut self, scene: &mut Scene<'_>, registers: &Registers, access: &Access, lanes: Lanes<'_>) {
        let Some(shadow) = registers.shadow.as_deref() else { return };
        let one = u32::from(access.bytes);
        let bytes = one * access.registers.len() as u32;
        let seen = matches!(lanes.space, Space::Global | Space::Generic);
        let mut reported = false;
        each(lanes.mask, |lane| {
            let (mut undefined, mut origin, mut computed) = (0_u64, NEVER_WRITTEN, false);
            for (index, slot) in access.registers.iter().enumerate() {
                for (half, row) in rows(shadow, access, *slot).into_iter().enumerate() {
                    let Some(row) = row else { continue };
                    let (bits, from) = self.born(scene, shadow, row, lane);
                    let here = bytes_of(bits) & low(one.min(8));
                    if here != 0 {
                        undefined |= here.checked_shl(index as u32 * one + half as u32 * 8).unwrap_or(0);
                        computed |= from & COMPUTED != 0;
                        origin = from;
                    }
                }
            }
            // A collection that grows copies its whole capacity, of which the end may never have been written.
            let kept = || scene.snapshot.at(lanes.addresses[lane]).is_some_and(|view| view.heap);
            let wrong = seen && (computed || undefined == low(bytes) && !kept());
            if wrong && !self.is_internal(scene, origin) {
                if !reported {
                    self.used(scene, lane, Use::Store, origin);
                    reported = true;
                }
                undefined = 0;
            }
            self.mark(scene, Place::of(lanes, lane, bytes), undefined, origin);
        });
    }
}

/// Maximum number of steps from an undefined value back to its origin.
const MOST_STEPS: usize = 8;

impl Uninit {
    /// Whether CUB, Thrust or libcu++ stores an undefined value of its own: a register, or memory of the block, that it
    /// has not written. CUB's last tile computes with the elements that it lacks, and stores a result for the next
    /// tile, of which there is none.
    fn is_internal(&self, scene: &Scene<'_>, origin: u32) -> bool {
        let is_library = |site: Site| stop::Place::of(scene.setting.program, site.function, site.pc).is_of_algorithm();
        if !is_library(scene.site) {
            return false;
        }
        let mut next = origin;
        for _ in 0..MOST_STEPS {
            let Some((origin, lane)) = self.origins.get(next) else { return false };
            match &origin.birth {
                Birth::Memory { stored, earlier: Some(earlier), .. } if stored >> lane & 1 != 0 => next = *earlier,
                Birth::Register => return is_library(origin.site),
                Birth::Memory { space, .. } => return is_of_block(*space) && is_library(origin.site),
                Birth::Discard => return false,
            }
        }
        false
    }
}

fn is_of_block(space: Space) -> bool {
    matches!(space, Space::Shared | Space::Local | Space::Frame)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_bits() {
        assert_eq!(bits_of(0b101), 0xff_00ff);
        assert_eq!(bytes_of(0x0100_0000_0000_0001), 0x81);
        assert_eq!((low(4), low(64)), (15, u64::MAX));
    }
}
