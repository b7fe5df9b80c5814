//! Lookup of an opcode's row, and decoding of one instruction.

use std::rc::Rc;

use super::decoder::{Decoder, Entry, Opcode};
use super::effects;
use super::reject::{Reject, unsupported};
use crate::isa::facts::{Facts, Fidelity, Latency, Undefined, Work, facts};
use crate::isa::instructions;
use crate::isa::table::Row;
use crate::isa::targets::{Target, of_form};
use crate::program::{Described, Inst, Op};
use crate::syntax::ParseError;
use crate::syntax::tree::Instruction;

/// Facts of an instruction that cannot be executed.
const UNSUPPORTED: Facts = facts(Undefined::Any, Work::None, Latency::Alu, Fidelity::Unsupported);

/// Returns the row of an opcode, and the words after the name of an effect's row.
pub fn find(opcode: &str) -> (Entry, Rc<[&str]>) {
    let none = || Rc::from([]);
    if opcode.starts_with("cvt.") {
        return (Entry::Conversion, none());
    }
    // `mov` is an effect: its operands, not its opcode, choose among the rows of `isa`, of which some have names that
    // are no opcodes.
    let chosen =
        ["mov.", "pack.", "unpack.", "min3.", "max3.", "video."].into_iter().any(|name| opcode.starts_with(name));
    let pure = if chosen { None } else { instructions::find(opcode) };
    match (pure, effects::find(opcode)) {
        (Some(row), _) => (Entry::Pure(row), none()),
        (None, Some(effect)) => (Entry::Effect(effect), opcode[effect.name.len()..].split('.').skip(1).collect()),
        (None, None) => (of_three(opcode).map_or(Entry::Unknown, Entry::Pure), none()),
    }
}

/// Returns the row of a `min` or `max` with three operands.
fn of_three(opcode: &str) -> Option<&'static Row> {
    let (name, rest) = opcode.split_once('.')?;
    matches!(name, "min" | "max").then(|| instructions::find(&format!("{name}3.{rest}"))).flatten()
}

impl<'t> Decoder<'_, 't> {
    /// Decodes one instruction.
    ///
    /// # Errors
    /// A [`ParseError`] if the instruction is not valid PTX; an unsupported one becomes `Op::Unsupported`.
    pub fn instruction(
        &mut self,
        instruction: &'t Instruction<'t>,
        location: Option<u32>,
    ) -> Result<(Inst, Described), ParseError> {
        self.line = instruction.line;
        let guard = match instruction.guard {
            None => None,
            Some((name, negated)) => Some(self.guard(name, negated)?),
        };
        self.described = Described { facts: &UNSUPPORTED, meaning: None };
        let opcode = self.context.opcodes.intern(instruction.opcode, find);
        (self.class, self.takes_special) = (opcode.class, opcode.takes_special);
        let op = match self.op(&opcode, instruction) {
            Ok(op) => op,
            Err(Reject::Error(error)) => return Err(error),
            Err(Reject::Unsupported(why)) => {
                self.described = Described { facts: &UNSUPPORTED, meaning: None };
                Op::Unsupported(self.unsupported_text(instruction, &why))
            }
        };
        let inst = Inst { op, guard, opcode: opcode.index, location, line: instruction.line };
        Ok((inst, self.described))
    }

    fn op(&mut self, opcode: &Opcode<'t>, instruction: &'t Instruction<'t>) -> Result<Op, Reject> {
        let operands = self.body.get(&instruction.operands);
        let first = opcode.first.max(of_form(instruction.opcode, operands.len()));
        match opcode.entry {
            Entry::Pure(row) => {
                let row = if operands.len() == 4 { of_three(instruction.opcode).unwrap_or(row) } else { row };
                self.row(row, operands)
            }
            Entry::Conversion => self.cvt(instruction.opcode, operands),
            Entry::Effect(effect) => {
                self.described.facts = &effect.facts;
                (effect.decode)(self, &opcode.modifiers, operands)
            }
            Entry::Unknown => unsupported("this instruction is not supported"),
        }
        .and_then(|op| self.needs(first, "").map(|()| op))
    }

    /// Rejects what the module's target does not have. `what` names a part of the instruction, or is empty.
    ///
    /// # Errors
    /// [`Reject`] if `first` is a later architecture.
    pub fn needs(&self, first: Option<Target>, what: &str) -> Result<(), Reject> {
        let module = &self.context.program.target;
        match (first, Target::of(module)) {
            (Some(first), Some(target)) if !target.has(first) => {
                unsupported(format!("{what}needs `.target {first}` or later, but the module's target is {module}"))
            }
            _ => Ok(()),
        }
    }

    fn unsupported_text(&self, instruction: &Instruction<'_>, why: &str) -> String {
        let text = self.text.get(instruction.start..instruction.end).unwrap_or(instruction.opcode);
        let words: Vec<&str> = text.split_whitespace().collect();
        format!("`{}`: {why}", words.join(" "))
    }
}
