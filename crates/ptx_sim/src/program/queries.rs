//! Queries on a program.

use super::{File, Function, Inst, Kind, Location, Op, Program, Source, Variable};

impl Program {
    /// Returns `.version`, such as (7, 8).
    pub fn version(&self) -> (u32, u32) {
        self.version
    }

    /// Returns `.target`, such as `sm_90`.
    pub fn target(&self) -> &str {
        &self.target
    }

    /// Returns the functions in order of appearance: entries, device functions, and externs such as `vprintf`.
    pub fn functions(&self) -> &[Function] {
        &self.functions
    }

    /// Returns the module-scope variables, and the shared variables declared inside functions.
    pub fn variables(&self) -> &[Variable] {
        &self.variables
    }

    /// Returns the source locations, which instructions refer to by index.
    pub fn locations(&self) -> &[Location] {
        &self.locations
    }

    /// Returns the source files of `.file`, which locations refer to by index.
    pub fn files(&self) -> &[File] {
        &self.files
    }

    /// Returns the lines of the PTX text.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Iterates over the kernels.
    pub fn entries(&self) -> impl Iterator<Item = &Function> {
        self.functions.iter().filter(|function| function.kind == Kind::Entry)
    }

    /// Returns the function with a name.
    pub fn function(&self, name: &str) -> Option<&Function> {
        self.functions.iter().find(|function| function.name == name)
    }

    /// Returns an instruction's opcode as written, such as `add.s32`; empty for an instruction of another program.
    pub fn opcode(&self, inst: &Inst) -> &str {
        self.opcodes.get(inst.opcode as usize).map_or("", String::as_str)
    }

    /// Formats a location as `file:line:column`, without the parts that are unknown; empty without a location.
    pub fn describe(&self, location: Option<u32>) -> String {
        let Some(location) = location.and_then(|index| self.locations.get(index as usize)) else {
            return String::new();
        };
        let file = self.files.get(location.file as usize).map_or("?", |file| file.name.as_str());
        match (location.line, location.column) {
            (0, _) => file.to_string(),
            (line, 0) => format!("{file}:{line}"),
            (line, column) => format!("{file}:{line}:{column}"),
        }
    }

    /// Returns the chain of locations from the innermost one to the function that was compiled: the position of the
    /// code, the call site that it was inlined into, and so on.
    pub fn chain(&self, location: Option<u32>) -> Vec<u32> {
        let mut chain = Vec::new();
        let mut next = location;
        while let Some(index) = next
            && let Some(location) = self.locations.get(index as usize)
            && !chain.contains(&index)
        {
            chain.push(index);
            next = location.inlined_at;
        }
        chain
    }

    /// Iterates over the instructions that cannot be executed: line in the PTX text, and reason.
    pub fn unsupported(&self) -> impl Iterator<Item = (u32, &str)> {
        self.functions.iter().flat_map(|function| &function.code).filter_map(|inst| match &inst.op {
            Op::Unsupported(why) => Some((inst.line, why.as_str())),
            _ => None,
        })
    }
}

impl Function {
    /// Returns the size of a kernel's parameters in bytes, as a launch passes them.
    pub fn param_bytes(&self) -> u64 {
        self.params.iter().map(|param| param.offset + param.size).max().unwrap_or(0)
    }
}
