//! Undefined values: the state that the machine keeps in addition to registers and memory, and the trait of the checker
//! that computes it.

use super::{Blamed, Findings, Setting, Site};
use crate::lanes::Spread;
use crate::memory::{Snapshot, cells};
use crate::program::{Access, Atomic, Collective, FrameCopy, Inst, Matrix, Param, Space};
use crate::registers::{Args, LANES, Pure, Registers};
use crate::stop::Diagnostic;
use std::collections::BTreeMap;

/// Initialisation state of a block's memory.
#[derive(Debug, Default)]
pub struct BlockStates {
    /// A cell for each word of shared memory; empty when the check is off.
    pub shared: Vec<u8>,
    /// Origins of undefined values in shared memory, by word.
    pub shared_stored: BTreeMap<u64, u32>,
    /// Origins of undefined values in local memory, by warp, lane and word.
    pub local_stored: BTreeMap<(u32, usize, u64), u32>,
}

impl BlockStates {
    /// Creates the state of a new block: unwritten if `tracked`, otherwise defined.
    pub fn fresh(shared_bytes: u64, tracked: bool) -> Self {
        let state = if tracked { 0 } else { cells::DEFINED };
        Self { shared: vec![state; shared_bytes.div_ceil(4) as usize], ..Self::default() }
    }

    /// Marks the first bytes of shared memory, whole words, as written.
    pub fn defines_start(&mut self, bytes: u64) {
        let words = self.shared.len().min((bytes / 4) as usize);
        self.shared[..words].fill(cells::DEFINED);
    }

    /// Marks bytes of shared memory as written by an asynchronous copy or an mbarrier operation.
    pub fn writes_shared(&mut self, offset: u64, bytes: u32) {
        cells::write(&mut self.shared, offset, bytes, 0);
    }
}

/// The lanes of one access in one state space.
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
    /// Index of the warp in the block.
    pub warp: u32,
    pub site: Site,
    /// Shadow of the memory of the block.
    pub states: &'a mut BlockStates,
    /// Shadow of the warp's local memory: a cell per word and lane.
    pub local: &'a mut Vec<[u8; LANES]>,
}

impl Scene<'_> {
    /// Adds a finding for a lane at this instruction.
    #[cold]
    pub fn finding(&mut self, lane: usize, code: &'static str, describe: impl FnOnce() -> Diagnostic) {
        let Self { block, warp, site, .. } = *self;
        self.findings.add(self.setting, Blamed { block, warp, lane, site }, code, describe);
    }
}

/// Tracker of undefined values. The machine calls it before an instruction is executed. With `()`, nothing is tracked
/// and none of the calls is compiled.
///
/// Each instruction with effects beyond `Op::Pure` has to report its reads and writes, by one of these methods or by an
/// arm in `check/uninit/plan.rs`, which lists the registers that an instruction reads and writes.
pub trait Shadow: Send {
    /// Whether undefined values are tracked; the methods are called only in this case.
    const ON: bool;

    /// Returns the initialisation state of a block that starts.
    fn fresh(&self, shared_bytes: u64) -> BlockStates;

    /// Initialises the shadow of a frame's registers on entry to a function.
    fn enter(&self, registers: &mut Registers, function: u32);

    /// Fast path with a few masks: the guard and all sources are defined in the lanes that use them, and the results
    /// become defined. Returns false, without any effect, if the instruction has to be inspected.
    fn passes(&self, site: Site, registers: &mut Registers, active: u32, mask: u32) -> bool;

    /// Inspects an instruction that did not pass, given the active lanes and those whose guard holds.
    fn inspect(&mut self, scene: &mut Scene<'_>, registers: &mut Registers, inst: &Inst, active: u32, mask: u32);

    /// `ld`: sets the shadows of the destinations from the memory.
    fn load(&mut self, scene: &mut Scene<'_>, registers: &mut Registers, access: &Access, lanes: Lanes<'_>);

    /// `st`: sets the shadow of memory from the sources.
    fn store(&mut self, scene: &mut Scene<'_>, registers: &Registers, access: &Access, lanes: Lanes<'_>);

    /// `discard`: marks the bytes of every lane as undefined.
    fn discard(&mut self, scene: &mut Scene<'_>, lanes: Lanes<'_>, bytes: u32);

    /// `atom` and `red`: checks the operands and the old value, and sets the shadows of the results.
    fn atomic(&mut self, scene: &mut Scene<'_>, registers: &mut Registers, atomic: &Atomic, lanes: Lanes<'_>);

    /// Checks a matrix instruction, which the whole warp executes.
    fn matrix(&mut self, scene: &mut Scene<'_>, registers: &mut Registers, matrix: &Matrix);

    /// Propagates through a `*.sync` instruction of the lanes in `mask`.
    fn meet(&mut self, scene: &mut Scene<'_>, registers: &mut Registers, meeting: Meeting<'_>, mask: u32);

    /// Marks bytes as written with defined values by one lane, at an address in `space`.
    fn writes(&mut self, scene: &mut Scene<'_>, space: Space, lane: usize, address: u64, bytes: u64);

    /// Checks bytes at a generic address that one lane prints.
    fn shows(&mut self, scene: &mut Scene<'_>, lane: usize, address: u64, bytes: u64);

    /// Marks the bytes of a new frame or an `alloca` as unwritten, for the lanes of `mask`.
    fn fresh_stack(&self, local: &mut Vec<[u8; LANES]>, from: u64, to: u64, mask: u32);

    /// Copies the state of parameters or results. `place(offset in the caller, offset in the callee)` returns source
    /// and destination.
    fn copies(&self, local: &mut [[u8; LANES]], copies: Copies<'_>, place: impl Fn(u64, u64) -> (u64, u64));
}

/// A tracker that tracks nothing.
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
    fn discard(&mut self, _: &mut Scene<'_>, _: Lanes<'_>, _: u32) {}
    fn atomic(&mut self, _: &mut Scene<'_>, _: &mut Registers, _: &Atomic, _: Lanes<'_>) {}
    fn matrix(&mut self, _: &mut Scene<'_>, _: &mut Registers, _: &Matrix) {}
    fn meet(&mut self, _: &mut Scene<'_>, _: &mut Registers, _: Meeting<'_>, _: u32) {}
    fn writes(&mut self, _: &mut Scene<'_>, _: Space, _: usize, _: u64, _: u64) {}
    fn shows(&mut self, _: &mut Scene<'_>, _: usize, _: u64, _: u64) {}
    fn fresh_stack(&self, _: &mut Vec<[u8; LANES]>, _: u64, _: u64, _: u32) {}
    fn copies(&self, _: &mut [[u8; LANES]], _: Copies<'_>, _: impl Fn(u64, u64) -> (u64, u64)) {}
}
