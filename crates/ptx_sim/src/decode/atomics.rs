//! Read-modify-writes: `atom` and `red`.

use super::decoder::Decoder;
use super::memory::without_hint;
use super::reject::{Reject, unsupported};
use crate::isa::File;
use crate::isa::memory::{AtomicOperation, Modifiers, combine, modifiers};
use crate::program::{Address, Atomic, Op, Order, Scope};
use crate::syntax::tree::Operand;

impl<'t> Decoder<'_, 't> {
    /// Decodes `atom`, which `returns` the old value, and `red`.
    ///
    /// # Errors
    /// [`Reject`] for an operation or a type that the instruction does not have.
    pub fn atomic(&mut self, returns: bool, words: &[&str], operands: &[Operand<'t>]) -> Result<Op, Reject> {
        let Some(modifiers) = modifiers(words) else { return unsupported("has an unknown modifier") };
        let Some(operation) = modifiers.operation else { return unsupported("this atomic is not supported") };
        let operands = without_hint(words, operands);
        if !returns && operation == AtomicOperation::Exch
            || (operation, modifiers.kind) == (AtomicOperation::Add, "s64")
        {
            return unsupported("this atomic is not supported");
        }
        if modifiers.kind == "b128" && modifiers.lanes == 1 && returns {
            return self.atomic_wide(&modifiers, operation, operands);
        }
        let Some(combine) = combine(operation, modifiers.kind) else {
            return unsupported("this atomic is not supported");
        };
        if modifiers.lanes != 1 {
            return self.atomic_vector(returns, &modifiers, (operation, combine), operands);
        }
        let bytes = crate::syntax::type_bytes(modifiers.kind).unwrap_or(4) as u8;
        let file = match (bytes, modifiers.kind) {
            (2, _) => File::Half,
            (4, "f32") => File::Single,
            (4, _) => File::Word,
            (8, "f64") => File::Double,
            _ => File::Long,
        };
        let (destination, operands) = match operands {
            [d, rest @ ..] if returns => (Some(self.destination(d, file)?), rest),
            rest => (None, rest),
        };
        let (address, b, c) = match (operands, operation) {
            ([address, b, c], AtomicOperation::Cas) => (address, b, c),
            ([address, b], operation) if operation != AtomicOperation::Cas => (address, b, b),
            _ => return unsupported("has the wrong number of operands"),
        };
        let (address, named) = self.address(address)?;
        let order = if modifiers.order == Order::Weak { Order::Relaxed } else { modifiers.order };
        Ok(Op::Atomic(Atomic {
            operation,
            unsigned: modifiers.kind.starts_with('u'),
            space: self.space(&modifiers, named),
            order,
            order_is_written: modifiers.order != Order::Weak,
            scope: modifiers.scope.unwrap_or(Scope::Gpu),
            bytes,
            wide: bytes == 8,
            destination,
            address,
            b: self.source(b, file)?.0,
            c: self.source(c, file)?.0,
            combine,
        }))
    }

    /// Decodes `atom.v2`, `red.v4` and similar: each element is a separate atomic.
    fn atomic_vector(
        &mut self,
        returns: bool,
        modifiers: &Modifiers<'_>,
        (operation, combine): (AtomicOperation, fn(u64, u64, u64) -> u64),
        operands: &[Operand<'t>],
    ) -> Result<Op, Reject> {
        let body = self.body;
        let elements = |operand: &Operand<'t>| match operand {
            Operand::Vector(span) if body.get(span).len() == usize::from(modifiers.lanes) => Ok(body.get(span)),
            _ => unsupported(format!("needs a vector of {} registers", modifiers.lanes)),
        };
        let (destinations, operands) = match operands {
            [d, rest @ ..] if returns => (Some(elements(d)?), rest),
            rest => (None, rest),
        };
        let [address, sources] = operands else { return unsupported("has the wrong number of operands") };
        let sources = elements(sources)?;
        let (address, named) = self.address(address)?;
        let (bytes, file) = match modifiers.kind {
            "f32" => (4, File::Single),
            "f16x2" | "bf16x2" => (4, File::Word),
            "f16" | "bf16" => (2, File::Half),
            _ => return unsupported("this atomic is not supported"),
        };
        let order = if modifiers.order == Order::Weak { Order::Relaxed } else { modifiers.order };
        let mut parts = Vec::with_capacity(sources.len());
        for (i, source) in sources.iter().enumerate() {
            let b = self.source(source, file)?.0;
            let destination = match destinations {
                Some(list) => Some(self.destination(&list[i], file)?),
                None => None,
            };
            parts.push(Atomic {
                operation,
                unsigned: false,
                space: self.space(modifiers, named),
                order,
                order_is_written: modifiers.order != Order::Weak,
                scope: modifiers.scope.unwrap_or(Scope::Gpu),
                bytes,
                wide: false,
                destination,
                address: Address { offset: address.offset.wrapping_add(i as i64 * i64::from(bytes)), ..address },
                b,
                c: b,
                combine,
            });
        }
        Ok(Op::AtomicVector(parts.into_boxed_slice()))
    }

    /// Decodes `atom.cas.b128 d, [a], b, c` and `atom.exch.b128 d, [a], b`.
    fn atomic_wide(
        &mut self,
        modifiers: &Modifiers<'_>,
        operation: AtomicOperation,
        operands: &[Operand<'t>],
    ) -> Result<Op, Reject> {
        let (d, address, b, c) = match (operands, operation) {
            ([d, address, b, c], AtomicOperation::Cas) => (d, address, b, c),
            ([d, address, b], AtomicOperation::Exch) => (d, address, b, b),
            _ => return unsupported("this atomic is not supported"),
        };
        let destination = match d {
            Operand::Name(name) if name.text == "_" => None,
            d => Some(self.quad(d)?),
        };
        let (address, named) = self.address(address)?;
        let (b, c) = (self.quad(b)?, self.quad(c)?);
        let Some(combine) = combine(operation, "b64") else { return unsupported("this atomic is not supported") };
        let half = |upper: u32| Atomic {
            operation,
            unsigned: false,
            space: self.space(modifiers, named),
            order: if modifiers.order == Order::Weak { Order::Relaxed } else { modifiers.order },
            order_is_written: modifiers.order != Order::Weak,
            scope: modifiers.scope.unwrap_or(Scope::Gpu),
            bytes: 8,
            wide: true,
            destination: destination.map(|slot| slot + upper),
            address,
            b: b + upper,
            c: c + upper,
            combine,
        };
        Ok(Op::AtomicWide(Box::new([half(0), half(1)])))
    }
}
