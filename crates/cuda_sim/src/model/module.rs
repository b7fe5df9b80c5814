//! Modules, libraries (which are the same here), and functions.

use super::handle::Handle;
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
    /// Addresses of the managed variables, by name.
    pub managed: BTreeMap<String, u64>,
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
    /// Shape of the clusters that the code requires.
    pub cluster: Option<[u32; 3]>,
    /// Architecture of the PTX: 90 for `sm_90`.
    pub architecture: i32,
}

/// A linker's inputs.
pub struct Linker {
    pub context: Handle,
    pub texts: Vec<String>,
    /// The linked text with a zero byte at its end, which the program may read until it destroys the linker.
    pub output: Option<Box<[u8]>>,
    /// Whether the device runtime's library is linked.
    pub runtime: bool,
    /// The compiler's options.
    pub jit: Jit,
}

/// Options of the compiler: where a program wants its error messages, and the limit on registers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Jit {
    /// Address of the text, and its room in bytes; 0 if none is wanted.
    pub address: u64,
    pub room: u64,
    /// Bytes of text that were written, and the address at which the program reads their number, or 0.
    pub written: u64,
    pub count: u64,
    /// Maximum number of registers of a thread.
    pub max_registers: Option<u32>,
}

/// Returns the facts about a kernel; `None` if the program has none of this name.
pub fn facts(program: &Program, name: &str) -> Option<Facts> {
    let entry = program.entries().find(|function| function.name == name)?;
    let demand = Demand::of(program, name, 1, 0, 0).ok()?;
    let constants = program.variables().iter().filter(|variable| variable.space == Space::Const);
    let digits: String = program.target().chars().filter(char::is_ascii_digit).collect();
    // What ptxas makes of the same code differs by a third at most; a launch needs 16 registers for its parameters
    // alone.
    let registers =
        estimate_registers(program, name).unwrap_or(32).clamp(16, entry.max_registers.unwrap_or(255).clamp(16, 255));
    Some(Facts {
        static_shared: demand.shared_bytes,
        local: entry.counted_frame(),
        constant: constants.map(|variable| variable.size).sum(),
        registers,
        cluster: entry.required_cluster,
        max_threads: entry.max_threads.unwrap_or(1024).min(1024),
        architecture: digits.parse().unwrap_or(0),
    })
}
