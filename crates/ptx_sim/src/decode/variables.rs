//! Variables and their initial values.

use super::decoder::Context;
use crate::program::{Relocation, Space, Symbol, Variable};
use crate::syntax::ParseError;
use crate::syntax::tree::{self, Initial, Operand};

impl<'t> Context<'t> {
    /// Adds a variable without its initialiser.
    ///
    /// # Errors
    /// A [`ParseError`] if the module has too many variables.
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
            managed: variable.managed,
        });
        Ok(index)
    }

    /// Decodes one initialiser.
    ///
    /// # Errors
    /// A [`ParseError`] if a symbol is not declared, or an address does not fit the element type.
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
                            format!("`{symbol}`, which is not declared"),
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

    /// Looks up a name of module scope.
    pub fn symbol(&self, name: &str) -> Option<Symbol> {
        let variable = self.variables.get(name).map(|&index| Symbol::Variable(index));
        variable.or_else(|| self.functions.get(name).map(|&index| Symbol::Function(index)))
    }
}

/// Converts the length of a list to an index of 32 bits.
///
/// # Errors
/// A [`ParseError`] if it does not fit.
pub fn index(length: usize, line: u32) -> Result<u32, ParseError> {
    u32::try_from(length).map_err(|_| ParseError::on_line(line, "too many declarations", "fewer than 2^32 of them"))
}

/// Reserves `size` bytes: returns the next aligned offset and moves `end` behind it.
pub fn reserve(end: &mut u64, size: u64, align: u64) -> u64 {
    let offset = end.checked_next_multiple_of(align.max(1)).unwrap_or(u64::MAX);
    *end = offset.saturating_add(size);
    offset
}
