//! Rewrites a parsed module to the forms that decoding has: a vector register becomes the list of its elements, a
//! register plus a constant becomes an addition, parameters in registers become parameters in memory, and a `vote` or
//! `shfl` of old targets becomes one of the active lanes. A `lop3` with a predicate becomes three instructions.

mod lookups;
mod masks;
mod scopes;
mod values;

use crate::hash::Map;

use scopes::Scopes;
use values::{Moved, Signature};

use super::error::ParseError;
use super::tree::{Body, Function, Instruction, Module, Name, Operand, Registers, Span, Statement, Variable};

/// Names of the variables and registers that are added. A blank makes them different from all names of a text.
const ADDED: [&str; 16] = [
    "value 0", "value 1", "value 2", "value 3", "value 4", "value 5", "value 6", "value 7", "value 8", "value 9",
    "value 10", "value 11", "value 12", "value 13", "value 14", "value 15",
];
/// Name of the register for the mask of active lanes.
const MASK: &str = "active lanes";

/// Name of the register for the result of a `lop3` that also has a predicate.
const LOOKED_UP: &str = "looked up";

/// Rewrites all functions. What has no other form stays, and decoding rejects it.
///
/// # Errors
/// A [`ParseError`] for a call that passes a predicate as ptxas does not.
pub fn expand(module: &mut Module<'_>) -> Result<(), ParseError> {
    let kinds = |list: &[Variable<'_>]| list.iter().any(|variable| variable.space == "reg");
    let signature = |function: &Function<'_>| kinds(&function.params) || kinds(&function.returns);
    let any = module.functions.iter().any(signature);
    let without_mask = masks::are_implicit(module);
    if !any
        && !module.functions.iter().filter_map(|function| function.body.as_ref()).any(|body| needs(body, without_mask))
    {
        return Ok(());
    }
    let flags_are_passed = values::flags_are_passed(module);
    let signatures: Map<&str, Signature<'_>> = module.functions.iter().map(|f| (f.name, Signature::of(f))).collect();
    for function in &mut module.functions {
        let prologue = values::params_in_memory(function);
        let epilogue = values::results_in_memory(function);
        if let Some(body) = &mut function.body {
            let statements = std::mem::take(&mut body.statements);
            let scopes = Scopes::default();
            let mut expansion =
                Expansion { body, signatures: &signatures, scopes, depth: 0, without_mask, flags_are_passed };
            expansion.function(statements, &prologue, &epilogue, function.line)?;
        }
    }
    Ok(())
}

/// Whether a body has a form that is rewritten.
fn needs(body: &Body<'_>, without_mask: bool) -> bool {
    body.statements.iter().any(|statement| match statement {
        Statement::Registers(registers) => registers.lanes > 1,
        // Whether its parameters are in registers is not known before its names are.
        Statement::Instruction(instruction) if is_call(instruction.opcode) => true,
        Statement::Instruction(instruction) if lookups::comparison(instruction.opcode).is_some() => true,
        Statement::Instruction(instruction) if without_mask && masks::with_mask(instruction.opcode).is_some() => true,
        Statement::Instruction(instruction) => {
            let with_offset = |operand: &Operand<'_>| matches!(operand, Operand::Name(name) if name.offset != 0);
            body.get(&instruction.operands).iter().any(with_offset)
        }
        _ => false,
    })
}

fn is_call(opcode: &str) -> bool {
    opcode == "call" || opcode == "call.uni"
}

struct Expansion<'b, 't> {
    body: &'b mut Body<'t>,
    signatures: &'b Map<&'t str, Signature<'t>>,
    scopes: Scopes<'t>,
    depth: usize,
    /// Whether the target has `vote` and `shfl` without a mask.
    without_mask: bool,
    /// Whether calls of the module may pass predicates.
    flags_are_passed: bool,
}

impl<'t> Expansion<'_, 't> {
    fn function(
        &mut self,
        statements: Vec<Statement<'t>>,
        ins: &[Moved<'t>],
        outs: &[Moved<'t>],
        line: u32,
    ) -> Result<(), ParseError> {
        let place = Place { guard: None, line, start: 0, end: 0 };
        for statement in statements {
            match &statement {
                Statement::Open => {
                    self.scopes.open();
                    self.depth += 1;
                    self.body.statements.push(statement);
                    if self.depth == 1 {
                        self.enter(ins, outs, place);
                    }
                    continue;
                }
                Statement::Close => {
                    if self.depth == 1 {
                        self.leave(outs, place);
                    }
                    self.scopes.close();
                    self.depth -= 1;
                }
                Statement::Registers(registers) => self.scopes.declare(registers),
                Statement::Variable(variable) => self.scopes.variable(variable.name),
                Statement::Instruction(instruction) => {
                    let here = Place::of(instruction);
                    if matches!(instruction.opcode, "ret" | "ret.uni") {
                        self.leave(outs, here);
                    }
                    let Statement::Instruction(instruction) = statement else { continue };
                    self.instruction(instruction, here)?;
                    continue;
                }
                _ => {}
            }
            self.body.statements.push(statement);
        }
        Ok(())
    }

    fn register(&mut self, name: &'t str, kind: &'t str, line: u32) {
        let registers = Registers { kind, name, lanes: 1, count: None, line };
        self.scopes.declare(&registers);
        self.body.statements.push(Statement::Registers(registers));
    }

    fn instruction(&mut self, mut instruction: Instruction<'t>, place: Place<'t>) -> Result<(), ParseError> {
        let mut operands = self.body.get(&instruction.operands).to_vec();
        let mut changed = false;
        for operand in &mut operands {
            changed |= self.elements(operand);
        }
        let call = is_call(instruction.opcode);
        let added: Vec<usize> = (0..operands.len()).filter(|&i| !call && self.sum(&operands[i]).is_some()).collect();
        let passed = if call { self.passed(&operands) } else { None };
        let masked = if self.without_mask { masks::with_mask(instruction.opcode) } else { None };
        let predicate = lookups::comparison(instruction.opcode).is_some();
        if added.is_empty() && passed.is_none() && masked.is_none() && !predicate {
            if changed {
                instruction.operands = self.span(operands);
            }
            self.body.statements.push(Statement::Instruction(instruction));
            return Ok(());
        }
        self.body.statements.push(Statement::Open);
        for (i, hidden) in added.into_iter().zip(ADDED) {
            let Some((kind, opcode, sum)) = self.sum(&operands[i]) else { continue };
            self.register(hidden, kind, place.line);
            operands[i] = name(hidden);
            let addend = Operand::Integer(sum.offset as u64);
            self.push(place, opcode, [name(hidden), name(sum.text), addend]);
        }
        if let Some(masked) = masked {
            self.register(MASK, "b32", place.line);
            self.push(place, "activemask.b32", [name(MASK)]);
            operands.push(name(MASK));
            instruction.opcode = masked;
        }
        if let (Some(with), [Operand::Pair(to, p), a, b, c, table, q]) =
            (lookups::comparison(instruction.opcode), &operands[..])
        {
            let (to, p) = (*to, *p);
            let inputs = [name(LOOKED_UP), a.clone(), b.clone(), c.clone(), table.clone()];
            let q = q.clone();
            self.register(LOOKED_UP, "b32", place.line);
            self.push(place, "lop3.b32", inputs);
            // The predicate last: it may guard the instruction.
            self.push(place, "mov.b32", [name(to), name(LOOKED_UP)]);
            instruction.opcode = with;
            operands = vec![name(p), name(LOOKED_UP), Operand::Integer(0), q];
        }
        let mut loads = Vec::new();
        if let Some(passed) = passed {
            loads = self.pass(passed, &mut operands, place)?;
        }
        instruction.operands = self.span(operands);
        self.body.statements.push(Statement::Instruction(instruction));
        self.receive(loads, place);
        self.body.statements.push(Statement::Close);
        Ok(())
    }

    /// Replaces the name of a vector register by the list of its elements.
    fn elements(&mut self, operand: &mut Operand<'t>) -> bool {
        match operand {
            Operand::Name(Name { text, negated: false, offset: 0 }) => {
                let (name, Some(lanes)) = (*text, self.scopes.lanes(text)) else { return false };
                *operand = Operand::Vector(self.span((0..lanes).map(|i| Operand::Element(name, i)).collect()));
                true
            }
            Operand::Indexed(_, span) => match self.body.get(span) {
                [Operand::Name(Name { text, negated: false, offset: 0 })] => {
                    let (name, Some(lanes)) = (*text, self.scopes.lanes(text)) else { return false };
                    *span = self.span((0..lanes).map(|i| Operand::Element(name, i)).collect());
                    true
                }
                _ => false,
            },
            _ => false,
        }
    }

    /// Returns the type and the addition of an operand such as `%r1+4`, if it is an integer register plus a constant.
    fn sum(&self, operand: &Operand<'t>) -> Option<(&'t str, &'static str, Name<'t>)> {
        let Operand::Name(sum) = operand else { return None };
        if sum.offset == 0 || sum.negated {
            return None;
        }
        let kind = self.scopes.type_of(sum.text)?;
        let opcode = match kind {
            "b16" | "u16" | "s16" => "add.u16",
            "b32" | "u32" | "s32" => "add.u32",
            "b64" | "u64" | "s64" => "add.u64",
            _ => return None,
        };
        Some((kind, opcode, *sum))
    }

    fn span(&mut self, operands: Vec<Operand<'t>>) -> Span {
        let start = self.body.operands.len() as u32;
        self.body.operands.extend(operands);
        start..self.body.operands.len() as u32
    }

    fn push<const N: usize>(&mut self, place: Place<'t>, opcode: &'static str, operands: [Operand<'t>; N]) {
        let Place { guard, line, start, end } = place;
        let operands = self.span(operands.into());
        let instruction = Instruction { guard, opcode, operands, line, start, end };
        self.body.statements.push(Statement::Instruction(instruction));
    }
}

/// Where the text has the instruction that others are added for, and its guard.
#[derive(Clone, Copy)]
struct Place<'t> {
    guard: Option<(&'t str, bool)>,
    line: u32,
    start: usize,
    end: usize,
}

impl<'t> Place<'t> {
    fn of(instruction: &Instruction<'t>) -> Self {
        Place { guard: instruction.guard, line: instruction.line, start: instruction.start, end: instruction.end }
    }
}

fn name<'t>(text: &'t str) -> Operand<'t> {
    Operand::Name(Name { text, negated: false, offset: 0 })
}
