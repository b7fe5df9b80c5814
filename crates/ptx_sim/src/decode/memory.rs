//! Loads, stores, atomics, fences, address conversions.

use super::function::Decoder;
use super::{Reject, unsupported};
use crate::isa::File;
use crate::isa::memory::{Modifiers, combine, fence, modifiers, space};
use crate::program::{Access, Atomic, Op, Order, Scope, Space};
use crate::registers::{NO_SLOT, Slot};
use crate::syntax::tree::Operand;

impl<'t> Decoder<'_, 't> {
    pub fn load(&mut self, opcode: &str, operands: &[Operand<'t>]) -> Result<Op, Reject> {
        let used_bytes = self.used_bytes.take().unwrap_or(u64::MAX);
        let [registers, address] = operands else { return unsupported("needs a register and an address") };
        let mut access = self.access(opcode, registers, address, true)?;
        access.used_bytes = used_bytes;
        Ok(Op::Load(access))
    }

    pub fn store(&mut self, opcode: &str, operands: &[Operand<'t>]) -> Result<Op, Reject> {
        let [address, registers] = operands else { return unsupported("needs an address and a register") };
        Ok(Op::Store(self.access(opcode, registers, address, false)?))
    }

    fn access(
        &mut self,
        opcode: &str,
        registers: &Operand<'t>,
        address: &Operand<'t>,
        load: bool,
    ) -> Result<Access, Reject> {
        let Some(modifiers) = modifiers(opcode) else { return unsupported("has a modifier that is not known") };
        if !modifiers.operation.is_empty() {
            return unsupported("has a modifier that is not known");
        }
        let bytes = crate::syntax::type_bytes(modifiers.kind).unwrap_or(4) as u8;
        let (address, named) = self.address(address)?;
        let body = self.body;
        let elements = match registers {
            Operand::Vector(span) => body.get(span),
            one => std::slice::from_ref(one),
        };
        if elements.len() != usize::from(modifiers.lanes) {
            return unsupported(format!("has {} registers where {} belong", elements.len(), modifiers.lanes));
        }
        let (registers, bits) = self.data(elements, bytes, load)?;
        let signed = load && modifiers.kind.starts_with('s') && bits > u32::from(bytes) * 8;
        Ok(Access {
            space: self.space(&modifiers, named),
            order: modifiers.order,
            scope: scope(&modifiers),
            bytes,
            wide: bits >= 64,
            sign_extend: if signed { bits as u8 } else { 0 },
            registers,
            address,
            non_coherent: modifiers.non_coherent,
            used_bytes: u64::MAX,
        })
    }

    /// Rows of the data, and the width of its registers, which may exceed that of the elements.
    fn data(&mut self, elements: &[Operand<'t>], bytes: u8, load: bool) -> Result<(Vec<Slot>, u32), Reject> {
        let natural = u32::from(bytes) * 8;
        let register = elements.iter().map(|e| u32::from(self.register_bits(e))).find(|&bits| bits != 0);
        let bits = register.unwrap_or(natural).max(8);
        if bits < natural {
            return unsupported(format!("a register of {bits} bits is too small"));
        }
        let mut slots = Vec::with_capacity(elements.len());
        for element in elements {
            let slot = match (element, bits) {
                (Operand::Name(name), _) if load && name.text == "_" => NO_SLOT,
                (element, 128) => self.quad(element)?,
                (element, bits) => {
                    let file = match bits {
                        64 => File::Long,
                        32 => File::Word,
                        _ => File::Half,
                    };
                    if load { self.destination(element, file)? } else { self.source(element, file)?.0 }
                }
            };
            slots.push(slot);
        }
        Ok((slots, bits))
    }

    /// `.param` is the kernel's parameters in an entry, unless a local `.param` variable is named.
    fn space(&self, modifiers: &Modifiers<'_>, named: Option<Space>) -> Space {
        match (modifiers.space, named) {
            (Space::Param, Some(Space::Frame)) => Space::Frame,
            (Space::Param, None) if !self.entry => Space::Frame,
            (space, _) => space,
        }
    }

    pub fn atomic(&mut self, opcode: &str, operands: &[Operand<'t>]) -> Result<Op, Reject> {
        let Some(modifiers) = modifiers(opcode) else { return unsupported("has a modifier that is not known") };
        let Some(combine) = combine(modifiers.operation, modifiers.kind).filter(|_| modifiers.lanes == 1) else {
            return unsupported("this atomic is not known");
        };
        let bytes = crate::syntax::type_bytes(modifiers.kind).unwrap_or(4) as u8;
        let file = match (bytes, modifiers.kind) {
            (2, _) => File::Half,
            (4, "f32") => File::Single,
            (4, _) => File::Word,
            (8, "f64") => File::Double,
            _ => File::Long,
        };
        let (destination, operands) = match operands {
            [d, rest @ ..] if opcode.starts_with("atom") => (Some(self.destination(d, file)?), rest),
            rest => (None, rest),
        };
        let (address, b, c) = match (operands, modifiers.operation) {
            ([address, b, c], "cas") => (address, b, c),
            ([address, b], operation) if operation != "cas" => (address, b, b),
            _ => return unsupported("has the wrong number of operands"),
        };
        let (address, named) = self.address(address)?;
        let order = if modifiers.order == Order::Weak { Order::Relaxed } else { modifiers.order };
        Ok(Op::Atomic(Atomic {
            space: self.space(&modifiers, named),
            order,
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

    pub fn fence(&mut self, opcode: &str) -> Result<Op, Reject> {
        match fence(opcode) {
            Some((order, scope)) => Ok(Op::Fence(order, scope)),
            // Orders accesses through different mappings of the same memory, of which there are none.
            None if opcode == "fence.proxy.alias" => Ok(Op::Nothing),
            None => unsupported("this fence is not known"),
        }
    }

    pub fn cvta(&mut self, opcode: &str, operands: &[Operand<'t>]) -> Result<Op, Reject> {
        let words: Vec<&str> = opcode.split('.').collect();
        let (name, from_generic) = match words.as_slice() {
            ["cvta", "to", name, "u64"] => (name, true),
            ["cvta", name, "u64"] => (name, false),
            _ => return unsupported("this address conversion is not known"),
        };
        let (Some(space), [d, a]) = (space(name), operands) else {
            return unsupported("this address conversion is not known");
        };
        let source = self.source(a, File::Long)?.0;
        let destination = self.destination(d, File::Long)?;
        let space = if space == Space::Param && !self.entry { Space::Frame } else { space };
        Ok(Op::ConvertAddress { space, from_generic, destination, source })
    }

    pub fn isspacep(&mut self, opcode: &str, operands: &[Operand<'t>]) -> Result<Op, Reject> {
        let (Some(space), [d, a]) = (opcode.strip_prefix("isspacep.").and_then(space), operands) else {
            return unsupported("this space is not known");
        };
        let source = self.source(a, File::Long)?.0;
        Ok(Op::IsSpace { space, destination: self.destination(d, File::Pred)?, source })
    }
}

/// Volatile and mmio accesses are ordered for the whole system; others name their scope.
fn scope(modifiers: &Modifiers<'_>) -> Scope {
    modifiers.scope.unwrap_or(Scope::Sys)
}
