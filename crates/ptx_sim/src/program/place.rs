//! The place of an instruction, in the PTX and in the source language.

use super::{File, Function, Program};
use crate::stop::{Place, Source, demangled};

impl Place {
    /// Builds the place of the instruction at `pc` of a function.
    pub(crate) fn of(program: &Program, function: u32, pc: u32) -> Self {
        let Some(function) = program.functions.get(function as usize) else {
            return Self {
                function: String::new(),
                ptx_line: 0,
                ptx_column: 0,
                ptx: String::new(),
                source: Vec::new(),
            };
        };
        let name = demangled(&function.name);
        let at = (pc as usize).min(function.code.len().saturating_sub(1));
        let Some(inst) = function.code.get(at) else {
            return Self {
                function: name,
                ptx_line: function.line,
                ptx_column: 0,
                ptx: String::new(),
                source: Vec::new(),
            };
        };
        let text = inst.line.checked_sub(1).and_then(|line| program.source.line(line as usize));
        let opcode = program.opcodes.get(inst.opcode as usize);
        let ptx = text.map(|line| line.split("//").next().unwrap_or_default().trim()).filter(|line| !line.is_empty());
        Self {
            function: name,
            ptx_line: inst.line,
            ptx_column: text.map_or(0, |line| (line.len() - line.trim_start().len()) as u32 + 1),
            ptx: ptx.map(str::to_owned).or_else(|| opcode.cloned()).unwrap_or_default(),
            source: source_chain(program, function, at),
        }
    }
}

/// Compilers give line 0 to code that belongs to no line; then the nearest earlier instruction with a line is used.
fn source_chain(program: &Program, function: &Function, at: usize) -> Vec<Source> {
    let known = |index: &u32| program.locations.get(*index as usize).is_some_and(|location| location.line != 0);
    let before = function.code[..=at].iter().rev().filter_map(|inst| inst.location);
    let mut next = before.take(64).find(known);
    let mut chain = Vec::new();
    while let Some(location) = next.and_then(|index| program.locations.get(index as usize)) {
        let File { name, recorded } = program.files.get(location.file as usize).cloned().unwrap_or_default();
        chain.push(Source {
            file: name,
            recorded,
            line: location.line,
            column: location.column,
            function: location.function.as_deref().map(demangled),
        });
        next = location.inlined_at;
        if chain.len() > 256 {
            break;
        }
    }
    chain
}
