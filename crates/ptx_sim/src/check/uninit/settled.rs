//! Analysis of registers that need no tracking: on every path they are written before they are read, and only with
//! defined values. Examples are thread indices, addresses and loop counters. They count as defined from a function's
//! entry on, and instructions that use no others are never inspected.
//!
//! The analysis is conservative: a function with instructions that access registers in unknown ways has no such
//! registers.

use super::plan::{NO_ROW, Plan, Step};
use crate::isa::File;
use crate::program::flow::{Block, blocks_of};
use crate::program::{Access, BarrierKind, Function, Op, Preset, Rows, Space};
use crate::registers::NO_SLOT;
use crate::registers::shadow::{Entry, row};

/// Limit on the bits of state per function; larger functions are not analysed.
const MOST: usize = 1 << 26;

/// The state of the registers when a function is entered whose instructions `plan` lists.
pub fn entry(function: &Function, plan: &Plan) -> Entry {
    let rows = function.rows;
    let count = (rows.w32 as usize) + (rows.w64 as usize) + (rows.pred as usize);
    let mut undefined = vec![u32::MAX; count];
    for row in function.preset.iter().map(|preset| preset_row(rows, preset)) {
        undefined[row as usize] = 0;
    }
    for (row, _) in settled(function, plan, &undefined).iter().enumerate().filter(|(_, settled)| **settled) {
        undefined[row] = 0;
    }
    let mut clean = vec![0; function.code.len().div_ceil(64)];
    for pc in 0..function.code.len() {
        let Some(step) = plan.step(pc as u32) else { continue };
        let (reads, writes) = plan.rows(step);
        let guard = (step.guard != NO_ROW).then_some(step.guard);
        let mut all = reads.iter().chain(writes).copied().chain(guard);
        if !step.always && all.all(|row| undefined.get(row as usize) == Some(&0)) {
            clean[pc / 64] |= 1 << (pc % 64);
        }
    }
    Entry { rows, undefined, clean }
}

fn preset_row(rows: Rows, preset: &Preset) -> u32 {
    let (file, slot) = preset.row();
    row(rows, file, slot)
}

/// Register accesses of an instruction.
struct Use {
    reads: Vec<u32>,
    writes: Vec<u32>,
    /// Whether its results are defined if its sources are.
    passes: bool,
}

/// Returns the settled rows. `undefined` are the rows without a value at the entry.
fn settled(function: &Function, plan: &Plan, undefined: &[u32]) -> Vec<bool> {
    let none = || vec![false; undefined.len()];
    let uses: Option<Vec<Use>> = (0..function.code.len()).map(|pc| used(function, plan, pc)).collect();
    let Some(uses) = uses else { return none() };
    let blocks = blocks_of(function, &[]);
    if blocks.len().saturating_mul(undefined.len()) > MOST {
        return none();
    }
    let mut settled = vec![true; undefined.len()];
    unassigned(function, &blocks, &uses, undefined, |row| settled[row as usize] = false);
    // A row computed from a row that is not settled is not settled either.
    let mut changed = true;
    while changed {
        changed = false;
        for one in &uses {
            if !one.passes || one.reads.iter().any(|row| !settled[*row as usize]) {
                for row in &one.writes {
                    changed |= std::mem::replace(&mut settled[*row as usize], false);
                }
            }
        }
    }
    settled
}

/// Calls `found` with rows that some path reads before writing them.
#[expect(clippy::needless_range_loop, reason = "the index is that of the code too")]
fn unassigned(function: &Function, blocks: &[Block], uses: &[Use], undefined: &[u32], mut found: impl FnMut(u32)) {
    let words = undefined.len().div_ceil(64);
    let assign = |set: &mut [u64], pc: usize| {
        // Lanes whose guard is false do not write.
        if function.code[pc].guard.is_none() {
            uses[pc].writes.iter().for_each(|row| set[*row as usize / 64] |= 1 << (row % 64));
        }
    };
    // The rows written on every path to a block; for a block that is not reached yet, all rows.
    let mut before = vec![vec![u64::MAX; words]; blocks.len()];
    if let Some(entry) = before.first_mut() {
        entry.fill(0);
        for (row, _) in undefined.iter().enumerate().filter(|(_, lanes)| **lanes == 0) {
            entry[row / 64] |= 1 << (row % 64);
        }
    }
    let mut changed = true;
    while changed {
        changed = false;
        for (index, block) in blocks.iter().enumerate() {
            let mut set = before[index].clone();
            (block.start as usize..block.end as usize).for_each(|pc| assign(&mut set, pc));
            for &next in &block.successors {
                for (kept, here) in before[next].iter_mut().zip(&set) {
                    changed |= *kept & !here != 0;
                    *kept &= here;
                }
            }
        }
    }
    for (block, mut set) in blocks.iter().zip(before) {
        for pc in block.start as usize..block.end as usize {
            uses[pc]
                .reads
                .iter()
                .filter(|row| set[**row as usize / 64] >> (*row % 64) & 1 == 0)
                .for_each(|row| found(*row));
            assign(&mut set, pc);
        }
    }
}

/// Returns the register accesses of an instruction; `None` if they are unknown.
fn used(function: &Function, plan: &Plan, pc: usize) -> Option<Use> {
    let (inst, step) = (&function.code[pc], plan.step(pc as u32)?);
    let (reads, writes) = plan.rows(step);
    let mut one = Use { reads: reads.to_vec(), writes: writes.to_vec(), passes: true };
    one.reads.extend((step.guard != NO_ROW).then_some(step.guard));
    match &inst.op {
        Op::Pure(..) => known_meaning(step)?,
        Op::Load(access) => {
            one.writes.extend(data(function.rows, access));
            one.passes = matches!(access.space, Space::Param | Space::Const);
        }
        Op::Store(access) => one.reads.extend(data(function.rows, access)),
        Op::Barrier { kind: BarrierKind::Reduce { .. }, .. } => one.passes = false,
        Op::Atomic(atomic) => {
            let file = if atomic.wide { File::Long } else { File::Word };
            let row = |slot: u32| row(function.rows, file, slot);
            one.reads.extend([atomic.b, atomic.c].map(row));
            one.writes.extend(atomic.destination.filter(|slot| *slot != NO_SLOT).map(row));
            one.passes = false;
        }
        Op::Barrier { .. }
        | Op::Branch { .. }
        | Op::BranchIndexed { .. }
        | Op::Call { .. }
        | Op::Discard { .. }
        | Op::Return
        | Op::Exit
        | Op::Trap
        | Op::Fence(..)
        | Op::Nanosleep
        | Op::Nothing
        | Op::ReadTimer { .. }
        | Op::ConvertAddress { .. }
        | Op::IsSpace { .. } => {}
        _ => return None,
    }
    let known = |row: &u32| (*row as usize) < count(function.rows);
    one.reads.iter().chain(&one.writes).all(known).then_some(one)
}

fn count(rows: Rows) -> usize {
    (rows.w32 as usize) + (rows.w64 as usize) + (rows.pred as usize)
}

/// Fails for an instruction of unknown meaning, which may read and write anything.
fn known_meaning(step: &Step) -> Option<()> {
    (!step.always || step.arithmetic.is_some()).then_some(())
}

/// Returns the rows that a load writes or a store reads.
fn data(rows: Rows, access: &Access) -> Vec<u32> {
    let file = if access.wide || access.bytes == 16 { File::Long } else { File::Word };
    let halves = if access.bytes == 16 { 2 } else { 1 };
    let slots = access.registers.iter().filter(|slot| **slot != NO_SLOT);
    slots.flat_map(|slot| (*slot..slot.saturating_add(halves)).map(|slot| row(rows, file, slot))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::Program;

    /// Returns whether each register written by loads and arithmetic in a kernel's code is settled.
    fn settled_words(code: &str) -> Vec<bool> {
        let head = ".version 7.8\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 a, .param .u32 n)\n";
        let registers = "{ .reg .pred %p<4>; .reg .b32 %r<6>; .reg .b64 %rd<4>;\n";
        let text = format!("{head}{registers}{code}\nret;\n}}\n");
        let program = Program::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let function = &program.functions[0];
        let mut plan = Plan::of(function, false);
        plan.entry = entry(function, &plan);
        let mut known: Vec<bool> = Vec::new();
        // Collects the result for every instruction that writes a 32-bit word.
        for (pc, inst) in function.code.iter().enumerate() {
            let written = match &inst.op {
                Op::Load(access) if !access.wide => data(function.rows, access),
                Op::Pure(..) => plan.step(pc as u32).map_or(Vec::new(), |step| plan.rows(step).1.to_vec()),
                _ => Vec::new(),
            };
            known.extend(
                written
                    .iter()
                    .filter(|row| **row < function.rows.w32)
                    .map(|row| plan.entry.undefined[*row as usize] == 0),
            );
        }
        known
    }

    #[test]
    fn results_of_parameters_and_indices_are_settled() {
        assert_eq!(settled_words("ld.param.u32 %r1, [n]; mov.u32 %r2, %tid.x; add.s32 %r3, %r1, %r2;"), [true; 3]);
        // Memory may contain anything.
        assert_eq!(
            settled_words("ld.param.u64 %rd1, [a]; ld.global.u32 %r1, [%rd1]; add.s32 %r2, %r1, 1;"),
            [false; 2]
        );
    }

    #[test]
    fn every_path_must_write() {
        let code = |both: &str| {
            format!(
                "ld.param.u32 %r1, [n]; setp.eq.u32 %p1, %r1, 0; @%p1 bra $else; mov.u32 %r2, 1; bra $end;
                 $else: {both} $end: add.s32 %r3, %r2, 1;"
            )
        };
        assert_eq!(settled_words(&code("mov.u32 %r2, 2;")), [true; 4]);
        assert_eq!(settled_words(&code("")), [true, false, false]);
        // A guarded instruction writes in some lanes only.
        assert_eq!(settled_words(&code("@%p1 mov.u32 %r2, 2;")), [true, false, false, false]);
    }

    #[test]
    fn loops_carry_the_state_of_their_input() {
        let code = |first: &str| {
            format!(
                "ld.param.u32 %r1, [n]; {first} $loop: add.s32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, %r1;
                 @%p1 bra $loop;"
            )
        };
        assert_eq!(settled_words(&code("mov.u32 %r2, 0;")), [true; 3]);
        assert_eq!(settled_words(&code("")), [true, false]);
    }

    #[test]
    fn unknown_instructions_settle_nothing() {
        assert!(!settled_words("ld.param.u32 %r1, [n]; vote.sync.ballot.b32 %r2, 1, -1;")[0]);
    }
}
