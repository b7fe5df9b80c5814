//! How true a run was: which instructions gave the bits that a GPU gives, which only keep within PTX's bounds, which
//! were not executed at all.

use crate::count::InstructionCounters;
use crate::program::{Op, Program, TextureKind};
use crate::session::Report;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// How close the result of an instruction is to that of a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fidelity {
    /// The same bits.
    Exact,
    /// Within a bound: PTX's own, or what is known of hardware where PTX gives none.
    Approximate(&'static str),
    /// Clocks, identifiers: a GPU gives other values in every run.
    Unspecified(&'static str),
    /// Stops the run.
    Unsupported,
}

/// One opcode of a kernel and of the functions that it may call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// As written.
    pub opcode: String,
    /// How close it is.
    pub fidelity: Fidelity,
    /// Lines in the PTX text where it stands.
    pub lines: Vec<u32>,
    /// Executions by warps; 0 when it was not reached, or not counted (`Config::counters`).
    pub executed: u64,
}

impl Report {
    /// What this run says of every opcode in the program's functions that it executed, and of those there that it did
    /// not reach: first the unsupported, then the unspecified and approximate, then the exact ones, each by name.
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
            let fidelity = of(opcode, &inst.op);
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

/// Of one instruction.
fn of(opcode: &str, op: &Op) -> Fidelity {
    match op {
        Op::Unsupported(_) => Fidelity::Unsupported,
        Op::ReadTimer { .. } => Fidelity::Unspecified("counts the warp instructions of one host thread, not time"),
        Op::Matrix(_) => products(opcode),
        Op::Texture(texture) => match texture.kind {
            TextureKind::Sample { integers: false, .. } => Fidelity::Approximate(
                "filtering: weights of 8 bits behind the point, as CUDA documents; sums rounded once",
            ),
            _ => Fidelity::Exact,
        },
        _ => bound(opcode).map_or(Fidelity::Exact, Fidelity::Approximate),
    }
}

fn products(opcode: &str) -> Fidelity {
    let narrow = [".f16.f16", ".bf16.bf16", ".tf32.tf32", ".e4m3", ".e5m2", ".f32.f32", ".f16.f32", ".f32.f16"];
    if opcode.contains("mma.") && narrow.iter().any(|types| opcode.contains(types)) && !opcode.contains("load") {
        return Fidelity::Approximate(
            "products exact; order and precision of the sum as observed on Hopper, which PTX leaves open",
        );
    }
    Fidelity::Exact
}

/// The error bound that the PTX ISA gives for an approximate instruction.
pub(crate) fn bound(opcode: &str) -> Option<&'static str> {
    let words: Vec<&str> = opcode.split('.').collect();
    let (name, kind) = (words[0], *words.last()?);
    let approximate = words.contains(&"approx") || words.contains(&"full");
    if !approximate {
        return None;
    }
    Some(match (name, kind) {
        ("div", _) if words.contains(&"full") => "2 ulp",
        ("div", _) => "2 ulp for divisors from 2^-126 to 2^126, else not specified",
        ("rcp", "f32") => "1 ulp",
        ("rcp", _) => "not specified; here the upper 32 bits of the result for the operand's upper 32 bits",
        ("sqrt", _) => "relative error 2^-23",
        ("rsqrt", "f32") => "relative error 2^-22.9",
        ("rsqrt", _) if words.contains(&"ftz") => {
            "not specified; here the upper 32 bits of the result for the operand's upper 32 bits"
        }
        ("rsqrt", _) => "not specified; here within 2 ulp",
        ("sin" | "cos", _) => {
            "absolute error 2^-20.5 for angles from -2 pi to 2 pi, 2^-14.7 from -100 pi to 100 pi, else not specified"
        }
        ("lg2", _) => "absolute error 2^-22 for operands between 1/2 and 2, else relative error 2^-22",
        ("ex2", "f32") => "2 ulp",
        ("ex2", "f16" | "f16x2") => "relative error 2^-9.9",
        ("ex2", _) => "relative error 2^-7",
        ("tanh", "f32") => "relative error 2^-11",
        ("tanh", "f16" | "f16x2") => "absolute error 2^-10.987",
        ("tanh", _) => "absolute error 2^-8",
        _ => "as the PTX ISA says",
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, Launch, Machine};

    #[test]
    fn every_class_has_its_line() {
        let text = ".version 7.8\n.target sm_75\n.address_size 64\n.visible .entry k()\n{\n.reg .pred %p;\n.reg .b32 %r<4>;\n\
                    mov.u32 %r1, %tid.x;\nsin.approx.f32 %r2, 0f3F800000;\nmov.u32 %r3, %clock;\nsetp.eq.u32 %p, %r1, 0;\n\
                    @%p bra END;\nstrange.op %r1;\nEND:\nret;\n}\n.visible .entry other()\n{\nret;\n}\n";
        let program = Program::parse(text).expect("PTX");
        let mut machine = Machine::new(Config { workers: 1, ..Config::default() });
        let launch = Launch { entry: "k", grid: [1; 3], block: [1, 1, 1], ..Launch::default() };
        let report = machine.launch(&program, &launch).expect("runs");
        let lines = report.fidelity(&program);
        let of = |opcode: &str| {
            let line = lines.iter().find(|line| line.opcode == opcode).expect("a line");
            (line.fidelity, line.executed, line.lines.clone())
        };
        assert_eq!(of("strange.op"), (Fidelity::Unsupported, 0, vec![13]));
        assert!(matches!(of("sin.approx.f32"), (Fidelity::Approximate(bound), 1, _) if bound.contains("2^-20.5")));
        assert!(matches!(of("mov.u32").0, Fidelity::Unspecified(_) | Fidelity::Exact));
        assert_eq!(of("setp.eq.u32").0, Fidelity::Exact);
        assert_eq!(lines[0].opcode, "strange.op");
        assert_eq!(of("ret").1, 1);
    }

    #[test]
    fn products_of_narrow_floats_are_approximate() {
        let approximate = |opcode| matches!(products(opcode), Fidelity::Approximate(_));
        assert!(approximate("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"));
        assert!(approximate("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32"));
        assert!(!approximate("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64"));
        assert!(!approximate("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"));
        assert!(!approximate("wmma.load.c.sync.aligned.row.m16n16k16.global.f32"));
    }
}
