//! Detection of uses of uninitialised values in global, shared and local memory, and in registers.
//!
//! As in MemorySanitizer and Valgrind's memcheck, reading such a value is not a finding. Its undefined bits are
//! propagated, per bit in registers and per byte in memory, until they affect the execution: a branch or a guard
//! (`uninit-branch`), an address (`uninit-address`), a barrier or the mask of a `*.sync` instruction (`uninit-sync`),
//! an atomic (`uninit-atomic`), the output of `vprintf` (`uninit-print`), or global memory (`uninit-store`). Padding in
//! a copied struct, the unused part of a vector, and a load whose value is then not selected are therefore not
//! reported. A store to global memory is reported if the value was computed, or if none of the thread's stored bytes
//! was ever written; a copy with some defined bytes propagates its undefined ones without a finding, and so does a copy
//! to memory of the device's `malloc`, because a collection that grows there copies its unused capacity, too. Library
//! code that stores an unwritten register or an unwritten value of the block propagates it as well: CUB's last tile
//! stores a result for a next one, of which there is none.
//!
//! `discard` makes bytes of global memory undefined again.
//!
//! After a finding the value counts as defined, so that each defect is reported once.
//!
//! Limits: the results of asynchronous copies, matrix instructions and textures count as defined. Undefined bits that
//! share a byte with defined ones (bit fields) count as undefined in memory. Memory that was allocated while the check
//! was off, or used by a launch without it, counts as written. A copy of whole undefined chunks (the unused half of an
//! enum, copied eight bytes at a time to global memory) is reported, although the language may allow it.
//! Multiplication, division and floating-point arithmetic make the whole result undefined.
//!
//! Reading order: `memory::cells` and `registers::shadow` (the state), [`rule`] (opcodes), [`plan`], `settled`,
//! `state`, then `flow` (the instructions), `access` (loads and stores), `atomic`, `report`. Other instructions report
//! what they write through `hooks`.

mod access;
mod atomic;
mod flow;
mod hooks;
mod matrix;
mod origin;
pub mod plan;
mod report;
mod rule;
mod settled;
mod state;

pub use state::Uninit;

use crate::memory::cells::DEFINED;
use crate::observe::{
    BlockShape, BlockStates, Boxed, Bypass, Copies, Factor, Lanes, Meeting, Observer, Peek, Range, Scene, Shadow, Site,
    Touch, Variable,
};
use crate::program::{Access, Atomic, Function, Inst, Matrix, Order, Program, Scope, Space};
use crate::registers::shadow::RegisterShadow;
use crate::registers::{LANES, Registers};
use plan::{NO_ROW, Plan};

/// Computes the register plans of all functions; with `overflow`, integer arithmetic is always inspected.
pub fn plans(program: &Program, overflow: bool) -> Vec<Plan> {
    let one = |function: &Function| {
        let mut plan = Plan::of(function, overflow);
        plan.entry = settled::entry(function, &plan);
        plan
    };
    program.functions.iter().map(one).collect()
}

impl Uninit {
    #[inline(never)]
    fn passes_now(&self, site: Site, shadow: &mut RegisterShadow, active: u32, mask: u32) -> bool {
        let Some(plan) = self.plans.get(site.function as usize) else { return true };
        let Some(step) = plan.step(site.pc) else { return true };
        let (reads, writes) = plan.rows(step);
        let guard = if step.guard == NO_ROW { 0 } else { shadow.undefined(step.guard) };
        let bad = reads.iter().fold(0, |bad, &row| bad | shadow.undefined(row));
        if guard & active | bad & mask != 0 || step.always {
            return false;
        }
        let mut later = guard | bad;
        for &row in writes {
            shadow.define(row, mask);
            later |= shadow.undefined(row);
        }
        if later == 0 {
            shadow.set_clean(site.pc);
        }
        true
    }
}

impl Shadow for Uninit {
    const ON: bool = true;

    fn fresh(&self, shared_bytes: u64) -> BlockStates {
        BlockStates::fresh(shared_bytes, self.tracked)
    }

    fn enter(&self, registers: &mut Registers, function: u32) {
        if let (Some(shadow), Some(plan)) = (&mut registers.shadow, self.plans.get(function as usize)) {
            shadow.enter(&plan.entry, self.tracked);
        }
    }

    #[inline(always)]
    fn passes(&self, site: Site, registers: &mut Registers, active: u32, mask: u32) -> bool {
        let Some(shadow) = registers.shadow.as_deref_mut() else { return true };
        shadow.clean(site.pc) || self.passes_now(site, shadow, active, mask)
    }

    fn inspect(&mut self, scene: &mut Scene<'_>, registers: &mut Registers, inst: &Inst, active: u32, mask: u32) {
        self.inspect_undefined(scene, registers, inst, active, mask);
    }

    #[inline(always)]
    fn load(&mut self, scene: &mut Scene<'_>, registers: &mut Registers, access: &Access, lanes: Lanes<'_>) {
        self.load_shadows(scene, registers, access, lanes);
    }

    #[inline]
    fn store(&mut self, scene: &mut Scene<'_>, registers: &Registers, access: &Access, lanes: Lanes<'_>) {
        self.store_shadows(scene, registers, access, lanes);
    }

    fn discard(&mut self, scene: &mut Scene<'_>, lanes: Lanes<'_>, bytes: u32) {
        self.discards_memory(scene, lanes, bytes);
    }

    fn atomic(&mut self, scene: &mut Scene<'_>, registers: &mut Registers, atomic: &Atomic, lanes: Lanes<'_>) {
        self.atomic_shadows(scene, registers, atomic, lanes);
    }

    fn matrix(&mut self, scene: &mut Scene<'_>, registers: &mut Registers, matrix: &Matrix) {
        self.matrix_shadows(scene, registers, matrix);
    }

    fn meet(&mut self, scene: &mut Scene<'_>, registers: &mut Registers, meeting: Meeting<'_>, mask: u32) {
        self.meet_shadows(scene, registers, meeting, mask);
    }

    fn writes(&mut self, scene: &mut Scene<'_>, space: Space, lane: usize, address: u64, bytes: u64) {
        self.writes_memory(scene, space, lane, address, bytes);
    }

    fn shows(&mut self, scene: &mut Scene<'_>, lane: usize, address: u64, bytes: u64) {
        self.shows_memory(scene, lane, (address, bytes));
    }

    fn fresh_stack(&self, local: &mut Vec<[u8; LANES]>, from: u64, to: u64, mask: u32) {
        let state = if self.tracked { 0 } else { DEFINED };
        hooks::fresh_stack(local, from, to, mask, state);
    }

    fn copies(&self, local: &mut [[u8; LANES]], copies: Copies<'_>, place: impl Fn(u64, u64) -> (u64, u64)) {
        hooks::copy_parameters(local, copies, place);
    }
}

/// Handles instructions through [`Shadow`] only and ignores all events.
impl Observer for Uninit {
    type Block = ();
    type Shadow = Self;

    #[inline(always)]
    fn shadow(&mut self) -> &mut Self {
        self
    }
    fn begin(&mut self, _: &BlockShape) {}
    fn end(&mut self, (): ()) {}
    fn ran(&mut self, _: &mut Self::Block, _: u32, _: Site, _: u32, _: u32) {}
    fn guarded(&mut self, _: Site, _: u32) {}
    fn branch(&mut self, _: Site, _: bool) {}
    fn touch(&mut self, _: &mut Self::Block, _: &Touch<'_>) {}
    fn bypass(&mut self, _: &mut Self::Block, _: &Bypass<'_>) {}
    fn fence(&mut self, _: &mut Self::Block, _: u32, _: u32, _: Order, _: Scope) {}
    fn meet(&mut self, _: &mut Self::Block, _: u32, _: u32, _: u32) {}
    fn arrive(&mut self, _: &mut Self::Block, _: u32, _: u32) {}
    fn barrier(&mut self, _: &mut Self::Block, _: u32, _: u32, _: u32) {}
    fn left_out(&mut self, _: &mut Self::Block, _: u32, _: Site, _: u32) {}
    fn proxy_fence(&mut self, _: &mut Self::Block, _: u32, _: u32) {}
    fn announce(&mut self, _: &mut Self::Block, _: &Touch<'_>) {}
    fn issue(&mut self, _: &mut Self::Block, _: &Range, _: Peek<'_>) {}
    fn range(&mut self, _: &mut Self::Block, _: &Range, _: Peek<'_>) {}
    fn boxed(&mut self, _: &mut Self::Block, _: &Boxed<'_>) {}
    fn factor(&mut self, _: &mut Self::Block, _: &Factor) {}
    fn release(&mut self, _: &mut Self::Block, _: u32, _: u32, _: Variable, _: Scope) {}
    fn acquire(&mut self, _: &mut Self::Block, _: u32, _: u32, _: Variable, _: Scope) {}
    fn absorb(&mut self, _: Self) {}
}
