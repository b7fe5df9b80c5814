//! Register accesses of each instruction, computed once per function, so that the usual case of an instruction with
//! defined sources takes only a few masks.

use super::rule::Rule;
use crate::isa::File;
use crate::isa::facts::Arithmetic;
use crate::program::{Function, Op, operands};
use crate::registers::NO_SLOT;
use crate::registers::shadow::{Entry, row};

/// Row number that stands for the absence of a row.
pub const NO_ROW: u32 = u32::MAX;

/// What one instruction reads and writes.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    first: u32,
    reads: u8,
    writes: u8,
    /// Row of the guard, or [`NO_ROW`].
    pub guard: u32,
    /// Rule by which undefined bits pass through an instruction that only computes.
    pub rule: Rule,
    /// Whether the instruction is inspected even when all sources are defined.
    pub always: bool,
    /// Integer operation to check for overflow.
    pub arithmetic: Option<Arithmetic>,
}

/// The steps of one function.
#[derive(Debug, Default)]
pub struct Plan {
    steps: Vec<Step>,
    rows: Vec<u32>,
    /// Registers that are undefined on entry to the function.
    pub entry: Entry,
}

impl Plan {
    /// Creates the plan of one function, without its entry. With `overflow`, integer arithmetic is always inspected.
    pub fn of(function: &Function, overflow: bool) -> Self {
        let mut plan = Self::default();
        for (pc, inst) in function.code.iter().enumerate() {
            let (facts, meaning) = (function.facts(pc as u32), function.meaning(pc as u32));
            let first = plan.rows.len() as u32;
            let row = |(file, slot)| row(function.rows, file, slot);
            let operands = operands(&inst.op, meaning);
            plan.rows.extend(operands.decides.iter().filter(|(_, slot)| *slot != NO_SLOT).map(|operand| row(*operand)));
            let reads = plan.rows.len() as u32 - first;
            plan.rows.extend(operands.defines.iter().filter(|(_, slot)| *slot != NO_SLOT).map(|operand| row(*operand)));
            let writes = plan.rows.len() as u32 - first - reads;
            let pure = matches!(inst.op, Op::Pure(..));
            let arithmetic = if overflow && pure { facts.overflow } else { None };
            plan.steps.push(Step {
                first,
                reads: reads as u8,
                writes: writes as u8,
                guard: inst.guard.map_or(NO_ROW, |guard| row((File::Pred, guard.pred))),
                rule: facts.undefined,
                always: (pure && meaning.is_none()) || arithmetic.is_some(),
                arithmetic,
            });
        }
        plan
    }

    /// Returns the step of an instruction.
    #[inline(always)]
    pub fn step(&self, pc: u32) -> Option<&Step> {
        self.steps.get(pc as usize)
    }

    /// Returns the rows that a step reads, and those that it writes, without the data of memory accesses.
    #[inline(always)]
    pub fn rows(&self, step: &Step) -> (&[u32], &[u32]) {
        let (first, reads) = (step.first as usize, usize::from(step.reads));
        let end = first + reads + usize::from(step.writes);
        self.rows.get(first..end).map_or((&[], &[]), |rows| rows.split_at(reads))
    }
}
