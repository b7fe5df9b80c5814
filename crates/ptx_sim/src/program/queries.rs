//! Questions that users of a program ask.

use super::{Function, Inst, Kind, Op, Program};

impl Program {
    /// The kernels.
    pub fn entries(&self) -> impl Iterator<Item = &Function> {
        self.functions.iter().filter(|function| function.kind == Kind::Entry)
    }

    /// The function of a name.
    pub fn function(&self, name: &str) -> Option<&Function> {
        self.functions.iter().find(|function| function.name == name)
    }

    /// An instruction's opcode as written, `add.s32`; empty for one of another program.
    pub fn opcode(&self, inst: &Inst) -> &str {
        self.opcodes.get(inst.opcode as usize).map_or("", String::as_str)
    }

    /// `file:line:column` of a place, as short as what is known; empty without one.
    pub fn describe(&self, location: Option<u32>) -> String {
        let Some(location) = location.and_then(|index| self.locations.get(index as usize)) else {
            return String::new();
        };
        let file = self.files.get(location.file as usize).map_or("?", String::as_str);
        match (location.line, location.column) {
            (0, _) => file.to_string(),
            (line, 0) => format!("{file}:{line}"),
            (line, column) => format!("{file}:{line}:{column}"),
        }
    }

    /// The chain of places from the innermost to the function that was compiled: where the code is, where that was
    /// inlined into, and so on.
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

    /// Instructions that were kept and can't be executed: line in the PTX text, and why.
    pub fn unsupported(&self) -> impl Iterator<Item = (u32, &str)> {
        self.functions.iter().flat_map(|function| &function.code).filter_map(|inst| match &inst.op {
            Op::Unsupported(why) => Some((inst.line, why.as_str())),
            _ => None,
        })
    }
}

impl Function {
    /// Bytes of a kernel's parameters, as a launch passes them.
    pub fn param_bytes(&self) -> u64 {
        self.params.iter().map(|param| param.offset + param.size).max().unwrap_or(0)
    }
}
