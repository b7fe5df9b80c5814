//! Undefined values: the state that the machine keeps beside registers and memory, and the trait of the checker that
//! computes it.

use super::{Blamed, Findings, Setting, Site};
use crate::lanes::Spread;
use crate::memory::{Snapshot, cells};
use crate::program::{Access, Atomic, Collective, FrameCopy, Inst, Matrix, Param, Space};
use crate::registers::{Args, LANES, Pure, Registers};
use crate::stop::Diagnostic;
use std::collections::BTreeMap;

/// Which bytes of a block's memory hold undefined values.
#[derive(Debug, Default)]
pub struct BlockStates {
    /// A cell for each word of shared memory; empty when the check is off.
    pub shared: Vec<u8>,
    /// Undefined values in shared memory, by word.
    pub shared_stored: BTreeMap<u64, u32>,
    /// Undefined values in local memory, by warp, lane and word.
    pub local_stored: BTreeMap<(u32, usize, u64), u32>,
}

impl BlockStates {
    /// Of a block that starts: nothing is written, when that is `tracked`.
    pub fn fresh(shared_bytes: u64, tracked: bool) -> Self {
        let state = if tracked { 0 } else { cells::DEFINED };
        Self { shared: vec![state; shared_bytes.div_ceil(4) as usize], ..Self::default() }
    }

    /// Bytes of shared memory are written, by something that is not a store: an asynchronous copy, an mbarrier.
    pub fn writes_shared(&mut self, offset: u64, bytes: u32) {
        cells::write(&mut self.shared, offset, bytes, 0);
    }
}

/// The lanes of one access in one space.
#[derive(Clone, Copy)]
pub struct Lanes<'a> {
    pub space: Space,
    pub addresses: &'a [u64; LANES],
    pub mask: u32,
    pub spread: Spread,
}

/// A `*.sync` instruction that moves values between lanes.
#[derive(Clone, Copy)]
pub struct Meeting<'a> {
    pub kind: Collective,
    pub run: &'a Pure,
    pub args: &'a Args,
}

/// The parameters or results that a call copies between two frames of the lanes of `mask`.
#[derive(Clone, Copy)]
pub struct Copies<'a> {
    pub copies: &'a [FrameCopy],
    pub params: &'a [Param],
    pub mask: u32,
}

/// The instruction that a warp is about to execute, and the shadow of the memory that it may access.
pub struct Scene<'a> {
    pub setting: &'a Setting<'a>,
    pub snapshot: &'a mut Snapshot,
    pub findings: &'a mut Findings,
    /// `%ctaid`.
    pub block: [u32; 3],
    /// Warp of the block.
    pub warp: u32,
    pub site: Site,
    /// Shadow of the memory of the block.
    pub states: &'a mut BlockStates,
    /// Shadow of the warp's local memory: a cell per word and lane.
    pub local: &'a mut Vec<[u8; LANES]>,
}

impl Scene<'_> {
    /// Adds a finding about a lane at the instruction.
    #[cold]
    pub fn finding(&mut self, lane: usize, code: &'static str, describe: impl FnOnce() -> Diagnostic) {
        let Self { block, warp, site, .. } = *self;
        self.findings.add(self.setting, Blamed { block, warp, lane, site }, code, describe);
    }
}

/// Follows undefined values. The machine calls it before an instruction is carried out; `()` follows nothing, and then
/// none of it is compiled.
///
/// An instruction that does more than compute on registers through `Op::Pure` reports what it reads and writes by one
/// of these methods, or by its arm in `check/uninit/plan.rs`, which lists the registers that an instruction reads and
/// writes.
pub trait Shadow: Send {
    /// Undefined values are followed: all that follows is called.
    const ON: bool;

    /// The shadow of a block's shared memory when the block starts.
    fn fresh(&self, shared_bytes: u64) -> BlockStates;

    /// The registers are those of a frame that enters a function.
    fn enter(&self, registers: &mut Registers, function: u32);

    /// The usual case in a few masks: the guard and all sources are defined in the lanes that use them, and so are the
    /// results from now on. False when the instruction has to be inspected, and nothing was changed.
    fn passes(&self, site: Site, registers: &mut Registers, active: u32, mask: u32) -> bool;

    /// An instruction that does not pass, with the lanes that are there and those whose guard holds.
    fn inspect(&mut self, scene: &mut Scene<'_>, registers: &mut Registers, inst: &Inst, active: u32, mask: u32);

    /// `ld`: the destinations get what memory holds.
    fn load(&mut self, scene: &mut Scene<'_>, registers: &mut Registers, access: &Access, lanes: Lanes<'_>);

    /// `st`: memory gets what the sources hold.
    fn store(&mut self, scene: &mut Scene<'_>, registers: &Registers, access: &Access, lanes: Lanes<'_>);

    /// `atom`, `red`.
    fn atomic(&mut self, scene: &mut Scene<'_>, registers: &mut Registers, atomic: &Atomic, lanes: Lanes<'_>);

    /// A matrix instruction, by the whole warp.
    fn matrix(&mut self, scene: &mut Scene<'_>, registers: &mut Registers, matrix: &Matrix);

    /// The lanes of `mask` carry out a `*.sync` instruction.
    fn meet(&mut self, scene: &mut Scene<'_>, registers: &mut Registers, meeting: Meeting<'_>, mask: u32);

    /// A lane writes defined bytes at an address in `space`.
    fn writes(&mut self, scene: &mut Scene<'_>, space: Space, lane: usize, address: u64, bytes: u64);

    /// A lane prints bytes at a generic address.
    fn shows(&mut self, scene: &mut Scene<'_>, lane: usize, address: u64, bytes: u64);

    /// A frame or `alloca` takes stack for the lanes of `mask`: none of its bytes is written.
    fn fresh_stack(&self, local: &mut Vec<[u8; LANES]>, from: u64, to: u64, mask: u32);

    /// Parameters or results are copied. `place(offset in the caller, offset in the callee)` gives source and
    /// destination.
    fn copies(&self, local: &mut [[u8; LANES]], copies: Copies<'_>, place: impl Fn(u64, u64) -> (u64, u64));
}

/// Follows nothing.
impl Shadow for () {
    const ON: bool = false;
    fn fresh(&self, _: u64) -> BlockStates {
        BlockStates::default()
    }
    fn enter(&self, _: &mut Registers, _: u32) {}
    fn passes(&self, _: Site, _: &mut Registers, _: u32, _: u32) -> bool {
        true
    }
    fn inspect(&mut self, _: &mut Scene<'_>, _: &mut Registers, _: &Inst, _: u32, _: u32) {}
    fn load(&mut self, _: &mut Scene<'_>, _: &mut Registers, _: &Access, _: Lanes<'_>) {}
    fn store(&mut self, _: &mut Scene<'_>, _: &Registers, _: &Access, _: Lanes<'_>) {}
    fn atomic(&mut self, _: &mut Scene<'_>, _: &mut Registers, _: &Atomic, _: Lanes<'_>) {}
    fn matrix(&mut self, _: &mut Scene<'_>, _: &mut Registers, _: &Matrix) {}
    fn meet(&mut self, _: &mut Scene<'_>, _: &mut Registers, _: Meeting<'_>, _: u32) {}
    fn writes(&mut self, _: &mut Scene<'_>, _: Space, _: usize, _: u64, _: u64) {}
    fn shows(&mut self, _: &mut Scene<'_>, _: usize, _: u64, _: u64) {}
    fn fresh_stack(&self, _: &mut Vec<[u8; LANES]>, _: u64, _: u64, _: u32) {}
    fn copies(&self, _: &mut [[u8; LANES]], _: Copies<'_>, _: impl Fn(u64, u64) -> (u64, u64)) {}
}
