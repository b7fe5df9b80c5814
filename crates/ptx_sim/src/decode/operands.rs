//! Conversion of operands to rows: registers have rows of their own; constants, special registers and addresses get
//! rows that are filled on entry.

use super::decoder::{Decoder, PresetKey};
use super::names::{Class, Named, Register};
use super::reject::{Reject, unsupported};
use crate::isa::targets::of_register;
use crate::isa::{self, File};
use crate::program::{Address, Guard, Preset, Space, Symbol};
use crate::registers::{NO_SLOT, Slot};
use crate::syntax::ParseError;
use crate::syntax::tree::{Name, Operand};

impl<'t> Decoder<'_, 't> {
    fn unknown_name(&self, name: &str, expected: &str) -> ParseError {
        ParseError::on_line(self.line, format!("`{name}`, which is not declared"), expected)
    }

    /// Decodes a guard, `@p`.
    ///
    /// # Errors
    /// A [`ParseError`] if the name is not a predicate register.
    pub fn guard(&self, name: &str, negated: bool) -> Result<Guard, ParseError> {
        match self.names.find(name) {
            Some(Named::Register(Register { bits: 1, slot, .. })) => Ok(Guard { pred: slot, negated }),
            Some(_) => Err(ParseError::on_line(self.line, format!("`{name}` as guard"), "a predicate register")),
            None => Err(self.unknown_name(name, "a predicate register")),
        }
    }

    /// Returns the row of a destination register in a file.
    ///
    /// # Errors
    /// [`Reject`] if the operand is not a register of a suitable width.
    pub fn destination(&mut self, operand: &Operand<'t>, file: File) -> Result<Slot, Reject> {
        match operand {
            Operand::Name(Name { text, negated: false, offset: 0 }) => self.destination_name(text, file),
            Operand::Element(vector, number) => self.fit(self.element(vector, *number)?, file),
            _ => unsupported("the destination is not a register"),
        }
    }

    /// Returns an element of a vector register.
    ///
    /// # Errors
    /// [`Reject`] if there is no such element.
    pub fn element(&self, vector: &str, number: u8) -> Result<Register, Reject> {
        self.names.element(vector, number).ok_or_else(|| self.unknown_name(vector, "a vector register").into())
    }

    /// Returns the row of a destination register in a file, by name; a value for `_` is discarded.
    ///
    /// # Errors
    /// As [`Decoder::destination`].
    pub fn destination_name(&mut self, name: &str, file: File) -> Result<Slot, Reject> {
        if name == "_" {
            return Ok(NO_SLOT);
        }
        match self.names.find(name) {
            Some(Named::Register(register)) => self.fit(register, file),
            Some(_) => unsupported(format!("`{name}` is not a register")),
            None => Err(self.unknown_name(name, "a register").into()),
        }
    }

    /// Returns the row of a source, and whether it is negated by `!`.
    ///
    /// # Errors
    /// [`Reject`] if the operand cannot be a source of this file.
    pub fn source(&mut self, operand: &Operand<'t>, file: File) -> Result<(Slot, bool), Reject> {
        let wide = matches!(file, File::Long | File::Double);
        let float = matches!(file, File::Single | File::Double) || self.class == Class::Float;
        let slot = match operand {
            Operand::Name(name) => return self.named_source(name, file),
            Operand::Integer(_) if float => return unsupported("an integer constant does not fit here"),
            Operand::Float32(_) | Operand::Float64(_) | Operand::Decimal(_) if self.class == Class::Integer => {
                return unsupported("a floating-point constant does not fit here");
            }
            Operand::Element(vector, number) => self.fit(self.element(vector, *number)?, file)?,
            Operand::Integer(value) => match file {
                File::Pred => self.preset(PresetKey::Pred(*value != 0)),
                File::Half => self.preset(PresetKey::Const32(*value as u32 & 0xffff)),
                _ if wide => self.preset(PresetKey::Const64(*value)),
                _ => self.preset(PresetKey::Const32(*value as u32)),
            },
            Operand::Float32(bits) => match file {
                File::Word | File::Single => self.preset(PresetKey::Const32(*bits)),
                File::Double => self.preset(PresetKey::Const64(f64::from(f32::from_bits(*bits)).to_bits())),
                _ => return unsupported("an f32 constant does not fit here"),
            },
            Operand::Float64(bits) => match file {
                File::Long | File::Double => self.preset(PresetKey::Const64(*bits)),
                File::Single => self.preset(PresetKey::Const32((f64::from_bits(*bits) as f32).to_bits())),
                _ => return unsupported("an f64 constant does not fit here"),
            },
            Operand::Decimal(value) => match file {
                File::Double | File::Long => self.preset(PresetKey::Const64(value.to_bits())),
                File::Single => self.preset(PresetKey::Const32((*value as f32).to_bits())),
                File::Word if self.class == Class::Float => self.preset(PresetKey::Const32((*value as f32).to_bits())),
                _ => return unsupported("a decimal constant does not fit here"),
            },
            _ => return unsupported("has an unsupported form of operand"),
        };
        Ok((slot, false))
    }

    fn named_source(&mut self, name: &Name<'t>, file: File) -> Result<(Slot, bool), Reject> {
        if name.negated && file != File::Pred {
            return unsupported("`!` precedes an operand that is not a predicate");
        }
        if let Some(Named::Register(register)) = self.names.find(name.text) {
            if name.offset != 0 {
                return unsupported("a register with an offset is not an operand");
            }
            return Ok((self.fit(register, file)?, name.negated));
        }
        if let Some((symbol, _)) = self.symbol(name.text) {
            let wide = match file {
                File::Long => true,
                File::Word => false,
                _ => return unsupported("an address does not fit here"),
            };
            return Ok((self.address_of(symbol, name.offset, wide), false));
        }
        if !self.takes_special && isa::register(name.text).is_some() {
            return unsupported(format!("`{}` is a special register, which only `mov` reads", name.text));
        }
        self.needs(of_register(name.text), &format!("`{}` ", name.text))?;
        match (isa::register(name.text), file) {
            (Some(isa::Register::Constant(special) | isa::Register::Constant64(special)), File::Word) => {
                Ok((self.preset(PresetKey::Special32(special)), false))
            }
            (Some(isa::Register::Constant(special) | isa::Register::Constant64(special)), File::Long) => {
                Ok((self.preset(PresetKey::Special64(special)), false))
            }
            (Some(isa::Register::Constant(special)), File::Pred) => {
                Ok((self.preset(PresetKey::SpecialPred(special)), name.negated))
            }
            (Some(_), _) => unsupported(format!("`{}` can't be read here", name.text)),
            (None, _) if name.text.starts_with('%') && is_special(name.text) => {
                unsupported(format!("the special register `{}` is not known", name.text))
            }
            (None, _) => Err(self.unknown_name(name.text, "a register, a constant or a symbol").into()),
        }
    }

    /// Returns the address that the name of a variable, parameter or function stands for, and its space.
    pub fn symbol(&self, name: &str) -> Option<(Symbol, Space)> {
        let symbol = match self.names.find(name) {
            Some(Named::Register(_) | Named::Vector(..)) => return None,
            Some(Named::Frame { offset, space, .. }) => return Some((Symbol::Frame(offset), space)),
            Some(Named::KernelParam(offset)) => return Some((Symbol::KernelParam(offset), Space::Param)),
            Some(Named::Variable(index)) => Symbol::Variable(index),
            None => self.context.symbol(name)?,
        };
        let space = match symbol {
            Symbol::Variable(index) => self.context.program.variables[index as usize].space,
            _ => Space::Generic,
        };
        Some((symbol, space))
    }

    /// Returns the row that holds an address.
    pub fn address_of(&mut self, symbol: Symbol, addend: i64, wide: bool) -> Slot {
        let (kind, number) = match symbol {
            Symbol::Variable(index) => (0, u64::from(index)),
            Symbol::Function(index) => (1, u64::from(index)),
            Symbol::KernelParam(offset) => (2, offset),
            Symbol::Frame(offset) => (3, offset),
        };
        self.preset(PresetKey::Address(kind, number, addend, wide))
    }

    /// Returns the row that holds a value on entry; equal values share a row.
    pub fn preset(&mut self, key: PresetKey) -> Slot {
        if let Some(&slot) = self.preset_slots.get(&key) {
            return slot;
        }
        let rows = &mut self.names.rows;
        let file = match key {
            PresetKey::Pred(_) | PresetKey::SpecialPred(_) => &mut rows.pred,
            PresetKey::Const32(_) | PresetKey::Special32(_) | PresetKey::Address(.., false) => &mut rows.w32,
            PresetKey::Const64(_) | PresetKey::Special64(_) | PresetKey::Address(.., true) => &mut rows.w64,
        };
        let slot = *file;
        *file += 1;
        let symbol = |kind, number| match kind {
            0 => Symbol::Variable(number as u32),
            1 => Symbol::Function(number as u32),
            2 => Symbol::KernelParam(number),
            _ => Symbol::Frame(number),
        };
        self.preset.push(match key {
            PresetKey::Pred(value) => Preset::ConstPred(slot, value),
            PresetKey::Const32(value) => Preset::Const32(slot, value),
            PresetKey::Const64(value) => Preset::Const64(slot, value),
            PresetKey::Special32(special) => Preset::Special32(slot, special),
            PresetKey::SpecialPred(special) => Preset::SpecialPred(slot, special),
            PresetKey::Special64(special) => Preset::Special64(slot, special),
            PresetKey::Address(kind, number, addend, true) => Preset::Address64(slot, symbol(kind, number), addend),
            PresetKey::Address(kind, number, addend, false) => Preset::Address32(slot, symbol(kind, number), addend),
        });
        self.preset_slots.insert(key, slot);
        slot
    }

    /// Decodes `[base+offset]`; also returns the state space of the symbol that it names.
    ///
    /// # Errors
    /// [`Reject`] if the operand is not an address.
    pub fn address(&mut self, operand: &Operand<'t>) -> Result<(Address, Option<Space>), Reject> {
        let (base, offset) = match operand {
            Operand::Address(base, offset) => (base, offset),
            // An element of an array, `array[2]`.
            Operand::Name(Name { text, negated: false, offset }) if *offset != 0 && self.symbol(text).is_some() => {
                (&Some(*text), offset)
            }
            _ => return unsupported("needs an address in brackets"),
        };
        let (offset, Some(name)) = (*offset, base) else {
            let base = self.preset(PresetKey::Const64(*offset as u64));
            return Ok((Address { base, narrow: false, offset: 0 }, None));
        };
        if let Some(Named::Register(register)) = self.names.find(name) {
            return match register.bits {
                32 => Ok((Address { base: register.slot, narrow: true, offset }, None)),
                64 => Ok((Address { base: register.slot, narrow: false, offset }, None)),
                bits => unsupported(format!("a register of {bits} bits is not an address")),
            };
        }
        match self.symbol(name) {
            Some((symbol, space)) => {
                let base = self.address_of(symbol, 0, true);
                Ok((Address { base, narrow: false, offset }, Some(space)))
            }
            None => Err(self.unknown_name(name, "a register or a variable").into()),
        }
    }

    /// Returns the first of two adjacent rows of a 128-bit register.
    ///
    /// # Errors
    /// [`Reject`] if the operand is not such a register.
    pub fn quad(&mut self, operand: &Operand<'t>) -> Result<Slot, Reject> {
        match operand {
            Operand::Name(name) => match self.names.find(name.text) {
                Some(Named::Register(Register { bits: 128, slot, .. })) => Ok(slot),
                Some(_) => unsupported("needs a register of 128 bits"),
                None => Err(self.unknown_name(name.text, "a register").into()),
            },
            Operand::Element(vector, number) => match self.element(vector, *number)? {
                Register { bits: 128, slot, .. } => Ok(slot),
                _ => unsupported("needs a register of 128 bits"),
            },
            _ => unsupported("needs a register of 128 bits"),
        }
    }

    /// Returns a register's row if its width fits the file's values.
    fn fit(&self, register: Register, file: File) -> Result<Slot, Reject> {
        let fits = match file {
            File::Pred => register.bits == 1,
            File::Half => matches!(register.bits, 8 | 16),
            File::Word | File::Single => register.bits == 32,
            File::Long | File::Double => register.bits == 64,
        };
        if !self.class.takes(register.class) {
            unsupported("a register of this type does not fit here")
        } else if fits {
            Ok(register.slot)
        } else {
            unsupported(format!("a register of {} bits does not fit here", register.bits))
        }
    }

    /// Returns the width of the register that an operand names; 0 if it does not name one.
    pub fn register_bits(&self, operand: &Operand<'_>) -> u8 {
        match operand {
            Operand::Name(name) => match self.names.find(name.text) {
                Some(Named::Register(register)) => register.bits,
                _ => 0,
            },
            Operand::Element(vector, number) => self.names.element(vector, *number).map_or(0, |register| register.bits),
            _ => 0,
        }
    }
}

/// Whether a name is a special register of the PTX ISA that is not implemented.
fn is_special(name: &str) -> bool {
    name.starts_with("%pm")
}
