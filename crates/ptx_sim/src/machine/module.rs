//! A program prepared for execution: variables placed in memory, control flow analysed, shared memory laid out.

use crate::memory::Memory;
use crate::memory::address;
use crate::program::flow::{self, Flow};
use crate::program::{Async, Layout, Op, Program, Source, Space, Symbol, Variable};
use crate::stop::Stop;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// A program that this machine has loaded; its global variables keep their values between launches.
#[derive(Debug)]
pub struct Module {
    /// Position among the programs that the machine has seen.
    pub number: usize,
    /// The text of the program that this was made of. It distinguishes programs, which cannot be changed after they
    /// were decoded.
    pub source: Source,
    /// Address of each variable in its own space; 0 for shared variables.
    pub addresses: Arc<[u64]>,
    /// Control flow of each function.
    pub flows: Arc<[Flow]>,
    /// Whether an instruction computes addresses of other blocks' shared memory.
    pub maps_addresses: bool,
    layouts: HashMap<u32, Arc<Layout>>,
}

impl Module {
    /// Places a program's global and constant variables: those that have an address in `placed` there. `next_constant`
    /// is the first free offset of constant memory.
    ///
    /// # Errors
    /// `out-of-memory` if the host has not enough memory; `initialiser` if an initial value differs by kernel.
    pub fn load(
        program: &Program,
        number: usize,
        memory: &Memory,
        placed: &BTreeMap<String, u64>,
        next_constant: &mut u64,
    ) -> Result<Self, Stop> {
        let mut addresses = Vec::with_capacity(program.variables.len());
        for variable in &program.variables {
            let given = placed.get(&variable.name).filter(|_| variable.space == Space::Global);
            addresses.push(given.map_or_else(|| place(variable, memory, next_constant), |address| Ok(*address))?);
        }
        for (variable, &address) in program.variables.iter().zip(&addresses) {
            initialise(program, variable, address, &addresses, memory)?;
        }
        Ok(Self {
            number,
            source: program.source.clone(),
            addresses: addresses.into(),
            flows: flow::analyse(program).into(),
            maps_addresses: maps_addresses(program),
            layouts: HashMap::new(),
        })
    }

    /// Returns the shared memory layout of an entry.
    pub fn layout(&mut self, program: &Program, entry: u32) -> Arc<Layout> {
        self.layouts.entry(entry).or_insert_with(|| Arc::new(Layout::of(program, entry))).clone()
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
                        "the initialiser of `{}` holds the address of the shared variable `{}`, which differs by \
                        kernel",
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
