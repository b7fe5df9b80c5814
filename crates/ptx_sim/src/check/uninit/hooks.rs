//! Functions for instructions with their own handlers, which report the registers and memory that they read and
//! write. They have no cost when the check is off (the observer has no shadow state then).

use super::access::{Place, low};
use super::origin::{Birth, COMPUTED, Origin};
use super::report::Use;
use super::state::Uninit;
use crate::isa::File;
use crate::lanes::{Spread, each};
use crate::memory::address;
use crate::memory::cells::{self, Lane};
use crate::observe::{Copies, Lanes, Scene};
use crate::program::Space;
use crate::registers::shadow::NEVER_WRITTEN;
use crate::registers::{LANES, NO_SLOT, Registers};

impl Uninit {
    /// Marks registers as written with defined values by the lanes of `mask`, independent of any source.
    pub fn defines(&self, registers: &mut Registers, written: &[(File, u32)], mask: u32) {
        if let Some(shadow) = registers.shadow.as_deref_mut() {
            for (file, slot) in written.iter().filter(|(_, slot)| *slot != NO_SLOT) {
                shadow.define(shadow.row(*file, *slot), mask);
            }
        }
    }

    /// Propagates through a computation of several lanes together (`mma`): an undefined bit in any source of any lane
    /// in `mask` makes all destinations of all of these lanes undefined. Must be called before the destinations are
    /// written.
    pub fn computes_together(
        &mut self,
        scene: &mut Scene<'_>,
        registers: &mut Registers,
        read: &[(File, u32)],
        written: &[(File, u32)],
        mask: u32,
    ) {
        let Some(mut shadow) = registers.shadow.take() else { return };
        let rows: Vec<u32> =
            read.iter().filter(|(_, slot)| *slot != NO_SLOT).map(|(file, slot)| shadow.row(*file, *slot)).collect();
        let mut origin = None;
        for row in rows {
            let bad = shadow.undefined(row) & mask;
            if bad != 0 && origin.is_none() {
                origin = Some(self.born(scene, &shadow, row, bad.trailing_zeros() as usize).1 | COMPUTED);
            }
        }
        for (file, slot) in written.iter().filter(|(_, slot)| *slot != NO_SLOT) {
            let row = shadow.row(*file, *slot);
            match origin {
                None => shadow.define(row, mask),
                Some(origin) => each(mask, |lane| shadow.set(row, lane, super::rule::ones(*file), origin)),
            }
        }
        registers.shadow = Some(shadow);
    }

    /// Checks a register that selects memory or threads, and reports it where it is undefined.
    pub fn needs_defined(
        &mut self,
        scene: &mut Scene<'_>,
        registers: &mut Registers,
        (file, slot): (File, u32),
        mask: u32,
    ) {
        if let Some(mut shadow) = registers.shadow.take() {
            let row = shadow.row(file, slot);
            self.decide(scene, &mut shadow, row, mask, Use::Address);
            registers.shadow = Some(shadow);
        }
    }

    /// Marks bytes as written with defined values by one lane, at an address in `space`.
    pub fn writes_memory(&mut self, scene: &mut Scene<'_>, space: Space, lane: usize, address: u64, bytes: u64) {
        let mut done = 0;
        while done < bytes {
            let step = (bytes - done).min(64);
            let place = Place { space, lane, address: address.wrapping_add(done), bytes: step as u32 };
            self.mark(scene, place, 0, NEVER_WRITTEN);
            done += step;
        }
    }

    /// Marks the bytes of every lane as written with an undefined value, whose origin is the `discard` of this scene.
    pub fn discards_memory(&mut self, scene: &mut Scene<'_>, lanes: Lanes<'_>, bytes: u32) {
        if !self.tracked {
            return;
        }
        let origin = Origin { site: scene.site, block: scene.block, warp: scene.warp, birth: Birth::Discard };
        let origin = self.origins.add(origin);
        each(lanes.mask, |lane| {
            // Origins are kept by word.
            for offset in (0..u64::from(bytes)).step_by(4) {
                let place = Place { space: lanes.space, lane, address: lanes.addresses[lane] + offset, bytes: 4 };
                self.mark(scene, place, low(4), origin | lane as u32);
            }
        });
    }

    /// Checks bytes at a generic address that one lane outputs (`vprintf`), and reports uninitialised ones.
    pub fn shows_memory(&mut self, scene: &mut Scene<'_>, lane: usize, (address, bytes): (u64, u64)) {
        let (space, start) = address::split(address);
        for done in (0..bytes).step_by(64) {
            let (offset, step) = (start.wrapping_add(done), (bytes - done).min(64) as u32);
            let found = self.bytes_at(scene, Place { space, lane, address: offset, bytes: step });
            if found.undefined != 0 {
                let (addresses, mask) = ([offset; LANES], 1 << lane);
                let lanes = Lanes { space, addresses: &addresses, mask, spread: Spread::of(&addresses, mask) };
                let origin = self.birth(scene, lanes, step, mask, &[found; LANES]) | lane as u32;
                return self.used(scene, lane, Use::Print, origin);
            }
        }
    }
}

/// Sets the state of bytes of the stack that a frame or `alloca` takes for the lanes of `mask`.
pub fn fresh_stack(local: &mut Vec<[u8; LANES]>, from: u64, to: u64, mask: u32, state: u8) {
    let words = (from / 4) as usize..to.div_ceil(4) as usize;
    if local.len() < words.end {
        local.resize(words.end, [0; LANES]);
    }
    if let Some(rows) = local.get_mut(words) {
        rows.iter_mut().for_each(|row| each(mask, |lane| row[lane] = state));
    }
}

/// Copies the state of parameters and return values when their values are copied.
pub fn copy_parameters(states: &mut [[u8; LANES]], copies: Copies<'_>, place: impl Fn(u64, u64) -> (u64, u64)) {
    for copy in copies.copies {
        let Some(param) = copies.params.get(copy.index as usize) else { continue };
        let (from, to) = place(copy.caller, param.offset);
        let size = copy.size.min(param.size);
        each(copies.mask, |lane| {
            let mut done = 0;
            while done < size {
                let step = (size - done).min(64) as u32;
                let undefined = cells::read_lane(states, lane, from + done, step).undefined;
                cells::write(&mut Lane(states, lane), to + done, step, undefined);
                done += u64::from(step);
            }
        });
    }
}
