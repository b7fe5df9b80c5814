//! The layout of a kernel's shared memory.

use super::{Callee, Function, Op, Preset, Program, Space, Special, Symbol, Variable};
use std::ops::Range;

/// Shared memory of one kernel: the variables of the kernel and of the functions that it may call.
#[derive(Debug)]
pub struct Layout {
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

impl Layout {
    pub fn of(program: &Program, entry: u32) -> Self {
        let mut offsets = vec![None; program.variables.len()];
        let mut end = 0_u64;
        let (mut dynamic_align, mut uses_dynamic, mut reads_size) = (1, false, false);
        for function in reachable(program, entry).into_iter().filter_map(|index| program.functions.get(index as usize))
        {
            reads_size |= function.preset.iter().any(reads_total_size);
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
        let static_bytes = end.checked_next_multiple_of(dynamic_align).unwrap_or(u64::MAX);
        let gap = if uses_dynamic && end > 0 && !reads_size { GAP } else { 0 };
        let dynamic_start = static_bytes.saturating_add(gap);
        for (offset, variable) in offsets.iter_mut().zip(&program.variables) {
            if variable.dynamic && variable.space == Space::Shared {
                *offset = Some(dynamic_start);
            }
        }
        Self { offsets, static_bytes, dynamic_start, static_end: end }
    }

    /// Returns the addresses between static and dynamic shared memory that belong to neither; empty without such a gap.
    pub fn gap(&self) -> Range<u64> {
        if self.dynamic_start > self.static_bytes { self.static_end..self.dynamic_start } else { 0..0 }
    }

    /// The variable of shared memory before or at an address, with its offset and its size.
    fn at_or_before<'p>(&self, program: &'p Program, address: u64, total: u64) -> Option<(&'p Variable, u64, u64)> {
        let placed = program.variables.iter().zip(&self.offsets).filter_map(|(variable, offset)| {
            let size = if variable.dynamic { total.saturating_sub((*offset)?) } else { variable.size };
            Some((variable, (*offset)?, size)).filter(|(_, _, size)| *size > 0)
        });
        placed.filter(|(_, offset, _)| *offset <= address).max_by_key(|(_, offset, _)| *offset)
    }

    /// Returns how far an address of shared memory is from the start of the variable that contains it.
    pub fn offset(&self, program: &Program, address: u64, total: u64) -> Option<u64> {
        let (_, start, size) = self.at_or_before(program, address, total)?;
        Some(address - start).filter(|offset| *offset < size)
    }

    /// Describes an address of shared memory.
    pub fn describe(&self, program: &Program, address: u64, total: u64) -> String {
        let Some((variable, offset, size)) = self.at_or_before(program, address, total) else {
            return format!("the block has {total} bytes of shared memory");
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

/// Whether the value is `%total_smem_size` or `%aggr_smem_size`.
fn reads_total_size(preset: &Preset) -> bool {
    use Preset::{Special32, Special64, SpecialPred};
    matches!(
        preset,
        Special32(_, Special::TotalSmemSize)
            | Special64(_, Special::TotalSmemSize)
            | SpecialPred(_, Special::TotalSmemSize)
    )
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
