//! What instructions with handlers of their own call, so that the check knows what they read and write. All of it costs
//! nothing when the check is off ([`Observer::INIT`]).

use super::access::Lanes;
use super::cells::{self, Lane};
use super::origin::COMPUTED;
use super::registers::NEVER_WRITTEN;
use super::report::Use;
use crate::isa::File;
use crate::machine::address;
use crate::machine::block::Block;
use crate::machine::faults::At;
use crate::machine::grid::Worker;
use crate::machine::lanes::{Spread, each};
use crate::machine::warp::Warp;
use crate::observe::Observer;
use crate::program::{FrameCopy, Param, Space};
use crate::registers::{LANES, NO_SLOT, Registers};

impl<O: Observer> Worker<'_, O> {
    /// The lanes of `mask` write registers with defined values, whatever they read.
    pub fn defines(&self, registers: &mut Registers, written: &[(File, u32)], mask: u32) {
        if let (true, Some(shadow)) = (O::INIT, registers.shadow.as_deref_mut()) {
            for (file, slot) in written.iter().filter(|(_, slot)| *slot != NO_SLOT) {
                shadow.define(shadow.row(*file, *slot), mask);
            }
        }
    }

    /// The lanes of `mask` compute registers from registers: an undefined bit in any source of any of these lanes makes
    /// all destinations of all of them undefined. For instructions that a warp carries out together (`mma`); call it
    /// before the destinations are written.
    #[expect(clippy::too_many_arguments, reason = "the parts of one instruction")]
    pub fn computes_together(
        &mut self,
        block: &Block<O::Block>,
        warp: &Warp,
        registers: &mut Registers,
        read: &[(File, u32)],
        written: &[(File, u32)],
        mask: u32,
        at: At,
    ) {
        if !O::INIT {
            return;
        }
        let Some(mut shadow) = registers.shadow.take() else { return };
        let rows: Vec<u32> =
            read.iter().filter(|(_, slot)| *slot != NO_SLOT).map(|(file, slot)| shadow.row(*file, *slot)).collect();
        let mut origin = None;
        for row in rows {
            let bad = shadow.undefined(row) & mask;
            if bad != 0 && origin.is_none() {
                origin = Some(self.born(block, warp, &shadow, row, bad.trailing_zeros() as usize, at).1 | COMPUTED);
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

    /// A register decides what is accessed or who is waited for: a finding where it is undefined.
    pub fn needs_defined(
        &mut self,
        block: &Block<O::Block>,
        warp: &Warp,
        registers: &mut Registers,
        (file, slot): (File, u32),
        mask: u32,
        at: At,
    ) {
        if !O::INIT {
            return;
        }
        if let Some(mut shadow) = registers.shadow.take() {
            let row = shadow.row(file, slot);
            self.decide(block, warp, &mut shadow, row, mask, Use::Address, at);
            registers.shadow = Some(shadow);
        }
    }

    /// One lane writes defined bytes to memory, at an address in `space`.
    pub fn writes_memory(
        &mut self,
        block: &mut Block<O::Block>,
        warp: &mut Warp,
        space: Space,
        lane: usize,
        address: u64,
        bytes: u64,
    ) {
        if !O::INIT {
            return;
        }
        let mut done = 0;
        while done < bytes {
            let step = (bytes - done).min(64);
            self.mark(block, warp, space, lane, address.wrapping_add(done), step as u32, 0, NEVER_WRITTEN);
            done += step;
        }
    }

    /// One lane shows bytes at a generic address to the outside (`vprintf`): a finding where nobody has written them.
    pub fn shows(&mut self, block: &Block<O::Block>, warp: &Warp, lane: usize, (address, bytes): (u64, u64), at: At) {
        if !O::INIT {
            return;
        }
        let (space, start) = address::split(address);
        for done in (0..bytes).step_by(64) {
            let (offset, step) = (start.wrapping_add(done), (bytes - done).min(64) as u32);
            let found = self.bytes_at(block, warp, space, lane, offset, step);
            if found.undefined != 0 {
                let (addresses, mask) = ([offset; LANES], 1 << lane);
                let lanes = Lanes { space, addresses: &addresses, mask, spread: Spread::of(&addresses, mask) };
                let origin = self.birth(block, warp, lanes, step, mask, &[found; LANES], at) | lane as u32;
                return self.used(block, warp.index, lane, Use::Print, origin, at);
            }
        }
    }

    /// Bytes of the stack that a frame or `alloca` takes for the lanes of `mask`: nothing of them is written.
    pub fn fresh_stack(&self, warp: &mut Warp, from: u64, to: u64, mask: u32) {
        if !O::INIT {
            return;
        }
        let words = (from / 4) as usize..to.div_ceil(4) as usize;
        if warp.states.len() < words.end {
            warp.states.resize(words.end, [0; LANES]);
        }
        if let Some(rows) = warp.states.get_mut(words) {
            let state = if self.context.config.checks.uninit { 0 } else { cells::DEFINED };
            rows.iter_mut().for_each(|row| each(mask, |lane| row[lane] = state));
        }
    }
}

/// What is known of parameters and return values goes with them.
pub fn copy_parameters(
    states: &mut [[u8; LANES]],
    copies: &[FrameCopy],
    params: &[Param],
    mask: u32,
    place: impl Fn(u64, u64) -> (u64, u64),
) {
    for copy in copies {
        let Some(param) = params.get(copy.index as usize) else { continue };
        let (from, to) = place(copy.caller, param.offset);
        let size = copy.size.min(param.size);
        each(mask, |lane| {
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
