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
