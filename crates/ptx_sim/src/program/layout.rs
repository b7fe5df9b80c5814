//! The layout of a kernel's shared memory.

use super::{Callee, Function, Op, Preset, Program, Space, Special, Symbol, Variable};
use std::ops::Range;

/// Shared memory of one kernel: the variables of the kernel and of the functions that it may call.
#[derive(Debug)]
pub struct Layout {
    /// Bytes at the start that the system reserves: cooperative groups keep the state of tiles of several warps there,
    /// and find them by the registers `%reserved_smem_*`. 0 for a kernel that reads no register which shows them.
    pub reserved: u64,
    /// Offset of each variable that is used.
    pub offsets: Vec<Option<u64>>,
    /// Bytes of static shared memory, as limits and registers count it.
    pub static_bytes: u64,
    /// Offset of dynamic shared memory. On a device it lies directly behind the static one; here a gap lies between
    /// them, so that an access past the end of one does not reach the other. A kernel that reads the size of its shared
    /// memory, from which it may compute where that ends, has no gap.
    pub dynamic_start: u64,
    /// End of the last static variable.
    static_end: u64,
}

/// Bytes between static and dynamic shared memory: a multiple of all alignments and of the banks.
const GAP: u64 = 4096;

/// Bytes of shared memory that the system reserves in each block, and those of them that it uses: `%reserved_smem_*` of
/// an H200.
pub const RESERVED: u64 = 1024;
pub const RESERVED_IN_USE: u64 = 288;

impl Layout {
    pub fn of(program: &Program, entry: u32) -> Self {
        let mut offsets = vec![None; program.variables.len()];
        let functions: Vec<&Function> =
            reachable(program, entry).into_iter().filter_map(|index| program.functions.get(index as usize)).collect();
        let reads = |wanted: fn(Special) -> bool| functions.iter().any(|function| reads(function, wanted));
        let reads_size = reads(|special| matches!(special, Special::TotalSmemSize | Special::AggrSmemSize));
        let is_reserved = reads(|special| matches!(special, Special::AggrSmemSize | Special::ReservedSmem(_)));
        let reserved = if is_reserved { RESERVED } else { 0 };
        let mut end = reserved;
        let (mut dynamic_align, mut uses_dynamic) = (1, false);
        for function in functions {
            for index in symbols(function).filter_map(variable) {
                let Some(variable) = program.variables.get(index as usize) else { continue };
                if variable.space != Space::Shared || offsets[index as usize].is_some() {
                    continue;
                }
                if variable.dynamic {
                    (dynamic_align, uses_dynamic) = (dynamic_align.max(variable.align), true);
                    continue;
                }
                let start = end.checked_next_multiple_of(variable.align.max(1)).unwrap_or(u64::MAX);
                offsets[index as usize] = Some(start);
                end = start.saturating_add(variable.size);
            }
        }
        let aligned_end = end.checked_next_multiple_of(dynamic_align).unwrap_or(u64::MAX);
        let gap = if uses_dynamic && end > reserved && !reads_size { GAP } else { 0 };
        let dynamic_start = aligned_end.saturating_add(gap);
        for (offset, variable) in offsets.iter_mut().zip(&program.variables) {
            if variable.dynamic && variable.space == Space::Shared {
                *offset = Some(dynamic_start);
            }
        }
        Self { reserved, offsets, static_bytes: aligned_end - reserved, dynamic_start, static_end: end }
    }

    /// Returns the addresses between static and dynamic shared memory that belong to neither; empty without such a gap.
    pub fn gap(&self) -> Range<u64> {
        if self.dynamic_start > self.reserved + self.static_bytes { self.static_end..self.dynamic_start } else { 0..0 }
    }

    /// Returns the addresses of the bytes that are reserved and not in use.
    pub fn unused(&self) -> Range<u64> {
        RESERVED_IN_USE.min(self.reserved)..self.reserved
    }

    /// The variables of shared memory, with their offsets and sizes.
    fn placed<'p>(&self, program: &'p Program, total: u64) -> impl Iterator<Item = (&'p Variable, u64, u64)> {
        program.variables.iter().zip(&self.offsets).filter_map(move |(variable, offset)| {
            let size = if variable.dynamic { total.saturating_sub((*offset)?) } else { variable.size };
            Some((variable, (*offset)?, size)).filter(|(_, _, size)| *size > 0)
        })
    }

    /// The variable before or at an address.
    fn at_or_before<'p>(&self, program: &'p Program, address: u64, total: u64) -> Option<(&'p Variable, u64, u64)> {
        let before = self.placed(program, total).filter(|(_, offset, _)| *offset <= address);
        before.max_by_key(|(_, offset, _)| *offset)
    }

    /// Returns how far an address of shared memory is from the start of the variable that contains it.
    pub fn offset(&self, program: &Program, address: u64, total: u64) -> Option<u64> {
        let (_, start, size) = self.at_or_before(program, address, total)?;
        Some(address - start).filter(|offset| *offset < size)
    }

    /// Describes an address of shared memory.
    pub fn describe(&self, program: &Program, address: u64, total: u64) -> String {
        if address < RESERVED_IN_USE.min(self.reserved) {
            return format!("at byte {address} of the shared memory that the system reserves");
        }
        let Some((variable, offset, size)) = self.at_or_before(program, address, total) else {
            return match self.placed(program, total).min_by_key(|(_, offset, _)| *offset) {
                Some((first, offset, size)) => {
                    let name = crate::stop::demangled(&first.name);
                    format!("{} bytes before `{name}` ({size} bytes)", offset - address)
                }
                None => format!("the block has {} bytes of shared memory", total - self.reserved),
            };
        };
        let dynamic =
            program.variables.iter().zip(&self.offsets).find(|(other, start)| other.dynamic && start.is_some());
        if let (true, Some((dynamic, _))) = (self.gap().contains(&address), dynamic)
            && self.dynamic_start - address < address - offset - size.min(address - offset)
        {
            let name = crate::stop::demangled(&dynamic.name);
            let bytes = total - self.dynamic_start.min(total);
            return format!("{} bytes before `{name}` ({bytes} bytes)", self.dynamic_start - address);
        }
        let name = crate::stop::demangled(&variable.name);
        match (address - offset).checked_sub(size) {
            None => format!("at byte {} of `{name}` ({size} bytes)", address - offset),
            Some(0) => format!("right after the end of `{name}` ({size} bytes)"),
            Some(over) => format!("{over} bytes past the end of `{name}` ({size} bytes)"),
        }
    }
}

fn variable(symbol: Symbol) -> Option<u32> {
    match symbol {
        Symbol::Variable(index) => Some(index),
        _ => None,
    }
}

/// Whether a function reads such a special register.
fn reads(function: &Function, wanted: fn(Special) -> bool) -> bool {
    use Preset::{Special32, Special64, SpecialPred};
    function.preset.iter().any(|preset| match *preset {
        Special32(_, special) | Special64(_, special) | SpecialPred(_, special) => wanted(special),
        _ => false,
    })
}

fn symbols(function: &Function) -> impl Iterator<Item = Symbol> {
    function.preset.iter().filter_map(|preset| match preset {
        Preset::Address64(_, symbol, _) | Preset::Address32(_, symbol, _) => Some(*symbol),
        _ => None,
    })
}

/// Returns the entry and all functions that it may call. An indirect call may call every function whose address is
/// taken.
pub fn reachable(program: &Program, entry: u32) -> Vec<u32> {
    let mut seen = vec![false; program.functions.len()];
    let mut order = Vec::new();
    let mut todo = vec![entry];
    let mut indirect = false;
    while let Some(index) = todo.pop() {
        let Some(function) = program.functions.get(index as usize) else { continue };
        if std::mem::replace(&mut seen[index as usize], true) {
            continue;
        }
        order.push(index);
        for inst in &function.code {
            match inst.op {
                Op::Call { callee: Callee::Direct(callee), .. } => todo.push(callee),
                Op::Call { callee: Callee::Indirect(_), .. } if !std::mem::replace(&mut indirect, true) => {
                    todo.extend(taken(program));
                }
                _ => {}
            }
        }
    }
    order.sort_unstable();
    order
}

fn taken(program: &Program) -> impl Iterator<Item = u32> {
    let in_code = program.functions.iter().flat_map(symbols);
    let in_data = program.variables.iter().flat_map(|variable| variable.relocations.iter().map(|r| r.target));
    in_code.chain(in_data).filter_map(|symbol| match symbol {
        Symbol::Function(index) => Some(index),
        _ => None,
    })
}
