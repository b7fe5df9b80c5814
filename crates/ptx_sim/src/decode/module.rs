//! Module scope: which names there are, variables, functions.

use std::collections::HashMap;

use super::function;
use super::instruction::Opcodes;
use super::locations::Locations;
use crate::program::{Function, Kind, Param, Program, Relocation, Rows, Space, Symbol, Variable};
use crate::syntax::tree::{self, Initial, Operand};
use crate::syntax::{self, ParseError};

impl Program {
    /// Reads and decodes a PTX text. Instructions that are unknown here are kept and fail when they are executed.
    ///
    /// # Errors
    /// When the text is not PTX: bad syntax, a name that nothing declares, a size that no memory has.
    pub fn parse(text: &str) -> Result<Program, ParseError> {
        let module = syntax::parse(text)?;
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

/// What all functions of a module share while it is decoded.
pub struct Context<'t> {
    pub program: Program,
    pub functions: HashMap<&'t str, u32>,
    pub variables: HashMap<&'t str, u32>,
    pub locations: Locations<'t>,
    pub opcodes: Opcodes<'t>,
    pub strings: &'t tree::DebugStrings<'t>,
    /// Targets of indexed branches so far.
    pub branch_targets: usize,
}

impl<'t> Context<'t> {
    fn new(module: &'t tree::Module<'t>) -> Self {
        let program = Program { version: module.version, target: module.target.to_string(), ..Program::default() };
        Context {
            program,
            functions: HashMap::new(),
            variables: HashMap::new(),
            locations: Locations::new(&module.files),
            opcodes: Opcodes::default(),
            strings: &module.strings,
            branch_targets: 0,
        }
    }

    /// Gives every function and variable its index, so that bodies may name what comes later.
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
                        format!("a second body of `{}`", function.name),
                        "one function of that name",
                    ));
                }
                *place = Function::default_for(function);
                place.kind = if function.entry { Kind::Entry } else { Kind::Device };
            }
        }
        Ok(())
    }

    /// Adds a variable, without its initialiser.
    pub fn variable(&mut self, variable: &tree::Variable<'t>) -> Result<u32, ParseError> {
        let space = match variable.space {
            "shared" => Space::Shared,
            "const" => Space::Const,
            _ => Space::Global,
        };
        let dynamic = space == Space::Shared && variable.unsized_array;
        let index = index(self.program.variables.len(), variable.line)?;
        self.program.variables.push(Variable {
            name: variable.name.to_string(),
            space,
            size: variable.size,
            align: variable.align,
            init: Vec::new(),
            relocations: Vec::new(),
            dynamic,
        });
        Ok(index)
    }

    /// Fills in initialisers, which may name any symbol of the module.
    fn initialise(&mut self, module: &'t tree::Module<'t>) -> Result<(), ParseError> {
        for variable in &module.variables {
            if let Some(&index) = self.variables.get(variable.name) {
                self.initialiser(index, variable)?;
            }
        }
        Ok(())
    }

    /// Fills in one initialiser.
    pub fn initialiser(&mut self, index: u32, variable: &tree::Variable<'t>) -> Result<(), ParseError> {
        let element = usize::try_from(variable.element).unwrap_or(8).max(1);
        let mut init = Vec::with_capacity(variable.init.len().saturating_mul(element));
        let mut relocations = Vec::new();
        for initial in &variable.init {
            let bits = match initial {
                Initial::Value(Operand::Integer(value)) => *value,
                Initial::Value(Operand::Float32(bits)) => u64::from(*bits),
                Initial::Value(Operand::Float64(bits)) => match variable.kind {
                    "f32" => u64::from((f64::from_bits(*bits) as f32).to_bits()),
                    _ => *bits,
                },
                Initial::Value(Operand::Decimal(value)) => match variable.kind {
                    "f32" => u64::from((*value as f32).to_bits()),
                    _ => value.to_bits(),
                },
                Initial::Value(_) => 0,
                Initial::Address { symbol, offset, generic } => {
                    if element != 8 {
                        return Err(ParseError::on_line(
                            variable.line,
                            format!("an address in `{}`, whose elements have {element} bytes", variable.name),
                            "elements of 8 bytes",
                        ));
                    }
                    let Some(target) = self.symbol(symbol) else {
                        return Err(ParseError::on_line(
                            variable.line,
                            format!("`{symbol}`, which nothing declares"),
                            "the name of a variable or a function",
                        ));
                    };
                    let (offset, addend, generic) = (init.len() as u64, *offset, *generic);
                    relocations.push(Relocation { offset, target, addend, generic });
                    0
                }
            };
            let bytes = u128::from(bits).to_le_bytes();
            init.extend((0..element).map(|i| bytes.get(i).copied().unwrap_or(0)));
        }
        let place = &mut self.program.variables[index as usize];
        (place.init, place.relocations) = (init, relocations);
        Ok(())
    }

    /// A name of module scope.
    pub fn symbol(&self, name: &str) -> Option<Symbol> {
        let variable = self.variables.get(name).map(|&index| Symbol::Variable(index));
        variable.or_else(|| self.functions.get(name).map(|&index| Symbol::Function(index)))
    }

    fn finish(self) -> Program {
        let Context { mut program, locations, opcodes, .. } = self;
        (program.locations, program.files) = locations.finish();
        program.opcodes = opcodes.finish();
        program
    }
}

/// A list index that fits in 32 bits.
pub fn index(length: usize, line: u32) -> Result<u32, ParseError> {
    u32::try_from(length).map_err(|_| ParseError::on_line(line, "too many declarations", "fewer than 2^32 of them"))
}

impl Function {
    /// The declaration of a function, without its body.
    fn default_for(function: &tree::Function<'_>) -> Function {
        let mut end = 0;
        let params = lay_out(&function.params, &mut end);
        if function.entry {
            end = 0;
        }
        let returns = lay_out(&function.returns, &mut end);
        Function {
            name: function.name.to_string(),
            kind: Kind::Extern,
            params,
            returns,
            frame_bytes: end,
            rows: Rows::default(),
            preset: Vec::new(),
            code: Vec::new(),
            meanings: Vec::new(),
            required_block: function.required_block,
            required_cluster: function.required_cluster,
            max_threads: function.max_threads,
            line: function.line,
        }
    }
}

/// Offsets of parameters, in order and aligned.
fn lay_out(variables: &[tree::Variable<'_>], end: &mut u64) -> Vec<Param> {
    let place = |variable: &tree::Variable<'_>| {
        let offset = reserve(end, variable.size, variable.align);
        let name = variable.name.to_string();
        Param { name, size: variable.size, align: variable.align, offset, pointer: variable.pointer }
    };
    variables.iter().map(place).collect()
}

/// The next aligned offset, and moves the end behind it.
pub fn reserve(end: &mut u64, size: u64, align: u64) -> u64 {
    let offset = end.checked_next_multiple_of(align.max(1)).unwrap_or(u64::MAX);
    *end = offset.saturating_add(size);
    offset
}
