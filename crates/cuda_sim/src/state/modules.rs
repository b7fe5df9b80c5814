//! Modules, and their functions and variables.

use super::State;
use crate::code::{Answer, Code};
use crate::model::{Function, Handle, Module, facts};
use ptx_sim::Program;
use std::collections::BTreeMap;
use std::ffi::CString;
use std::sync::Arc;

/// Dynamic shared memory in bytes that needs no attribute.
const PLAIN_SHARED: u64 = 48 << 10;

impl State {
    /// Adds a module.
    ///
    /// # Errors
    /// `OUT_OF_MEMORY` if the host has no room for its variables.
    pub fn add_module(&mut self, program: Arc<Program>, context: Handle) -> Answer<Handle> {
        let module = self.handle();
        let own = self.contexts.get(&context).map(|context| context.device);
        let managed = self.allocate_managed(&program, own.unwrap_or(0))?;
        // A managed variable is at the same address on all devices.
        let on = |number: usize| !managed.is_empty() || own == Some(number);
        for device in self.devices.iter_mut().enumerate().filter(|(number, _)| on(*number)).map(|(_, device)| device) {
            if let Err(stop) = device.machine.load_at(&program, module as u64, &managed) {
                let code = self.report.refusal("loading a module", &stop);
                self.devices.iter_mut().for_each(|device| device.machine.unload(&program, module as u64));
                self.free_variables(&managed);
                return Err(code);
            }
        }
        let new = Module { program, instance: module as u64, context, managed, functions: BTreeMap::new() };
        self.modules.insert(module, new);
        Ok(module)
    }

    /// Allocates memory for the managed variables of a program.
    fn allocate_managed(&mut self, program: &Program, device: usize) -> Answer<BTreeMap<String, u64>> {
        let mut managed = BTreeMap::new();
        for variable in program.variables().iter().filter(|variable| variable.managed) {
            match self.allocate_variable(device, variable.size, &variable.name) {
                Ok(address) => drop(managed.insert(variable.name.clone(), address)),
                Err(code) => {
                    self.free_variables(&managed);
                    return Err(code);
                }
            }
        }
        Ok(managed)
    }

    fn free_variables(&mut self, managed: &BTreeMap<String, u64>) {
        for address in managed.values() {
            // It was allocated, and a program cannot free it.
            let _ = self.free_block(*address);
        }
    }

    /// Removes a module with its functions and variables.
    pub fn unload(&mut self, module: Handle) {
        let Some(module) = self.modules.remove(&module) else { return };
        self.functions.retain(|handle, _| !module.functions.values().any(|function| function == handle));
        for device in &mut self.devices {
            device.machine.unload(&module.program, module.instance);
        }
        self.free_variables(&module.managed);
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
        let c_name = CString::new(name).map_err(|_| Code::NOT_FOUND)?;
        let max_dynamic_shared = i32::try_from(PLAIN_SHARED.saturating_sub(facts.static_shared)).unwrap_or(0);
        let function = self.handle();
        let (name, set) = (name.to_owned(), BTreeMap::new());
        let new = Function { module, name: name.clone(), c_name, max_dynamic_shared, set, facts };
        self.functions.insert(function, new);
        if let Some(found) = self.modules.get_mut(&module) {
            found.functions.insert(name, function);
        }
        Ok(function)
    }

    /// Returns the address and size in bytes of a module's managed variable.
    ///
    /// # Errors
    /// `INVALID_HANDLE` if there is no such module, `NOT_FOUND` if it has no such managed variable.
    pub fn managed(&self, module: Handle, name: &str) -> Answer<(u64, u64)> {
        let found = self.modules.get(&module).ok_or(Code::INVALID_HANDLE)?;
        let variable = found.program.variables().iter().find(|variable| variable.managed && variable.name == name);
        let address = found.managed.get(name).copied();
        address.zip(variable.map(|variable| variable.size)).ok_or(Code::NOT_FOUND)
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
