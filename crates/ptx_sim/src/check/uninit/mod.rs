//! Uses of values that nobody has written: in global, shared and local memory, and in registers.
//!
//! As in MemorySanitizer and Valgrind's memcheck, reading such a value is no finding. Its undefined bits are carried
//! along, per bit in registers and per byte in memory, until they decide something: a branch or a guard
//! (`uninit-branch`), an address (`uninit-address`), a barrier or the mask of a `*.sync` instruction (`uninit-sync`),
//! an atomic (`uninit-atomic`), what `vprintf` prints (`uninit-print`), or global memory (`uninit-store`). So padding
//! in a copied struct, the unused part of a vector and a load whose value is then not taken are no findings. A store to
//! global memory counts when the value was computed with, or when no byte of what a thread stores was ever written; a
//! copy that has some defined bytes takes its undefined ones along silently.
//!
//! After a finding the value counts as defined, so that one mistake is told once.
//!
//! What it misses: what asynchronous copies, matrix instructions and textures bring counts as defined; undefined bits
//! that share a byte with defined ones (bit fields) count as undefined in memory, and memory that was allocated while
//! the check was off, or used by a launch without it, counts as written. A copy made of whole undefined chunks (the
//! unused half of an enum, copied eight bytes at a time to global memory) is reported, although the language may allow
//! it. Multiplication, division and floating-point arithmetic make the whole result undefined.
//!
//! Reading order: [`cells`] (memory), [`registers`], [`rule`] (opcodes), [`plan`], `settled`, then `flow` (the
//! instructions), `access` (loads and stores), `atomic`, `report`. Other instructions tell what they write through
//! `hooks`.

mod access;
mod atomic;
mod cells;
mod flow;
mod hooks;
mod matrix;
mod origin;
pub mod plan;
pub mod registers;
mod report;
mod rule;
mod settled;

pub use access::Lanes;
pub use cells::{define_range, undefined_in};
pub use hooks::copy_parameters;
pub use origin::{BlockStates, Origins};

use crate::observe::{BlockShape, Observer};
use crate::registers::Registers;
use plan::{NO_ROW, Plan};
use registers::RegisterShadow;

/// Turns the check on: see [`Observer::INIT`].
#[derive(Debug, Default)]
pub struct Uninit;

impl Observer for Uninit {
    type Block = ();
    const INIT: bool = true;
    fn begin(&mut self, _: &BlockShape) {}
    fn absorb(&mut self, _: Self) {}
}

/// The usual case, in a few masks: the guard and all sources are defined in the lanes that use them, and so are the
/// results from now on. False when the instruction has to be looked at, and nothing was changed.
#[inline(always)]
pub fn passes(plan: &Plan, registers: &mut Registers, pc: u32, active: u32, mask: u32) -> bool {
    let Some(shadow) = registers.shadow.as_deref_mut() else { return true };
    shadow.clean(pc) || passes_now(plan, shadow, pc, active, mask)
}

#[inline(never)]
fn passes_now(plan: &Plan, shadow: &mut RegisterShadow, pc: u32, active: u32, mask: u32) -> bool {
    let Some(step) = plan.step(pc) else { return true };
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
        shadow.set_clean(pc);
    }
    true
}
