//! Decoding of a function: its scopes, frame and rows, and its statements in order.

use crate::hash::Map;

use super::decoder::{Context, Decoder};
use super::instruction::find;
use super::names::{Class, Labels, Named, Names};
use super::variables::{index, reserve};
use crate::program::{Apart, Described, Function, Inst, Kind, Op, Part, Space};
use crate::syntax::ParseError;
use crate::syntax::tree::{self, Statement};

/// Decodes a body. The program already contains the declaration.
///
/// # Errors
/// A [`ParseError`] for names that are not declared, duplicate labels, and sizes that are too large.
pub fn decode<'t>(
    context: &mut Context<'t>,
    text: &'t str,
    function: &'t tree::Function<'t>,
) -> Result<Function, ParseError> {
    let number = context.functions.get(function.name).copied().unwrap_or_default();
    let mut decoded = context.program.functions[number as usize].clone();
    let Some(body) = &function.body else { return Ok(decoded) };
    context.locations.start_function();
    let mut decoder = Decoder {
        context,
        text,
        body,
        names: Names::default(),
        labels: Labels::default(),
        scope: 0,
        targets: Map::default(),
        entry: function.entry,
        preset: Vec::new(),
        preset_slots: Map::default(),
        carry: None,
        used_bytes: None,
        line: function.line,
        class: Class::Bits,
        takes_special: false,
        described: Described::NOTHING,
    };
    decoder.names.open();
    decoder.parameters(function, &decoded);
    decoder.collect_labels()?;
    decoder.statements(&mut decoded)?;
    decoded.kind = if function.entry { Kind::Entry } else { Kind::Device };
    decoded.rows = decoder.names.rows;
    decoded.preset = decoder.preset;
    Ok(decoded)
}

impl<'t> Decoder<'_, 't> {
    fn parameters(&mut self, function: &'t tree::Function<'t>, decoded: &Function) {
        let all = function.params.iter().zip(&decoded.params).chain(function.returns.iter().zip(&decoded.returns));
        for (variable, param) in all {
            let named = match self.entry {
                true => Named::KernelParam(param.offset),
                false => Named::Frame { offset: param.offset, size: param.size, space: Space::Frame },
            };
            self.names.declare(variable.name, named);
        }
    }

    /// Assigns label positions before decoding, which is possible because every instruction statement becomes one
    /// instruction.
    fn collect_labels(&mut self) -> Result<(), ParseError> {
        let mut open = Vec::new();
        let mut next = 0u32;
        for statement in &self.body.statements {
            let scope = open.last().copied().unwrap_or(0);
            match statement {
                Statement::Open => {
                    let parent = if open.is_empty() { 0 } else { scope };
                    let scope = self.labels.scope(parent);
                    open.push(scope);
                }
                Statement::Close => {
                    open.pop();
                }
                Statement::Label(name, line) if !self.labels.add(scope, name, next) => {
                    return Err(ParseError::on_line(
                        *line,
                        format!("duplicate label `{name}`"),
                        "distinct labels within a scope",
                    ));
                }
                Statement::BranchTargets(name, span) => {
                    self.targets.insert(name, span);
                }
                Statement::Instruction(instruction) => next = index(next as usize + 1, instruction.line)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn statements(&mut self, decoded: &mut Function) -> Result<(), ParseError> {
        let (mut frame, mut most) = (decoded.frame_bytes, decoded.frame_bytes);
        let mut open: Vec<(u32, u64)> = Vec::new();
        let mut scopes = 0;
        let mut location = None;
        for statement in &self.body.statements {
            match statement {
                Statement::Open => {
                    open.push((self.scope, frame));
                    self.names.open();
                    self.scope = scopes;
                    scopes += 1;
                }
                Statement::Close => {
                    self.names.close();
                    // The part of the frame that a scope used is reused after it.
                    if let Some((scope, end)) = open.pop() {
                        (self.scope, frame) = (scope, end);
                    }
                }
                Statement::Registers(registers) => self.names.registers(registers)?,
                Statement::Variable(variable) => {
                    self.variable(variable, &mut frame, &mut decoded.frame_align)?;
                    most = most.max(frame);
                    self.apart(variable, decoded);
                }
                Statement::Location(loc) => location = Some(self.context.locations.add(loc, self.context.strings)),
                Statement::Pragma(text) => self.pragma(text),
                Statement::Instruction(instruction) => {
                    let (inst, described) = self.instruction(instruction, location)?;
                    decoded.code.push(inst);
                    decoded.described.push(described);
                }
                Statement::Label(..) | Statement::BranchTargets(..) => {}
            }
        }
        decoded.frame_bytes = most;
        self.end(decoded, location);
        Ok(())
    }

    /// Adds the implicit return of a body that can run past its last statement.
    fn end(&mut self, decoded: &mut Function, location: Option<u32>) {
        let length = decoded.code.len() as u32;
        let jumps_to_end = decoded.code.iter().any(|inst| match &inst.op {
            Op::Branch { target } => *target == length,
            Op::BranchIndexed { targets, .. } => targets.contains(&length),
            _ => false,
        });
        let falls_off = decoded.code.last().is_none_or(|last| {
            last.guard.is_some() || !matches!(last.op, Op::Branch { .. } | Op::Return | Op::Exit | Op::Trap)
        });
        if jumps_to_end || falls_off {
            let opcode = self.context.opcodes.intern("ret", find).index;
            decoded.code.push(Inst { op: Op::Return, guard: None, opcode, location, line: self.line });
            decoded.described.push(Described::NOTHING);
        }
    }

    /// Declares a variable; one of the frame takes its place at the end of that and aligns all of it.
    fn variable(
        &mut self,
        variable: &'t tree::Variable<'t>,
        frame: &mut u64,
        align: &mut u64,
    ) -> Result<(), ParseError> {
        let named = match variable.space {
            "local" | "param" => {
                let space = if variable.space == "local" { Space::Local } else { Space::Frame };
                let offset = reserve(frame, variable.size, variable.align);
                *align = variable.align.max(*align);
                if *frame > 1 << 32 {
                    let found = format!("{} bytes of local memory", *frame);
                    return Err(ParseError::on_line(variable.line, found, "less than 4 GiB for each thread"));
                }
                Named::Frame { offset, size: variable.size, space }
            }
            _ => {
                let index = self.context.variable(variable)?;
                self.context.initialiser(index, variable)?;
                Named::Variable(index)
            }
        };
        self.names.declare(variable.name, named);
        Ok(())
    }

    /// Adds the parts of a variable of the frame that lie apart.
    fn apart(&self, variable: &tree::Variable<'t>, decoded: &mut Function) {
        let (Some(Named::Frame { offset, size, .. }), Some(apart)) = (self.names.find(variable.name), &self.body.apart)
        else {
            return;
        };
        if apart.name == variable.name {
            let parts = apart.parts.iter().map(|part| Part {
                name: part.name.clone(),
                start: offset + part.start,
                size: part.size,
            });
            decoded.apart = Apart { range: offset..offset + size, parts: parts.collect(), added: apart.added };
        }
    }

    fn pragma(&mut self, text: &str) {
        if let Some(mask) = text.trim().strip_prefix("used_bytes_mask") {
            let mask = mask.trim();
            let parsed = match mask.strip_prefix("0x") {
                Some(hex) => u64::from_str_radix(hex, 16),
                None => mask.parse(),
            };
            self.used_bytes = parsed.ok();
        }
    }
}
