//! Registers and branches whose value may differ between the threads of a block.
//!
//! A value differs if it is computed from the index of the thread or of the lane, or from memory at an address that
//! does, or assigned in code that only some threads execute. Results of votes, and memory at an address that is the
//! same for all threads, count as the same, since kernels use them to broadcast a decision.

use std::collections::HashSet;

use super::flow::Flow;
use super::listing::{Code, Instruction};

/// Special registers that differ between the threads of a block.
const SOURCES: [&str; 5] = ["%tid", "%laneid", "%lanemask", "%warpid", "%clock"];

/// What differs between threads in a function.
#[derive(Debug, Default)]
pub(super) struct Divergence<'t> {
    registers: HashSet<&'t str>,
    /// Branches that separate threads: the instruction, and the blocks that only some threads execute.
    pub branches: Vec<(usize, Vec<usize>)>,
}

impl<'t> Divergence<'t> {
    pub fn of(code: &'t Code<'_>, flow: &Flow) -> Self {
        let mut out = Self::default();
        // A register that is written once has the same value for all threads that reach it.
        let mut once: HashSet<&str> = HashSet::new();
        let mut often: HashSet<&str> = HashSet::new();
        for register in code.instructions.iter().flat_map(Instruction::written) {
            if !once.insert(register) {
                often.insert(register);
            }
        }
        loop {
            let before = out.registers.len();
            while out.spread(code) {}
            out.branches = code
                .instructions
                .iter()
                .enumerate()
                .filter(|(_, one)| out.separates(one))
                .map(|(at, _)| (at, flow.apart(flow.block(at))))
                .collect();
            let apart: HashSet<usize> = out.branches.iter().flat_map(|(_, blocks)| blocks.iter().copied()).collect();
            for (at, instruction) in code.instructions.iter().enumerate() {
                if apart.contains(&flow.block(at)) {
                    out.registers.extend(instruction.written().into_iter().filter(|name| often.contains(name)));
                }
            }
            if out.registers.len() == before {
                return out;
            }
        }
    }

    /// Whether a branch depends on a value that differs.
    fn separates(&self, instruction: &Instruction<'_>) -> bool {
        match instruction.base() {
            "bra" => instruction.guard.is_some_and(|guard| self.registers.contains(guard)),
            "brx" => instruction.read().any(|register| self.registers.contains(register)),
            _ => false,
        }
    }

    /// Adds the results of instructions whose operands differ; returns whether there were any.
    fn spread(&mut self, code: &'t Code<'_>) -> bool {
        let before = self.registers.len();
        for instruction in &code.instructions {
            let differs = |register: &str| {
                self.registers.contains(register) || SOURCES.iter().any(|source| register.starts_with(source))
            };
            let result = match instruction.base() {
                "vote" | "match" | "redux" | "activemask" | "bar" | "barrier" | "elect" => false,
                "ld" | "ldu" => instruction.address().is_some_and(differs) || guarded(instruction, &differs),
                "atom" => true,
                _ => instruction.read().any(differs) || guarded(instruction, &differs),
            };
            if result {
                self.registers.extend(instruction.written());
            }
        }
        self.registers.len() > before
    }
}

fn guarded(instruction: &Instruction<'_>, differs: &impl Fn(&str) -> bool) -> bool {
    instruction.guard.is_some_and(differs)
}

#[cfg(test)]
mod tests {
    use super::super::listing::Listing;
    use super::*;

    /// The numbers of the instructions at which threads separate.
    fn branches(body: &str) -> Vec<usize> {
        let text = format!(".visible .entry k(\n)\n{{\n{body}\n}}\n");
        let listing = Listing::of(&text);
        let flow = Flow::of(&listing.functions[0]);
        Divergence::of(&listing.functions[0], &flow).branches.into_iter().map(|(at, _)| at).collect()
    }

    #[test]
    fn what_depends_on_the_thread_differs() {
        let body = |source: &str| {
            format!(
                "\tmov.u32 %r1, {source};\n\tadd.s32 %r2, %r1, 1;\n\tsetp.eq.s32 %p1, %r2, 3;\n\
                 \t@%p1 bra A;\nA:\n\tret;"
            )
        };
        assert_eq!(branches(&body("%tid.x")), [3]);
        assert!(branches(&body("%ctaid.x")).is_empty());
    }

    #[test]
    fn memory_differs_as_its_address_does() {
        let body = |source: &str| {
            format!(
                "\tcvt.u64.u32 %rd1, {source};\n\tld.global.b32 %r2, [%rd1];\n\
                 \tsetp.eq.s32 %p1, %r2, 3;\n\t@%p1 bra A;\nA:\n\tret;"
            )
        };
        assert_eq!(branches(&body("%laneid")), [3]);
        assert!(branches(&body("%nctaid.x")).is_empty());
    }

    #[test]
    fn what_is_assigned_in_one_arm_differs_after_it() {
        let body = "\tmov.u32 %r1, %tid.x;\n\tmov.b32 %r2, 0;\n\tsetp.eq.s32 %p1, %r1, 3;\n\
                    \t@%p1 bra A;\n\tmov.b32 %r2, 1;\nA:\n\
                    \tsetp.eq.s32 %p2, %r2, 0;\n\t@%p2 bra B;\nB:\n\tret;";
        assert_eq!(branches(body), [3, 6]);
    }
}
