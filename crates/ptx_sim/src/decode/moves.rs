//! Decoding of `mov`, whose meaning depends on its operands, and of `cvt`, whose row depends on its registers' widths.

use super::conversions;
use super::decoder::{Decoder, Effect, PresetKey};
use super::reject::{Reject, unsupported};
use crate::isa::facts::{Fidelity, Latency, Undefined, Work, facts};
use crate::isa::instructions::find;
use crate::isa::table::Row;
use crate::isa::targets::of_register;
use crate::isa::{self, File};
use crate::program::Op;
use crate::registers::{Args, NO_SLOT, SOURCES};
use crate::syntax::ParseError;
use crate::syntax::tree::Operand;

/// Rows of this chapter.
pub const ROWS: &[Effect] = &[Effect {
    // These are the facts of the only `mov` without a row in `isa`: the read of a timer.
    name: "mov",
    facts: facts(
        Undefined::Any,
        Work::None,
        Latency::Alu,
        Fidelity::Unspecified("counts the warp instructions of one host thread, not time"),
    ),
    decode: |d, modifiers, operands| d.mov(modifiers, operands),
}];

impl<'t> Decoder<'_, 't> {
    /// Decodes `mov`: a copy, an address, a timer, packing or unpacking.
    fn mov(&mut self, modifiers: &[&str], operands: &[Operand<'t>]) -> Result<Op, Reject> {
        let [to, from] = operands else { return unsupported("needs two operands") };
        let kind = match *modifiers {
            [kind] => kind,
            [lanes @ ("v2" | "v4"), kind] | [kind, lanes @ ("v2" | "v4")] => {
                return self.mov_vector(lanes, kind, to, from);
            }
            _ => return unsupported("this type is not supported"),
        };
        let bits = crate::syntax::type_bytes(kind).map_or(0, |bytes| bytes * 8);
        if let Operand::Vector(span) = to {
            let (body, name) = (self.body, format!("unpack.b{bits}.{}", span.len()));
            let Some(row) = find(&name) else { return unsupported("this form of unpacking is not supported") };
            self.parts(bits, body.get(span))?;
            let mut args = Args { d: [NO_SLOT; 4], ..Args::default() };
            for ((place, element), &file) in args.d.iter_mut().zip(body.get(span)).zip(row.meaning.d) {
                *place = self.destination(element, file)?;
            }
            let slot = if bits == 128 { self.quad(from)? } else { self.source(from, row.meaning.s[0])?.0 };
            args.s[0] = slot;
            if bits == 128 {
                args.s[1] = slot + 1;
            }
            self.describe(row);
            return Ok(Op::Pure(row.meaning.run, args));
        }
        if let Operand::Vector(span) = from {
            let (body, name) = (self.body, format!("pack.b{bits}.{}", span.len()));
            let Some(row) = find(&name) else { return unsupported("this form of packing is not supported") };
            self.parts(bits, body.get(span))?;
            let mut args = Args { d: [NO_SLOT; 4], ..Args::default() };
            for ((place, element), &file) in args.s.iter_mut().zip(body.get(span)).zip(row.meaning.s) {
                *place = self.source(element, file)?.0;
            }
            if bits == 128 {
                args.d[0] = self.quad(to)?;
                args.d[1] = args.d[0] + 1;
            } else {
                args.d[0] = self.destination(to, row.meaning.d[0])?;
            }
            self.describe(row);
            return Ok(Op::Pure(row.meaning.run, args));
        }
        if bits == 128 {
            let (d, s) = (self.quad(to)?, self.quad(from)?);
            let Some(row) = find("pack.b128.2") else { return unsupported("is not known") };
            self.describe(row);
            return Ok(Op::Pure(
                row.meaning.run,
                Args { d: [d, d + 1, 0, 0], s: [s, s + 1, 0, 0, 0], ..Args::default() },
            ));
        }
        let Some(row) = find(&format!("mov.{kind}")) else { return unsupported("this type is not supported") };
        if row.meaning.s == [File::Half] && self.is_special(from) {
            // The lower half of a special register of 32 bits.
            let Some(row) = find("cvt.u16.u32") else { return unsupported("is not known") };
            return self.row(row, operands);
        }
        if let Operand::Name(name) = from
            && let Some(isa::Register::Timer(timer, wide)) = isa::register(name.text)
            && self.names.find(name.text).is_none()
        {
            let file = if wide { File::Long } else { File::Word };
            return Ok(Op::ReadTimer { timer, destination: self.destination(to, file)?, wide });
        }
        self.row(row, operands)
    }

    /// Checks that the registers of a vector share the bits of a whole.
    ///
    /// # Errors
    /// [`Reject`] if one of them is wider or narrower than its part.
    fn parts(&self, bits: u64, elements: &[Operand<'t>]) -> Result<(), Reject> {
        let part = bits / elements.len() as u64;
        match elements.iter().map(|element| u64::from(self.register_bits(element))).find(|&of| of != 0 && of != part) {
            Some(wrong) => unsupported(format!("a register of {wrong} bits does not fit here")),
            None => Ok(()),
        }
    }

    /// Decodes `mov.v2` and `mov.v4`, whose source may be a special register with elements, such as `%tid`.
    fn mov_vector(&mut self, lanes: &str, kind: &str, to: &Operand<'t>, from: &Operand<'t>) -> Result<Op, Reject> {
        let Some(row) = find(&format!("mov.{lanes}.{kind}")) else { return unsupported("this type is not supported") };
        let body = self.body;
        let Operand::Vector(to) = to else { return unsupported("needs a vector of registers") };
        let mut args = Args { d: [NO_SLOT; 4], ..Args::default() };
        if body.get(to).len() != row.meaning.d.len() {
            return unsupported(format!("needs vectors of {} elements", row.meaning.d.len()));
        }
        for ((place, element), &file) in args.d.iter_mut().zip(body.get(to)).zip(row.meaning.d) {
            *place = self.destination(element, file)?;
        }
        match from {
            Operand::Vector(from) if body.get(from).len() == row.meaning.s.len() => {
                for ((place, element), &file) in args.s.iter_mut().zip(body.get(from)).zip(row.meaning.s) {
                    *place = self.source(element, file)?.0;
                }
            }
            Operand::Name(name) if row.meaning.s == [File::Word; 4] && self.names.find(name.text).is_none() => {
                self.needs(of_register(name.text), &format!("`{}` ", name.text))?;
                for (place, axis) in args.s.iter_mut().zip(["x", "y", "z", "w"]) {
                    let Some(isa::Register::Constant(special)) = isa::register(&format!("{}.{axis}", name.text)) else {
                        return unsupported(format!("`{}` has no elements", name.text));
                    };
                    *place = self.preset(PresetKey::Special32(special));
                }
            }
            _ => return unsupported(format!("needs vectors of {} elements", row.meaning.d.len())),
        }
        self.describe(row);
        Ok(Op::Pure(row.meaning.run, args))
    }

    /// Whether an operand is a special register that is constant for a thread.
    fn is_special(&self, operand: &Operand<'t>) -> bool {
        let Operand::Name(name) = operand else { return false };
        self.names.find(name.text).is_none()
            && matches!(isa::register(name.text), Some(isa::Register::Constant(_) | isa::Register::Constant64(_)))
    }

    /// Decodes `cvt.rs`, whose random bits are in a register, and which takes four numbers as a vector.
    fn stochastic(&mut self, row: &'static Row, operands: &[Operand<'t>]) -> Result<Op, Reject> {
        let body = self.body;
        let (numbers, rest) = match operands {
            [to, Operand::Vector(span), random] if row.meaning.s.len() == SOURCES => (body.get(span), [to, random]),
            [to, numbers @ .., random] if row.meaning.s.len() < SOURCES => (numbers, [to, random]),
            _ => return unsupported("needs a vector of four numbers, and random bits"),
        };
        let [to, random] = rest;
        if self.register_bits(random) != 32 {
            return unsupported("needs random bits in a register of 32 bits");
        }
        let operands: Vec<Operand<'t>> = [to].into_iter().chain(numbers).chain([random]).cloned().collect();
        self.row(row, &operands)
    }

    /// Decodes `cvt`: the table's rows assume registers as wide as the types, but registers may be wider.
    ///
    /// # Errors
    /// [`Reject`] if the table has no such conversion, or the operands do not fit.
    pub fn cvt(&mut self, opcode: &str, operands: &[Operand<'t>]) -> Result<Op, Reject> {
        if conversions::exists(opcode) == Some(false) {
            let expected = "a conversion with the rounding, `.ftz` and `.sat` that its types can have";
            return Err(ParseError::on_line(self.line, format!("`{opcode}`"), expected).into());
        }
        if let Some(row) = find(opcode) {
            if matches!(row.facts.undefined, Undefined::Rounded(_)) {
                return self.stochastic(row, operands);
            }
            if let Ok(op) = self.row(row, operands) {
                return Ok(op);
            }
        } else if find(&format!("{opcode}.r32.r32")).is_none() {
            return unsupported("this conversion is not supported");
        }
        let [to, from, ..] = operands else { return unsupported("needs two operands") };
        let from_bits = match (self.register_bits(from), opcode.rsplit('.').next()) {
            _ if self.is_special(from) => 32,
            // A constant has the width of its type.
            (0, Some("u8" | "s8" | "u16" | "s16" | "f16" | "bf16")) => 16,
            (0, Some("u64" | "s64" | "f64")) => 64,
            (0, _) => 32,
            (bits, _) => bits,
        };
        let name = format!("{opcode}.r{}.r{from_bits}", self.register_bits(to));
        match find(&name) {
            Some(row) => self.row(row, operands),
            None => match find(opcode) {
                Some(row) => self.row(row, operands),
                None => unsupported("this conversion is not supported for registers of this size"),
            },
        }
    }
}
