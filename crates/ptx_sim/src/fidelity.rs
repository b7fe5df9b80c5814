//! Fidelity of a run: which instructions give the same bits as a GPU, which are only within PTX's error bounds, and
//! which are not supported.

use crate::count::InstructionCounters;
pub use crate::isa::Fidelity;
use crate::program::Program;
use crate::session::Report;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// One opcode of a kernel and of the functions that it may call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Line {
    /// The opcode as written.
    pub opcode: String,
    /// Fidelity of its results.
    pub fidelity: Fidelity,
    /// Lines of the PTX text that contain it.
    pub lines: Vec<u32>,
    /// Executions by warps; 0 when it was not reached or not counted (`Config::counters`).
    pub executed: u64,
}

impl Report {
    /// Returns the fidelity of every opcode in the functions that the run entered, executed or not: first the
    /// unsupported, then the unspecified and approximate, then the exact ones, each by name.
    pub fn fidelity(&self, program: &Program) -> Vec<Line> {
        lines(program, &self.instructions)
    }
}

fn lines(program: &Program, counted: &[InstructionCounters]) -> Vec<Line> {
    let mut executed: BTreeMap<(u32, u32), u64> = BTreeMap::new();
    for instruction in counted {
        *executed.entry((instruction.function, instruction.pc)).or_default() += instruction.executed;
    }
    let mut found: BTreeMap<(Reverse<Fidelity>, &str), Line> = BTreeMap::new();
    for (number, function) in program.functions.iter().enumerate() {
        let number = number as u32;
        if executed.range((number, 0)..=(number, u32::MAX)).next().is_none() {
            continue;
        }
        for (pc, inst) in function.code.iter().enumerate() {
            let opcode = program.opcode(inst);
            let fidelity = function.facts(pc as u32).fidelity;
            let line = found.entry((Reverse(fidelity), opcode)).or_insert_with(|| Line {
                opcode: opcode.to_owned(),
                fidelity,
                lines: Vec::new(),
                executed: 0,
            });
            line.lines.push(inst.line);
            line.executed += executed.get(&(number, pc as u32)).copied().unwrap_or_default();
        }
    }
    found.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, Launch, Machine};

    #[test]
    fn every_class_has_its_line() {
        let text = ".version 7.8\n.target sm_75\n.address_size 64\n.visible .entry k()\n{\n.reg .pred %p;\n.reg .b32 \
            %r<4>;\n mov.u32 %r1, %tid.x;\nsin.approx.f32 %r2, 0f3F800000;\nmov.u32 %r3, %clock;\nsetp.eq.u32 %p, \
            %r1, 0;\n @%p bra END;\nstrange.op %r1;\nEND:\nret;\n}\n.visible .entry other()\n{\nret;\n}\n";
        let program = Program::parse(text).expect("PTX");
        let mut machine = Machine::new(Config { workers: 1, ..Config::default() });
        let launch = Launch { entry: "k", grid: [1; 3], block: [1, 1, 1], ..Launch::default() };
        let report = machine.launch(&program, &launch).expect("runs");
        let lines = report.fidelity(&program);
        let of = |opcode: &str| {
            let all = lines.iter().filter(|line| line.opcode == opcode);
            all.map(|line| (line.fidelity, line.executed, line.lines.clone())).collect::<Vec<_>>()
        };
        assert_eq!(of("strange.op"), [(Fidelity::Unsupported, 0, vec![13])]);
        let [(Fidelity::Approximate(bound), 1, _)] = of("sin.approx.f32")[..] else { panic!("{lines:?}") };
        assert!(bound.contains("2^-20.5"));
        // One opcode, two instructions: a clock is read, and a register that never changes.
        let [(Fidelity::Unspecified(clock), 1, in_clock), (Fidelity::Exact, 1, in_tid)] = &of("mov.u32")[..] else {
            panic!("{lines:?}")
        };
        assert!(clock.contains("not time"));
        assert_eq!((in_clock.as_slice(), in_tid.as_slice()), (&[10][..], &[8][..]));
        assert_eq!(of("setp.eq.u32"), [(Fidelity::Exact, 1, vec![11])]);
        assert_eq!(lines[0].opcode, "strange.op");
        assert_eq!(of("ret"), [(Fidelity::Exact, 1, vec![15])]);
    }

    #[test]
    fn products_of_narrow_floats_are_approximate() {
        let of = |statement: &str| {
            let text = format!(
                ".version 8.7\n.target sm_90\n.address_size 64\n.visible .entry k()\n{{\n.reg .b32 %r<20>;\n\
                 .reg .b64 %d<20>;\n{statement}\nret;\n}}\n"
            );
            let program = Program::parse(&text).expect("PTX");
            program.functions[0].facts(0).fidelity
        };
        let approximate = |statement: &str| matches!(of(statement), Fidelity::Approximate(_));
        let d = "{%r1, %r2, %r3, %r4}";
        let f16 = format!("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {d}, {d}, {{%r1, %r2}}, {d};");
        let eight = "{%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}";
        let wmma = format!("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {eight}, {eight}, {eight}, {eight};");
        assert!(approximate(&f16) && approximate(&wmma));
        let f64 = "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%d1, %d2}, {%d3}, {%d4}, {%d5, %d6};";
        let s8 = format!("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {d}, {d}, {{%r1, %r2}}, {d};");
        let load = format!("wmma.load.c.sync.aligned.row.m16n16k16.global.f32 {eight}, [%d1], %r9;");
        for exact in [f64, &s8, &load] {
            assert_eq!(of(exact), Fidelity::Exact, "{exact}");
        }
        assert_eq!(of("mma.strange;"), Fidelity::Unsupported);
    }
}
