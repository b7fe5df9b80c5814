//! Short branches. ptxas turns a short forward branch around code without a loop, a barrier or a call into predicates,
//! so warps that skip the code in PTX still issue its instructions, and those on shared memory still take a wavefront.

use crate::program::{Function, Inst, Op, Space};
use std::ops::Range;

/// Maximum length of predicated code, in instructions.
const SHORT: u32 = 12;

/// Code that a branch skips or enters, and that becomes predicates.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::explain) struct Body {
    pub code: Range<u32>,
    /// Number of its instructions on shared memory.
    pub shared: u32,
    /// Unconditional jumps around it, which predicates replace too.
    pub jumps: Vec<u32>,
    /// Issue slots of its instructions.
    pub slots: f64,
}

/// Returns the short code that a conditional branch skips or enters; `slots` gives the issue slots of code.
pub(super) fn body(function: &Function, pc: u32, slots: impl Fn(Range<u32>) -> f64) -> Option<Body> {
    let (code, join) = predicated(function, pc)?;
    let shared =
        |inst: &&Inst| matches!(&inst.op, Op::Load(access) | Op::Store(access) if access.space == Space::Shared);
    let count = function.code[code.start as usize..code.end as usize].iter().filter(shared).count();
    let elsewhere = code.start != pc + 1;
    let jump =
        |pc: u32| matches!(function.code.get(pc as usize), Some(Inst { op: Op::Branch { .. }, guard: None, .. }));
    let behind = (elsewhere && jump(pc + 1)).then_some(pc + 1);
    let around = (code.end != join).then_some(code.end).into_iter().chain(behind);
    // A loop keeps its jumps back, also where both ways of a branch in it end with one.
    let jumps = if is_loop(function, join, pc) { Vec::new() } else { around.collect() };
    Some(Body { shared: count as u32, jumps, slots: slots(code.clone()), code })
}

/// Whether `start` comes before `pc` on every way, so that a jump from there to it is a loop's.
fn is_loop(function: &Function, start: u32, pc: u32) -> bool {
    if start > pc {
        return false;
    }
    let mut seen = vec![false; function.code.len()];
    let mut open = vec![0];
    while let Some(at) = open.pop() {
        let Some(inst) = function.code.get(at as usize).filter(|_| at != start) else { continue };
        if at == pc {
            return false;
        }
        if std::mem::replace(&mut seen[at as usize], true) {
            continue;
        }
        match inst.op {
            Op::Branch { target } => {
                open.push(target);
                open.extend(inst.guard.is_some().then_some(at + 1));
            }
            Op::Return if inst.guard.is_none() => {}
            _ => open.push(at + 1),
        }
    }
    true
}

/// Returns the code, and where it goes on for all.
fn predicated(function: &Function, pc: u32) -> Option<(Range<u32>, u32)> {
    let branch = function.code.get(pc as usize)?;
    let (Op::Branch { target }, true) = (&branch.op, branch.guard.is_some()) else { return None };
    // LLVM writes `@p bra BODY; bra NEXT;` if the body is elsewhere.
    let next = match function.code.get(pc as usize + 1)? {
        Inst { op: Op::Branch { target }, guard: None, .. } => *target,
        _ => pc + 1,
    };
    let skipped = straight(function, pc + 1, *target).map(|code| (code, *target));
    skipped.or_else(|| straight(function, *target, next).map(|code| (code, next)))
}

/// Returns the code from `start` to `end` if it has no loop, barrier or call, and is left by falling through or by one
/// branch.
fn straight(function: &Function, start: u32, end: u32) -> Option<Range<u32>> {
    for pc in start..start.saturating_add(SHORT) {
        let there = pc == end;
        let inst = function.code.get(pc as usize)?;
        let arrives = matches!(inst.op, Op::Branch { target } if inst.guard.is_none() && target == end);
        if there || arrives {
            return (pc > start).then_some(start..pc);
        }
        match inst.op {
            Op::Pure(..)
            | Op::Load(_)
            | Op::Store(_)
            | Op::Discard { .. }
            | Op::ConvertAddress { .. }
            | Op::Nothing => {}
            _ => return None,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::Program;

    fn program(body: &str) -> Program {
        let text = format!(
            ".version 7.8\n.target sm_75\n.address_size 64\n.visible .entry k()\n{{\n.reg .pred %p<3>;\n.reg .b32 \
            %r<5>;\n{body}\n}}\n"
        );
        Program::parse(&text).expect("PTX")
    }

    fn found(text: &str) -> Option<Body> {
        let program = program(text);
        let code = &program.functions[0].code;
        let branch = code.iter().position(|inst| inst.guard.is_some()).expect("a branch");
        super::body(&program.functions[0], branch as u32, |code| code.len() as f64)
    }

    fn body(text: &str) -> Option<Range<u32>> {
        Some(found(text)?.code)
    }

    #[test]
    fn jumps_around_it_are_no_instructions_but_a_loop_keeps_its_own() {
        let text = |end: &str| {
            format!(
                "mov.u32 %r1, %tid.x;\nLOOP:\nsetp.lt.u32 %p1, %r1, 4;\n@%p1 bra BODY;\nbra.uni {end};\nBODY:\nadd.s32 \
                 %r1, %r1, 1;\nbra.uni {end};\nEND:\nret;"
            )
        };
        let jumps = |end: &str| found(&text(end)).map(|body| body.jumps);
        assert_eq!((jumps("END"), jumps("LOOP")), (Some(vec![5, 3]), Some(Vec::new())));
    }

    #[test]
    fn short_code_becomes_predicates() {
        let setp = "mov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 4;";
        assert_eq!(body(&format!("{setp}\n@%p1 bra END;\nadd.s32 %r2, %r1, 1;\nEND:\nret;")), Some(3..4));
        let elsewhere =
            format!("{setp}\n@%p1 bra BODY;\nbra.uni END;\nBODY:\nadd.s32 %r2, %r1, 1;\nbra.uni END;\nEND:\nret;");
        assert_eq!(body(&elsewhere), Some(4..5));
        assert_eq!(body(&format!("{setp}\n@%p1 bra END;\nbar.sync 0;\nEND:\nret;")), None);
        assert_eq!(body(&format!("{setp}\nLOOP:\nadd.s32 %r2, %r1, 1;\n@%p1 bra LOOP;\nret;")), None);
    }
}
