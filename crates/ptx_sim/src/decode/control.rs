//! Branches, calls, barriers, stack allocation.

use super::decoder::{Decoder, Effect, PresetKey};
use super::names::{Named, Register};
use super::reject::{Reject, unsupported};
use crate::isa::File;
use crate::isa::facts::{Facts, Fidelity, Latency, Undefined, Work, facts};
use crate::program::{BarrierKind, BarrierReduce, Callee, FrameCopy, Op, Space, Symbol};
use crate::syntax::ParseError;
use crate::syntax::tree::Operand;

/// Limit on the targets of all indexed branches of a module; real modules have far fewer.
const MOST_TARGETS: usize = 1 << 20;

const CONTROL: Facts = facts(Undefined::Any, Work::None, Latency::Alu, Fidelity::Exact);

/// Rows of this chapter.
pub const ROWS: &[Effect] = &[
    Effect { name: "bra", facts: CONTROL, decode: |d, _, operands| d.branch(operands) },
    Effect { name: "brx", facts: CONTROL, decode: |d, _, operands| d.branch_indexed(operands) },
    Effect { name: "call", facts: CONTROL, decode: |d, _, operands| d.call(operands) },
    Effect { name: "ret", facts: CONTROL, decode: |_, _, _| Ok(Op::Return) },
    Effect { name: "exit", facts: CONTROL, decode: |_, _, _| Ok(Op::Exit) },
    Effect { name: "trap", facts: CONTROL, decode: |_, _, _| Ok(Op::Trap) },
    Effect { name: "brkpt", facts: CONTROL, decode: |_, _, _| Ok(Op::Trap) },
    // `bar` is `barrier` with `.aligned`.
    Effect { name: "bar", facts: CONTROL, decode: |d, modifiers, operands| d.barrier(true, modifiers, operands) },
    Effect { name: "barrier", facts: CONTROL, decode: |d, modifiers, operands| d.barrier(false, modifiers, operands) },
    Effect { name: "nanosleep", facts: CONTROL, decode: |_, _, _| Ok(Op::Nanosleep) },
    Effect { name: "alloca", facts: CONTROL, decode: |d, modifiers, operands| d.alloca(modifiers, operands) },
    Effect { name: "stacksave", facts: CONTROL, decode: |d, _, operands| d.stack_save(operands) },
    Effect { name: "stackrestore", facts: CONTROL, decode: |d, _, operands| d.stack_restore(operands) },
    // Start of the next kernel, events for a profiler, number of registers: no result of a program depends on them.
    Effect { name: "griddepcontrol", facts: CONTROL, decode: |_, _, _| Ok(Op::Nothing) },
    Effect { name: "pmevent", facts: CONTROL, decode: |_, _, _| Ok(Op::Nothing) },
    Effect { name: "setmaxnreg", facts: CONTROL, decode: |_, modifiers, operands| registers(modifiers, operands) },
];

/// Decodes `setmaxnreg.inc.sync.aligned.u32 96`, which changes no value.
///
/// # Errors
/// [`Reject`] for numbers that ptxas refuses: all but multiples of 8 from 24 to 256.
fn registers(words: &[&str], operands: &[Operand<'_>]) -> Result<Op, Reject> {
    let known = |word| matches!(word, "inc" | "dec" | "sync" | "aligned" | "u32");
    match operands {
        [Operand::Integer(24..=256)] if !words.iter().copied().all(known) => unsupported("has an unknown modifier"),
        [Operand::Integer(count @ 24..=256)] if count % 8 == 0 => Ok(Op::Nothing),
        _ => unsupported("needs a multiple of 8 from 24 to 256"),
    }
}

impl<'t> Decoder<'_, 't> {
    fn target(&self, operand: &Operand<'t>) -> Result<u32, Reject> {
        let Operand::Name(name) = operand else { return unsupported("the target is not a label") };
        match self.labels.find(self.scope, name.text) {
            Some(index) => Ok(index),
            None => {
                let found = format!("label `{}`, which is not defined", name.text);
                Err(ParseError::on_line(self.line, found, "a label of this function").into())
            }
        }
    }

    /// Decodes `bra`.
    ///
    /// # Errors
    /// [`Reject`] if the target is not a label of this function.
    fn branch(&mut self, operands: &[Operand<'t>]) -> Result<Op, Reject> {
        match operands {
            [target] => Ok(Op::Branch { target: self.target(target)? }),
            _ => unsupported("needs one target"),
        }
    }

    /// Decodes `brx.idx`.
    ///
    /// # Errors
    /// [`Reject`] if the targets are not a `.branchtargets` list of this function, or there are too many.
    fn branch_indexed(&mut self, operands: &[Operand<'t>]) -> Result<Op, Reject> {
        let [index, Operand::Name(list)] = operands else { return unsupported("needs an index and a list of targets") };
        let index = self.source(index, File::Word)?.0;
        let Some(&span) = self.targets.get(list.text) else {
            let found = format!("`{}`, which is not a `.branchtargets` list", list.text);
            return Err(ParseError::on_line(self.line, found, "a list of this function").into());
        };
        let body = self.body;
        // Many branches may name the same list, and each has its own copy.
        self.context.branch_targets += body.get(span).len();
        if self.context.branch_targets > MOST_TARGETS {
            let found = format!("more than {MOST_TARGETS} targets of `brx.idx`");
            return Err(ParseError::on_line(self.line, found, "fewer targets in a module").into());
        }
        let targets = body.get(span).iter().map(|target| self.target(target)).collect::<Result<_, _>>()?;
        Ok(Op::BranchIndexed { index, targets })
    }

    /// Decodes `call (returns), callee, (params), prototype`.
    ///
    /// # Errors
    /// [`Reject`] if the callee is not declared, or a parameter is not a local `.param`.
    fn call(&mut self, operands: &[Operand<'t>]) -> Result<Op, Reject> {
        let (returns, rest) = match operands {
            [Operand::List(span), rest @ ..] => (Some(span), rest),
            rest => (None, rest),
        };
        let (callee, params) = match rest {
            [Operand::Name(callee), Operand::List(span), ..] => (callee, Some(span)),
            [Operand::Name(callee), ..] => (callee, None),
            _ => return unsupported("does not name a function"),
        };
        let callee = match (self.names.find(callee.text), self.symbol(callee.text)) {
            (Some(Named::Register(Register { bits: 64, slot, .. })), _) => Callee::Indirect(slot),
            (_, Some((Symbol::Function(index), _))) => Callee::Direct(index),
            (None, None) => {
                let found = format!("function `{}`, which is not declared", callee.text);
                return Err(ParseError::on_line(self.line, found, "a function or a register").into());
            }
            _ => return unsupported(format!("`{}` is not a function", callee.text)),
        };
        let body = self.body;
        let params = self.copies(params.map_or(&[][..], |span| body.get(span)))?;
        let returns = self.copies(returns.map_or(&[][..], |span| body.get(span)))?;
        if let Callee::Direct(index) = callee {
            let function = &self.context.program.functions[index as usize];
            let (expected, passed) = ((function.returns.len(), function.params.len()), (returns.len(), params.len()));
            if expected != passed {
                let found = format!("a call with {} results and {} parameters", passed.0, passed.1);
                let expected = format!("the {} and {} of `{}`", expected.0, expected.1, function.name);
                return Err(ParseError::on_line(self.line, found, expected).into());
            }
        }
        Ok(Op::Call { callee, params, returns })
    }

    fn copies(&self, operands: &[Operand<'t>]) -> Result<Vec<FrameCopy>, Reject> {
        let mut copies = Vec::with_capacity(operands.len());
        for (operand, index) in operands.iter().zip(0..) {
            let Operand::Name(name) = operand else { return unsupported("passes something that is not a `.param`") };
            match self.names.find(name.text) {
                Some(Named::Frame { offset, size, space: Space::Frame }) => {
                    copies.push(FrameCopy { caller: offset, index, size });
                }
                Some(_) => return unsupported(format!("passes `{}`, which is not a local `.param`", name.text)),
                None => {
                    let found = format!("`{}`, which is not declared", name.text);
                    return Err(ParseError::on_line(self.line, found, "a `.param` variable").into());
                }
            }
        }
        Ok(copies)
    }

    /// Decodes `bar{.cta}.{sync,arrive,red}` and `barrier{.cta}.…{.aligned}`.
    fn barrier(&mut self, aligned: bool, words: &[&str], operands: &[Operand<'t>]) -> Result<Op, Reject> {
        let aligned = aligned || words.contains(&"aligned");
        let what: Vec<&str> = words.iter().copied().filter(|word| !matches!(*word, "cta" | "aligned")).collect();
        match (what.as_slice(), operands) {
            (["sync"], [id]) => self.barrier_op(aligned, id, None, BarrierKind::Sync),
            (["sync"], [id, count]) => self.barrier_op(aligned, id, Some(count), BarrierKind::Sync),
            (["arrive"], [id, count]) => self.barrier_op(aligned, id, Some(count), BarrierKind::Arrive),
            (["red", a, b], [d, id, rest @ .., p]) if rest.len() <= 1 => {
                let (op, file) = match (*a, *b) {
                    ("popc", "u32") | ("u32", "popc") => (BarrierReduce::Popc, File::Word),
                    ("and", "pred") | ("pred", "and") => (BarrierReduce::And, File::Pred),
                    ("or", "pred") | ("pred", "or") => (BarrierReduce::Or, File::Pred),
                    _ => return unsupported("this reduction is not supported"),
                };
                let destination = self.destination(d, file)?;
                let (source, negated) = self.source(p, File::Pred)?;
                let kind = BarrierKind::Reduce { op, source, negated, destination };
                self.barrier_op(aligned, id, rest.first(), kind)
            }
            _ => unsupported("this barrier is not supported"),
        }
    }

    fn barrier_op(
        &mut self,
        aligned: bool,
        id: &Operand<'t>,
        count: Option<&Operand<'t>>,
        kind: BarrierKind,
    ) -> Result<Op, Reject> {
        if matches!(id, Operand::Integer(16..)) {
            return unsupported("needs a barrier from 0 to 15");
        }
        let id = self.source(id, File::Word)?.0;
        let count = match count {
            Some(count) => Some(self.source(count, File::Word)?.0),
            None => None,
        };
        Ok(Op::Barrier { aligned, id, count, kind })
    }

    /// Decodes `alloca.u64 d, size, align`.
    fn alloca(&mut self, words: &[&str], operands: &[Operand<'t>]) -> Result<Op, Reject> {
        let (destination, size, align) = match operands {
            [d, size] => (d, size, 16),
            [d, size, Operand::Integer(align)] if align.is_power_of_two() => (d, size, *align),
            _ => return unsupported("needs a destination, a size and an alignment"),
        };
        let wide = words.last().is_some_and(|kind| kind.ends_with("64"));
        let size = match size {
            Operand::Integer(bytes) if wide => self.preset(PresetKey::Const64(*bytes)),
            size => self.source(size, if wide { File::Long } else { File::Word })?.0,
        };
        Ok(Op::Alloca { destination: self.destination(destination, File::Long)?, size, wide, align })
    }

    fn stack_save(&mut self, operands: &[Operand<'t>]) -> Result<Op, Reject> {
        match operands {
            [d] => Ok(Op::StackSave(self.destination(d, File::Long)?)),
            _ => unsupported("needs one operand"),
        }
    }

    fn stack_restore(&mut self, operands: &[Operand<'t>]) -> Result<Op, Reject> {
        match operands {
            [a] => Ok(Op::StackRestore(self.source(a, File::Long)?.0)),
            _ => unsupported("needs one operand"),
        }
    }
}
