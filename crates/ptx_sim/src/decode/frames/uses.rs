//! The uses of a frame's address in a function.

use crate::hash::Set;
use crate::isa::memory::{Space, modifiers};
use crate::syntax::tree::{Body, Instruction, Name, Operand, Statement};

/// A use of the frame's address plus a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Use {
    /// Index of the operand with the constant.
    pub operand: usize,
    /// The constant.
    pub offset: u64,
    /// Number of bytes that are accessed there; 0 if the address is put into a register.
    pub bytes: u64,
}

/// Limit on the length of a chain of copies of the address.
const MOST_ROUNDS: usize = 16;

/// Returns all uses of a frame's address; `None` if one of them is not the address plus a constant, so that the frame's
/// variables must lie as the compiler put them.
///
/// LLVM adds the offset of a variable's start to the frame's address, and computes the addresses of elements from the
/// result. The offset in a load or store is that of an element.
pub fn uses<'t>(body: &Body<'t>, frame: &'t str) -> Option<Vec<Use>> {
    let instructions = || {
        body.statements.iter().filter_map(|statement| match statement {
            Statement::Instruction(instruction) => Some(instruction),
            _ => None,
        })
    };
    let mut bases = Set::from_iter([frame]);
    // A copy of the address may come before what it copies, in the text.
    for round in 0.. {
        if round == MOST_ROUNDS {
            return None;
        }
        let copied = instructions().filter_map(|instruction| copy(body, instruction, &bases, frame));
        let new: Vec<&str> = copied.filter(|name| !bases.contains(name)).collect();
        if new.is_empty() {
            break;
        }
        bases.extend(new);
    }
    let mut found = Vec::new();
    for instruction in instructions() {
        let operands = body.get(&instruction.operands);
        let guard = instruction.guard.is_some_and(|(name, _)| bases.contains(name));
        let mentions = operands.iter().map(|operand| mentions(body, operand, &bases)).sum::<Option<usize>>()?;
        if mentions == 0 && !guard {
            continue;
        }
        // Of a copy, the source and the destination.
        if mentions == 2 && !guard && copy(body, instruction, &bases, frame).is_some() {
            continue;
        }
        let (at, offset, bytes) = constant(instruction, operands, &bases).filter(|_| mentions == 1 && !guard)?;
        found.push(Use { operand: instruction.operands.start as usize + at, offset, bytes });
    }
    Some(found)
}

/// Returns the register to which an instruction copies the frame's address, in its own space or as a generic address.
fn copy<'t>(body: &Body<'t>, instruction: &Instruction<'t>, bases: &Set<&str>, frame: &str) -> Option<&'t str> {
    let [to, from] = body.get(&instruction.operands) else { return None };
    let (to, from) = (plain(to)?, plain(from)?);
    let copies = match instruction.opcode {
        "mov.u64" | "mov.b64" | "mov.s64" => from == frame,
        "cvta.local.u64" | "cvta.to.local.u64" => bases.contains(from),
        _ => false,
    };
    (copies && instruction.guard.is_none() && to != frame).then_some(to)
}

/// Returns the constant of a use: the index of its operand, its value, and the number of bytes accessed there.
fn constant<'t>(
    instruction: &Instruction<'t>,
    operands: &[Operand<'t>],
    bases: &Set<&str>,
) -> Option<(usize, u64, u64)> {
    if let ("add.u64" | "add.s64", [_, base, Operand::Integer(offset)]) = (instruction.opcode, operands) {
        return plain(base).filter(|base| bases.contains(base)).map(|_| (2, *offset, 0));
    }
    let mut words = instruction.opcode.split('.');
    let at = match words.next()? {
        "ld" => 1,
        "st" => 0,
        _ => return None,
    };
    let words: Vec<&str> = words.collect();
    let modifiers = modifiers(&words)?;
    let Some(Operand::Address(Some(base), offset)) = operands.get(at) else { return None };
    if !matches!(modifiers.space, Space::Generic | Space::Local) || !bases.contains(base) {
        return None;
    }
    let bytes = crate::syntax::type_bytes(modifiers.kind)? * u64::from(modifiers.lanes);
    Some((at, u64::try_from(*offset).ok()?, bytes))
}

/// Returns the name that an operand consists of.
fn plain<'t>(operand: &Operand<'t>) -> Option<&'t str> {
    match operand {
        Operand::Name(Name { text, negated: false, offset: 0 }) => Some(text),
        _ => None,
    }
}

/// Returns how often an operand names the frame's address; `None` if its text is not known.
fn mentions(body: &Body<'_>, operand: &Operand<'_>, bases: &Set<&str>) -> Option<usize> {
    let one = |name: &str| usize::from(bases.contains(name));
    let all = |operands: &[Operand<'_>]| operands.iter().map(|operand| mentions(body, operand, bases)).sum();
    match operand {
        Operand::Name(name) | Operand::Minus(name) => Some(one(name.text)),
        Operand::Address(base, _) => Some(base.map_or(0, one)),
        Operand::Element(name, _) => Some(one(name)),
        Operand::Pair(first, second) => Some(one(first) + one(second)),
        Operand::Indexed(name, span) => {
            let coordinates: Option<usize> = all(body.get(span));
            Some(one(name) + coordinates?)
        }
        Operand::Vector(span) | Operand::List(span) => all(body.get(span)),
        Operand::Integer(_) | Operand::Float32(_) | Operand::Float64(_) | Operand::Decimal(_) => Some(0),
        Operand::Other => None,
    }
}
