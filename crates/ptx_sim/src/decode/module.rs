//! Module scope: the declared names, and the functions.

use crate::hash::Map;

use super::decoder::{Context, Opcodes};
use super::frames;
use super::function;
use super::locations::Locations;
use super::variables::{index, reserve};
use crate::program::{Apart, Function, Kind, Param, Program, Rows};
use crate::syntax::tree;
use crate::syntax::{self, ParseError};

impl Program {
    /// Parses and decodes a PTX text. Unsupported instructions are kept, and stop the run when they are executed.
    ///
    /// # Errors
    /// When the text is not PTX: bad syntax, a name that is not declared, a size that exceeds any memory.
    pub fn parse(text: &str) -> Result<Program, ParseError> {
        let mut module = syntax::parse(text)?;
        frames::spread(&mut module);
        let mut context = Context::new(&module);
        context.declare(&module)?;
        context.initialise(&module)?;
        for function in &module.functions {
            if function.body.is_some() {
                let index = context.functions.get(function.name).copied().unwrap_or_default();
                let decoded = function::decode(&mut context, text, function)?;
                context.program.functions[index as usize] = decoded;
            }
        }
        let mut program = context.finish();
        program.source = text.into();
        Ok(program)
    }
}

impl<'t> Context<'t> {
    fn new(module: &'t tree::Module<'t>) -> Self {
        let program = Program { version: module.version, target: module.target.to_string(), ..Program::default() };
        Context {
            program,
            functions: Map::default(),
            variables: Map::default(),
            locations: Locations::new(&module.files),
            opcodes: Opcodes::default(),
            strings: &module.strings,
            branch_targets: 0,
        }
    }

    /// Assigns an index to every function and variable, so that bodies can refer to later declarations.
    fn declare(&mut self, module: &'t tree::Module<'t>) -> Result<(), ParseError> {
        for variable in &module.variables {
            let index = self.variable(variable)?;
            self.variables.insert(variable.name, index);
        }
        for function in &module.functions {
            let known = self.functions.get(function.name).copied();
            let index = match known {
                Some(index) => index,
                None => {
                    let index = index(self.program.functions.len(), function.line)?;
                    self.functions.insert(function.name, index);
                    self.program.functions.push(Function::default_for(function));
                    index
                }
            };
            if function.body.is_some() {
                let place = &mut self.program.functions[index as usize];
                if place.kind != Kind::Extern {
                    return Err(ParseError::on_line(
                        function.line,
                        format!("duplicate definition of `{}`", function.name),
                        "one definition per name",
                    ));
                }
                *place = Function::default_for(function);
                place.kind = if function.entry { Kind::Entry } else { Kind::Device };
            }
        }
        Ok(())
    }

    /// Decodes the initialisers, which may refer to any symbol of the module.
    fn initialise(&mut self, module: &'t tree::Module<'t>) -> Result<(), ParseError> {
        for variable in &module.variables {
            if let Some(&index) = self.variables.get(variable.name) {
                self.initialiser(index, variable)?;
            }
        }
        Ok(())
    }

    fn finish(self) -> Program {
        let Context { mut program, locations, opcodes, .. } = self;
        (program.locations, program.files) = locations.finish();
        program.opcodes = opcodes.finish();
        program.apart = program.functions.iter().any(|function| !function.apart.parts.is_empty());
        program
    }
}

/// Smallest alignment of a frame in bytes: that of the largest scalar or vector.
const FRAME_ALIGN: u64 = 16;

impl Function {
    /// Creates the declaration of a function, without its body.
    fn default_for(function: &tree::Function<'_>) -> Function {
        let mut end = 0;
        let params = lay_out(&function.params, &mut end);
        if function.entry {
            end = 0;
        }
        let returns = lay_out(&function.returns, &mut end);
        let aligned = params.iter().chain(&returns).map(|param| param.align).max();
        Function {
            name: function.name.to_string(),
            kind: Kind::Extern,
            params,
            returns,
            frame_bytes: end,
            frame_align: aligned.unwrap_or_default().max(FRAME_ALIGN),
            apart: Apart::default(),
            rows: Rows::default(),
            preset: Vec::new(),
            code: Vec::new(),
            described: Vec::new(),
            required_block: function.required_block,
            required_cluster: function.required_cluster,
            max_threads: function.max_threads,
            max_registers: function.max_registers,
            line: function.line,
        }
    }
}

/// Assigns offsets to parameters, in order and aligned.
fn lay_out(variables: &[tree::Variable<'_>], end: &mut u64) -> Vec<Param> {
    let place = |variable: &tree::Variable<'_>| {
        let offset = reserve(end, variable.size, variable.align);
        let name = variable.name.to_string();
        Param { name, size: variable.size, align: variable.align, offset, pointer: variable.pointer }
    };
    variables.iter().map(place).collect()
}
