//! Loads, stores, atomics, fences, address conversions.

use super::function::Decoder;
use super::{Reject, unsupported};
use crate::isa::File;
use crate::isa::memory::{Modifiers, combine, fence, modifiers, space};
use crate::isa::table;
use crate::program::{Access, Address, Async, Atomic, Op, Order, Scope, Space};
use crate::registers::{Args, NO_SLOT, Slot};
use crate::syntax::tree::Operand;

impl<'t> Decoder<'_, 't> {
    pub fn load(&mut self, opcode: &str, operands: &[Operand<'t>]) -> Result<Op, Reject> {
        let used_bytes = self.used_bytes.take().unwrap_or(u64::MAX);
        let [registers, address] = without_hint(opcode, operands) else {
            return unsupported("needs a register and an address");
        };
        let mut access = self.access(opcode, registers, address, true)?;
        access.used_bytes = used_bytes;
        Ok(Op::Load(access))
    }

    pub fn store(&mut self, opcode: &str, operands: &[Operand<'t>]) -> Result<Op, Reject> {
        let [address, registers] = without_hint(opcode, operands) else {
            return unsupported("needs an address and a register");
        };
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
        let Some(combine) = combine(modifiers.operation, modifiers.kind) else {
            return unsupported("this atomic is not known");
        };
        let operands = without_hint(opcode, operands);
        if modifiers.lanes != 1 {
            return self.atomic_vector(opcode, &modifiers, combine, operands);
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

    /// `atom.v2`, `red.v4`: each element is an atomic of its own.
    fn atomic_vector(
        &mut self,
        opcode: &str,
        modifiers: &Modifiers<'_>,
        combine: fn(u64, u64, u64) -> u64,
        operands: &[Operand<'t>],
    ) -> Result<Op, Reject> {
        let body = self.body;
        let elements = |operand: &Operand<'t>| match operand {
            Operand::Vector(span) if body.get(span).len() == usize::from(modifiers.lanes) => Ok(body.get(span)),
            _ => unsupported(format!("needs a vector of {} registers", modifiers.lanes)),
        };
        let (destinations, operands) = match operands {
            [d, rest @ ..] if opcode.starts_with("atom") => (Some(elements(d)?), rest),
            rest => (None, rest),
        };
        let [address, sources] = operands else { return unsupported("has the wrong number of operands") };
        let sources = elements(sources)?;
        let (address, named) = self.address(address)?;
        let (bytes, file) = match modifiers.kind {
            "f32" => (4, File::Single),
            "f16x2" | "bf16x2" => (4, File::Word),
            "f16" | "bf16" => (2, File::Half),
            _ => return unsupported("this atomic is not known"),
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
                space: self.space(modifiers, named),
                order,
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

    /// `createpolicy`: an opaque value that only cache hints take.
    pub fn create_policy(&mut self, operands: &[Operand<'t>]) -> Result<Op, Reject> {
        let [d, ..] = operands else { return unsupported("needs a destination") };
        let Some(row) = table::find("mov.b64") else { return unsupported("is not known") };
        let zero = self.source(&Operand::Integer(0), File::Long)?.0;
        let d = self.destination(d, File::Long)?;
        Ok(Op::Pure(row.meaning.run, Args { d: [d, NO_SLOT, NO_SLOT, NO_SLOT], s: [zero, 0, 0, 0], ..Args::default() }))
    }

    pub fn fence(&mut self, opcode: &str) -> Result<Op, Reject> {
        match fence(opcode) {
            Some((order, scope)) => Ok(Op::Fence(order, scope)),
            // Orders accesses through different mappings of the same memory, of which there are none.
            None if opcode == "fence.proxy.alias" => Ok(Op::Nothing),
            // Asynchronous copies take effect when they are waited for, and see memory as it is then: the race checker
            // listens.
            None if opcode.starts_with("fence.proxy.async") && !opcode.ends_with(".global") => {
                Ok(Op::Async(Box::new(Async::ProxyFence)))
            }
            None if opcode.starts_with("fence.proxy.") => Ok(Op::Nothing),
            None if opcode == "fence.mbarrier_init.release.cluster" => Ok(Op::Fence(Order::Release, Scope::Cluster)),
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

/// The operands but for the cache policy, which changes no value.
fn without_hint<'o, 't>(opcode: &str, operands: &'o [Operand<'t>]) -> &'o [Operand<'t>] {
    match operands {
        [rest @ .., _] if opcode.contains(".L2::cache_hint") => rest,
        all => all,
    }
}

/// Volatile and mmio accesses are ordered for the whole system; others name their scope.
fn scope(modifiers: &Modifiers<'_>) -> Scope {
    modifiers.scope.unwrap_or(Scope::Sys)
}
