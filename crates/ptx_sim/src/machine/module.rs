//! A program made ready to run: its variables placed in memory, its control flow analysed, its shared memory laid out.

use super::address;
use super::allocations::Memory;
use super::config::Checks;
use super::flow::{self, Flow};
use crate::check::uninit::plan::Plan;
use crate::program::source::Hash;
use crate::program::{Async, Callee, Function, Op, Preset, Program, Source, Space, Symbol, Variable};
use crate::stop::Stop;
use std::collections::HashMap;
use std::sync::Arc;

/// A program that this machine has seen; its global variables keep their values between launches.
#[derive(Debug)]
pub struct Module {
    /// Position among the programs that the machine has seen.
    pub number: usize,
    /// The program that this was made of.
    pub identity: Identity,
    /// By variable: address in its own space; 0 for shared ones.
    pub addresses: Arc<[u64]>,
    /// By function.
    pub flows: Arc<[Flow]>,
    /// Some instruction makes addresses of other blocks' shared memory.
    pub maps_addresses: bool,
    /// By function, for launches that look at registers; and whether at overflow.
    pub plans: Arc<[Plan]>,
    planned: Option<bool>,
    layouts: HashMap<u32, Arc<Layout>>,
}

/// Shared memory of one kernel: the variables that it or the functions it may call use.
#[derive(Debug)]
pub struct Layout {
    /// By variable: offset, for those that are used.
    pub offsets: Vec<Option<u64>>,
    /// Bytes of static shared memory; dynamic shared memory starts here.
    pub static_bytes: u64,
}

impl Module {
    /// Places a program's global and constant variables. `next_constant` is the first free offset of constant memory.
    pub fn load(program: &Program, number: usize, memory: &Memory, next_constant: &mut u64) -> Result<Self, Stop> {
        let mut addresses = Vec::with_capacity(program.variables.len());
        for variable in &program.variables {
            addresses.push(place(variable, memory, next_constant)?);
        }
        for (variable, &address) in program.variables.iter().zip(&addresses) {
            initialise(program, variable, address, &addresses, memory)?;
        }
        Ok(Self {
            number,
            identity: Identity::of(program),
            addresses: addresses.into(),
            flows: flow::analyse(program).into(),
            maps_addresses: maps_addresses(program),
            plans: Arc::default(),
            planned: None,
            layouts: HashMap::new(),
        })
    }

    /// Works out what instructions read and write, when that is wanted and not known.
    pub fn plan(&mut self, program: &Program, checks: Checks) {
        let wanted = checks.inspect().then_some(checks.overflow);
        if wanted != self.planned {
            self.plans = wanted.map_or_else(Arc::default, |overflow| Plan::of_all(program, overflow).into());
            self.planned = wanted;
        }
    }

    /// The shared memory of an entry.
    pub fn layout(&mut self, program: &Program, entry: u32) -> Arc<Layout> {
        self.layouts.entry(entry).or_insert_with(|| Arc::new(Layout::of(program, entry))).clone()
    }
}

impl Layout {
    pub fn of(program: &Program, entry: u32) -> Self {
        let mut offsets = vec![None; program.variables.len()];
        let mut end = 0_u64;
        let mut dynamic_align = 1;
        for function in reachable(program, entry).into_iter().filter_map(|index| program.functions.get(index as usize))
        {
            for index in symbols(function).filter_map(variable) {
                let Some(variable) = program.variables.get(index as usize) else { continue };
                if variable.space != Space::Shared || offsets[index as usize].is_some() {
                    continue;
                }
                if variable.dynamic {
                    dynamic_align = dynamic_align.max(variable.align);
                    continue;
                }
                let start = end.checked_next_multiple_of(variable.align.max(1)).unwrap_or(u64::MAX);
                offsets[index as usize] = Some(start);
                end = start.saturating_add(variable.size);
            }
        }
        let static_bytes = end.checked_next_multiple_of(dynamic_align).unwrap_or(u64::MAX);
        for (offset, variable) in offsets.iter_mut().zip(&program.variables) {
            if variable.dynamic && variable.space == Space::Shared {
                *offset = Some(static_bytes);
            }
        }
        Self { offsets, static_bytes }
    }

    /// Where an address of shared memory lies, in words.
    pub fn describe(&self, program: &Program, address: u64, total: u64) -> String {
        let placed = program.variables.iter().zip(&self.offsets).filter_map(|(variable, offset)| {
            let size = if variable.dynamic { total.saturating_sub((*offset)?) } else { variable.size };
            Some((variable, (*offset)?, size)).filter(|(_, _, size)| *size > 0)
        });
        let before = placed.filter(|(_, offset, _)| *offset <= address).max_by_key(|(_, offset, _)| *offset);
        let Some((variable, offset, size)) = before else {
            return format!("the block has {total} bytes of shared memory");
        };
        let name = crate::stop::demangled(&variable.name);
        match (address - offset).checked_sub(size) {
            None => format!("at byte {} of `{name}` ({size} bytes)", address - offset),
            Some(0) => format!("right after the end of `{name}` ({size} bytes)"),
            Some(over) => format!("{over} bytes past the end of `{name}` ({size} bytes)"),
        }
    }
}

fn maps_addresses(program: &Program) -> bool {
    let mut code = program.functions.iter().flat_map(|function| &function.code);
    code.any(|inst| matches!(&inst.op, Op::Async(op) if matches!(**op, Async::Mapa { .. })))
}

fn place(variable: &Variable, memory: &Memory, next_constant: &mut u64) -> Result<u64, Stop> {
    let too_large = || {
        let title = format!("no host memory for the variable `{}` of {} bytes", variable.name, variable.size);
        Stop::usage("out-of-memory", title)
    };
    match variable.space {
        Space::Const => {
            let offset = next_constant.next_multiple_of(variable.align.max(256));
            let base = address::window(Space::Const) + offset;
            memory.alloc_constant(base, variable.size, &variable.name).ok_or_else(too_large)?;
            *next_constant = offset.saturating_add(variable.size).saturating_add(256);
            Ok(offset)
        }
        Space::Shared => Ok(0),
        _ => memory.alloc_variable(variable.size, &variable.name).ok_or_else(too_large),
    }
}

fn initialise(
    program: &Program,
    variable: &Variable,
    address: u64,
    addresses: &[u64],
    memory: &Memory,
) -> Result<(), Stop> {
    if variable.space == Space::Shared {
        return Ok(());
    }
    let base = address + address::window(variable.space);
    let Some((storage, _)) = memory.find(base, 0) else { return Ok(()) };
    memory.define(base, variable.size);
    let size = usize::try_from(variable.size).unwrap_or(usize::MAX);
    storage.write(0, &variable.init[..variable.init.len().min(size)]);
    for relocation in &variable.relocations {
        let target = match relocation.target {
            Symbol::Function(index) => address::of_function(index),
            Symbol::Variable(index) => {
                let Some(target) = program.variables.get(index as usize) else { continue };
                if target.space == Space::Shared {
                    let title = format!(
                        "the initialiser of `{}` holds the address of the shared variable `{}`, which differs by kernel",
                        variable.name, target.name
                    );
                    return Err(Stop::usage("initialiser", title));
                }
                let window = if relocation.generic { address::window(target.space) } else { 0 };
                addresses[index as usize] + window
            }
            Symbol::KernelParam(_) | Symbol::Frame(_) => continue,
        };
        let value = target.wrapping_add_signed(relocation.addend);
        if relocation.offset.saturating_add(8) <= variable.size {
            storage.write(relocation.offset as usize, &value.to_le_bytes());
        }
    }
    Ok(())
}

fn variable(symbol: Symbol) -> Option<u32> {
    match symbol {
        Symbol::Variable(index) => Some(index),
        _ => None,
    }
}

fn symbols(function: &Function) -> impl Iterator<Item = Symbol> {
    function.preset.iter().filter_map(|preset| match preset {
        Preset::Address64(_, symbol, _) | Preset::Address32(_, symbol, _) => Some(*symbol),
        _ => None,
    })
}

/// The entry and all functions that it may call. An indirect call may call every function whose address is taken.
fn reachable(program: &Program, entry: u32) -> Vec<u32> {
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

/// What distinguishes one program from another, so that launching a program again finds its global variables: its text,
/// and a hash of what may have been changed since the text was decoded.
#[derive(Debug, PartialEq, Eq)]
pub struct Identity {
    source: Source,
    shape: u64,
}

impl Identity {
    pub fn of(program: &Program) -> Self {
        let mut hash = Hash::default();
        for function in &program.functions {
            hash.add(function.name.as_bytes());
            hash.add(&function.code.len().to_le_bytes());
        }
        for variable in &program.variables {
            hash.add(variable.name.as_bytes());
            hash.add(&variable.size.to_le_bytes());
            hash.add(&variable.init);
        }
        Self { source: program.source.clone(), shape: hash.0 }
    }
}
