//! Modules, libraries (which are the same here), and functions.

use super::{Handle, State};
use crate::code::{Answer, Code};
use ptx_sim::Program;
use ptx_sim::occupancy::{Demand, estimate_registers};
use ptx_sim::program::Space;
use std::collections::BTreeMap;
use std::ffi::CString;
use std::sync::Arc;

/// A module.
pub struct Module {
    pub program: Arc<Program>,
    /// Number of the instance: each module has variables of its own.
    pub instance: u64,
    /// The context that it was loaded in; 0 for a library, which is loaded in all.
    pub context: Handle,
    /// The functions that have handles, by name.
    pub functions: BTreeMap<String, Handle>,
}

/// A kernel of a module.
pub struct Function {
    pub module: Handle,
    pub name: String,
    pub c_name: CString,
    /// Maximum dynamic shared memory in bytes that a launch may ask for.
    pub max_dynamic_shared: i32,
    /// Attributes that the program has set and that nothing reads but it.
    pub set: BTreeMap<u32, i32>,
    /// Cluster shape that the kernel requires.
    pub cluster: Option<[u32; 3]>,
    /// Facts about the code.
    pub facts: Facts,
}

/// Facts about a kernel.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    pub static_shared: u64,
    pub local: u64,
    pub constant: u64,
    pub registers: u32,
    pub max_threads: u32,
    /// Architecture of the PTX: 90 for `sm_90`.
    pub architecture: i32,
}

/// A linker's inputs.
pub struct Linker {
    pub texts: Vec<String>,
    /// The linked text with a zero byte at its end, which the program may read until it destroys the linker.
    pub output: Option<Box<[u8]>>,
    /// Where the program wants error messages: address and size in bytes.
    pub log: Option<(u64, u64)>,
}

/// Dynamic shared memory in bytes that needs no attribute.
const PLAIN_SHARED: u64 = 48 << 10;

impl State {
    /// Adds a module.
    ///
    /// # Errors
    /// `OUT_OF_MEMORY` if the host has no room for its variables.
    pub fn add_module(&mut self, program: Arc<Program>, context: Handle) -> Answer<Handle> {
        let module = self.handle();
        if let Some(device) = self.contexts.get(&context).map(|context| context.device) {
            let machine = &mut self.devices[device].machine;
            machine.load(&program, module as u64).map_err(|stop| self.report.refusal("loading a module", &stop))?;
        }
        let new = Module { program, instance: module as u64, context, functions: BTreeMap::new() };
        self.modules.insert(module, new);
        Ok(module)
    }

    /// Removes a module with its functions and variables.
    pub fn unload(&mut self, module: Handle) {
        let Some(module) = self.modules.remove(&module) else { return };
        self.functions.retain(|handle, _| !module.functions.values().any(|function| function == handle));
        for device in &mut self.devices {
            device.machine.unload(&module.program, module.instance);
        }
    }

    /// Returns the handle of a kernel.
    ///
    /// # Errors
    /// `INVALID_HANDLE` if there is no such module, `NOT_FOUND` if it has no such kernel.
    pub fn function_named(&mut self, module: Handle, name: &str) -> Answer<Handle> {
        let found = self.modules.get(&module).ok_or(Code::INVALID_HANDLE)?;
        if let Some(function) = found.functions.get(name) {
            return Ok(*function);
        }
        let facts = facts(&found.program, name).ok_or(Code::NOT_FOUND)?;
        let cluster = found.program.function(name).and_then(|function| function.required_cluster);
        let c_name = CString::new(name).map_err(|_| Code::NOT_FOUND)?;
        let max_dynamic_shared = i32::try_from(PLAIN_SHARED.saturating_sub(facts.static_shared)).unwrap_or(0);
        let function = self.handle();
        let (name, set) = (name.to_owned(), BTreeMap::new());
        let new = Function { module, name: name.clone(), c_name, max_dynamic_shared, set, cluster, facts };
        self.functions.insert(function, new);
        if let Some(found) = self.modules.get_mut(&module) {
            found.functions.insert(name, function);
        }
        Ok(function)
    }

    /// Returns the address and size in bytes of a module's variable on the current device.
    ///
    /// # Errors
    /// `INVALID_HANDLE` if there is no such module, `NOT_FOUND` if it has no such variable.
    pub fn global(&mut self, module: Handle, name: &str) -> Answer<(u64, u64)> {
        let device = self.current_device()?.number;
        let found = self.modules.get(&module).ok_or(Code::INVALID_HANDLE)?;
        let machine = &mut self.devices[device].machine;
        machine.symbol_of(&found.program, found.instance, name).map_err(|_| Code::NOT_FOUND)
    }
}

fn facts(program: &Program, name: &str) -> Option<Facts> {
    let entry = program.entries().find(|function| function.name == name)?;
    let demand = Demand::of(program, name, 1, 0, 0).ok()?;
    let constants = program.variables().iter().filter(|variable| variable.space == Space::Const);
    let digits: String = program.target().chars().filter(char::is_ascii_digit).collect();
    // What ptxas makes of the same code differs by a third at most; a launch needs 16 registers for its parameters
    // alone.
    let registers = estimate_registers(program, name).unwrap_or(32).clamp(16, 255);
    Some(Facts {
        static_shared: demand.shared_bytes,
        local: entry.frame_bytes,
        constant: constants.map(|variable| variable.size).sum(),
        registers,
        max_threads: entry.max_threads.unwrap_or(1024).min(1024),
        architecture: digits.parse().unwrap_or(0),
    })
}
