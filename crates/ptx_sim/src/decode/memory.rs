//! Loads, stores, atomics, fences and address conversions.

use super::decoder::{Decoder, Effect};
use super::reject::{Reject, unsupported};
use crate::isa::File;
use crate::isa::facts::{Facts, Fidelity, Latency, Undefined, Work, facts};
use crate::isa::instructions;
use crate::isa::memory::{AtomicOperation, Modifiers, combine, fence, membar, modifiers, space};
use crate::program::{Access, Address, Async, Op, Order, Scope, Space};
use crate::registers::{NO_SLOT, Slot};
use crate::syntax::tree::Operand;

const ACCESS: Facts = facts(Undefined::Any, Work::None, Latency::Memory, Fidelity::Exact);
const UPDATE: Facts = facts(Undefined::Any, Work::None, Latency::Atomic, Fidelity::Exact);
/// Facts of an instruction that orders accesses, converts an address, or is a hint.
const CHEAP: Facts = facts(Undefined::Any, Work::None, Latency::Alu, Fidelity::Exact);

/// Rows of this chapter.
pub const ROWS: &[Effect] = &[
    Effect { name: "ld", facts: ACCESS, decode: |d, modifiers, operands| d.load(modifiers, operands) },
    Effect { name: "ldu", facts: ACCESS, decode: |d, modifiers, operands| d.load(modifiers, operands) },
    Effect { name: "st", facts: ACCESS, decode: |d, modifiers, operands| d.store(modifiers, operands) },
    Effect { name: "atom", facts: UPDATE, decode: |d, modifiers, operands| d.atomic(true, modifiers, operands) },
    Effect { name: "red", facts: UPDATE, decode: |d, modifiers, operands| d.atomic(false, modifiers, operands) },
    // The memory of several devices at one address, of which there is one: the reduction has one operand.
    Effect {
        name: "multimem.ld_reduce",
        facts: ACCESS,
        decode: |d, modifiers, operands| d.load_reduced(modifiers, operands),
    },
    Effect { name: "multimem.st", facts: ACCESS, decode: |d, words, operands| d.store(&as_bits(words), operands) },
    Effect {
        name: "multimem.red",
        facts: UPDATE,
        decode: |d, modifiers, operands| d.atomic(false, modifiers, operands),
    },
    Effect { name: "discard", facts: ACCESS, decode: |d, modifiers, operands| d.discard(modifiers, operands) },
    Effect { name: "fence", facts: CHEAP, decode: |_, modifiers, _| ordered(fence(modifiers)) },
    Effect { name: "membar", facts: CHEAP, decode: |_, modifiers, _| ordered(membar(modifiers)) },
    Effect { name: "fence.proxy", facts: CHEAP, decode: |_, modifiers, _| Ok(proxy_fence(modifiers)) },
    Effect {
        name: "fence.mbarrier_init.release.cluster",
        facts: CHEAP,
        decode: |_, _, _| Ok(Op::Fence(Order::Release, Scope::Cluster)),
    },
    Effect { name: "cvta", facts: CHEAP, decode: |d, modifiers, operands| d.cvta(modifiers, operands) },
    Effect { name: "isspacep", facts: CHEAP, decode: |d, modifiers, operands| d.isspacep(modifiers, operands) },
    Effect { name: "createpolicy", facts: CHEAP, decode: |d, _, operands| d.create_policy(operands) },
    // Hints about caches.
    Effect { name: "prefetch", facts: CHEAP, decode: |_, _, _| Ok(Op::Nothing) },
    Effect { name: "prefetchu", facts: CHEAP, decode: |_, _, _| Ok(Op::Nothing) },
    Effect { name: "applypriority", facts: CHEAP, decode: |_, _, _| Ok(Op::Nothing) },
];

impl<'t> Decoder<'_, 't> {
    fn load(&mut self, words: &[&str], operands: &[Operand<'t>]) -> Result<Op, Reject> {
        let used_bytes = self.used_bytes.take().unwrap_or(u64::MAX);
        let [registers, address] = without_hint(words, operands) else {
            return unsupported("needs a register and an address");
        };
        let mut access = self.access(words, registers, address, true)?;
        access.used_bytes = used_bytes;
        Ok(Op::Load(access))
    }

    /// Decodes `multimem.ld_reduce`.
    fn load_reduced(&mut self, words: &[&str], operands: &[Operand<'t>]) -> Result<Op, Reject> {
        let operations = ["add", "min", "max", "and", "or", "xor"];
        let (reduction, rest): (Vec<&str>, Vec<&str>) = words.iter().partition(|word| operations.contains(word));
        let kind = rest.iter().copied().find(|word| crate::syntax::type_bytes(word).is_some()).unwrap_or_default();
        let known = |name: &str| AtomicOperation::named(name).and_then(|operation| combine(operation, kind)).is_some();
        let [name] = reduction[..] else { return unsupported("needs one operation") };
        if !known(name) || !rest.contains(&"global") {
            return unsupported("this reduction is not supported");
        }
        // The precision of sums of several operands.
        let rest: Vec<&str> = rest.into_iter().filter(|word| !matches!(*word, "acc::f32" | "acc::f16")).collect();
        self.load(&as_bits(&rest), operands)
    }

    fn store(&mut self, words: &[&str], operands: &[Operand<'t>]) -> Result<Op, Reject> {
        let [address, registers] = without_hint(words, operands) else {
            return unsupported("needs an address and a register");
        };
        Ok(Op::Store(self.access(words, registers, address, false)?))
    }

    fn access(
        &mut self,
        words: &[&str],
        registers: &Operand<'t>,
        address: &Operand<'t>,
        load: bool,
    ) -> Result<Access, Reject> {
        let Some(modifiers) = modifiers(words) else { return unsupported("has an unknown modifier") };
        if modifiers.operation.is_some() {
            return unsupported("has an unknown modifier");
        }
        let bytes = crate::syntax::type_bytes(modifiers.kind).unwrap_or(4) as u8;
        let (address, named) = self.address(address)?;
        allowed(&modifiers, named, load)?;
        let body = self.body;
        let elements = match registers {
            Operand::Vector(span) => body.get(span),
            one => std::slice::from_ref(one),
        };
        if elements.len() != usize::from(modifiers.lanes) {
            return unsupported(format!("has {} registers, but takes {}", elements.len(), modifiers.lanes));
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

    /// Returns the rows of the data, and the width of its registers, which may exceed that of the elements.
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

    /// Resolves `.param`: the kernel's parameters in an entry, or the frame if a local `.param` variable is named; and
    /// generic accesses to variables by their names.
    pub fn space(&self, modifiers: &Modifiers<'_>, named: Option<Space>) -> Space {
        match (modifiers.space, named) {
            (Space::Param, Some(Space::Frame)) => Space::Frame,
            (Space::Param, None) if !self.entry => Space::Frame,
            // ptxas takes a generic access to a named variable for an access to the variable's own space.
            (Space::Generic, Some(named @ (Space::Global | Space::Const | Space::Shared | Space::Local))) => named,
            (space, _) => space,
        }
    }

    /// Decodes `discard{.global}.L2 [a], 128`: PTX has no other level, size or state space.
    ///
    /// # Errors
    /// [`Reject`] for any other form, and for an address of 32 bits or without a name, as ptxas does.
    fn discard(&mut self, words: &[&str], operands: &[Operand<'t>]) -> Result<Op, Reject> {
        if !matches!(words, ["L2"] | ["global", "L2"] | ["L2", "global"]) {
            return unsupported("needs the level `.L2`, and no state space other than `.global`");
        }
        let [place @ Operand::Address(Some(_), _), Operand::Integer(bytes @ 128)] = operands else {
            return unsupported("needs an address of a register or a variable, and the size 128");
        };
        match self.address(place)? {
            (address @ Address { narrow: false, .. }, None | Some(Space::Global)) => {
                Ok(Op::Discard { address, bytes: *bytes as u32 })
            }
            (Address { narrow: true, .. }, _) => unsupported("needs an address of 64 bits"),
            _ => unsupported("needs an address in global memory"),
        }
    }

    /// Decodes `createpolicy`: its result is an opaque value that is used only as a cache hint.
    ///
    /// # Errors
    /// [`Reject`] if there is no destination.
    fn create_policy(&mut self, operands: &[Operand<'t>]) -> Result<Op, Reject> {
        let [d, ..] = operands else { return unsupported("needs a destination") };
        let Some(row) = instructions::find("mov.b64") else { return unsupported("is not known") };
        self.row(row, &[d.clone(), Operand::Integer(0)])
    }

    fn cvta(&mut self, words: &[&str], operands: &[Operand<'t>]) -> Result<Op, Reject> {
        let (name, from_generic) = match *words {
            ["to", name, "u64"] => (name, true),
            [name, "u64"] | ["u64", name] => (name, false),
            _ => return unsupported("this address conversion is not supported"),
        };
        let (Some(space), [d, a]) = (space(name), operands) else {
            return unsupported("this address conversion is not supported");
        };
        let source = self.source(a, File::Long)?.0;
        let destination = self.destination(d, File::Long)?;
        let space = if space == Space::Param && !self.entry { Space::Frame } else { space };
        Ok(Op::ConvertAddress { space, from_generic, destination, source })
    }

    fn isspacep(&mut self, words: &[&str], operands: &[Operand<'t>]) -> Result<Op, Reject> {
        let ([name], [d, a]) = (words, operands) else { return unsupported("this space is not supported") };
        let Some(space) = space(name) else { return unsupported("this space is not supported") };
        let source = self.source(a, File::Long)?.0;
        Ok(Op::IsSpace { space, destination: self.destination(d, File::Pred)?, source })
    }
}

/// Checks what ptxas does of the modifiers of a load or a store; `named` is the space of the variable that it names.
///
/// # Errors
/// [`Reject`] for a space, an order or a type that the instruction does not have.
fn allowed(modifiers: &Modifiers<'_>, named: Option<Space>, load: bool) -> Result<(), Reject> {
    let is_memory = |space| matches!(space, Space::Global | Space::Const | Space::Shared | Space::Local);
    if named.is_some_and(|named| is_memory(named) && modifiers.space != Space::Generic && modifiers.space != named) {
        return unsupported("names a variable of another state space");
    }
    if modifiers.space == Space::Generic && matches!(named, Some(Space::Param | Space::Frame)) {
        return unsupported("needs `.param` for a parameter");
    }
    if !load && modifiers.space == Space::Const {
        return unsupported("stores to constant memory");
    }
    if modifiers.non_coherent && modifiers.space != Space::Global {
        return unsupported("reads by `.nc` what is not global memory");
    }
    match modifiers.order {
        Order::Acquire if !load => return unsupported("is a store with `.acquire`"),
        Order::Release if load => return unsupported("is a load with `.release`"),
        Order::Relaxed | Order::Acquire | Order::Release if modifiers.scope.is_none() => {
            return unsupported("has an order without a scope");
        }
        _ => {}
    }
    if matches!(modifiers.kind, "f16" | "bf16" | "f16x2" | "bf16x2") {
        return unsupported("has a type that only arithmetic has");
    }
    Ok(())
}

/// The words of an access with the bits of half-precision types, which only accesses of multimem have.
fn as_bits<'w>(words: &[&'w str]) -> Vec<&'w str> {
    let bits = |word: &&'w str| match *word {
        "f16" | "bf16" => "b16",
        "f16x2" | "bf16x2" => "b32",
        word => word,
    };
    words.iter().map(bits).collect()
}

fn ordered(fence: Option<(Order, Scope)>) -> Result<Op, Reject> {
    match fence {
        Some((order, scope)) => Ok(Op::Fence(order, scope)),
        None => unsupported("this fence is not supported"),
    }
}

/// Orders accesses through different proxies. Only the asynchronous proxy exists here: other proxies, such as different
/// mappings of the same memory, have no accesses that would need an order.
fn proxy_fence(words: &[&str]) -> Op {
    match words {
        // Asynchronous copies take effect when they are waited for and read memory as it is then, so only the race
        // checker needs this event.
        [first, .., "global"] if first.starts_with("async") => Op::Nothing,
        [first, ..] if first.starts_with("async") => Op::Async(Box::new(Async::ProxyFence)),
        _ => Op::Nothing,
    }
}

/// Returns the operands without the cache policy, which changes no value.
pub fn without_hint<'o, 't>(words: &[&str], operands: &'o [Operand<'t>]) -> &'o [Operand<'t>] {
    match operands {
        [rest @ .., _] if words.contains(&"L2::cache_hint") => rest,
        all => all,
    }
}

/// Returns the scope: the whole system for volatile and mmio accesses, otherwise the one that is named.
fn scope(modifiers: &Modifiers<'_>) -> Scope {
    modifiers.scope.unwrap_or(Scope::Sys)
}
