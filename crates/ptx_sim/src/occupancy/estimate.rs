//! Estimates a thread's registers without ptxas: the largest number of bits live at once, in units of 32-bit registers.
//!
//! The estimate reads PTX text and takes the first operand of an instruction as its destination. ptxas reorders
//! instructions, rematerialises values, spills, rounds up and reserves a few registers, so its count may differ by a
//! third in either direction.

use crate::program::{Function, Inst, Op, Program};
use std::collections::HashMap;

/// Limit on the bits of the liveness analysis; a larger function gets no estimate.
const MOST: usize = 1 << 30;

/// Estimates the registers of the function itself without its callees. `None` if the code is too long.
pub fn registers(program: &Program, function: &Function) -> Option<u32> {
    let widths = widths(program);
    let mut names = HashMap::new();
    let operands: Vec<Operands> =
        function.code.iter().map(|inst| operands(program, inst, &widths, &mut names)).collect();
    let words = names.len().div_ceil(64);
    if words.checked_mul(64)?.checked_mul(function.code.len())? > MOST {
        return None;
    }
    let mut live = vec![vec![0_u64; words]; function.code.len() + 1];
    let mut changed = true;
    while changed {
        changed = false;
        for pc in (0..function.code.len()).rev() {
            let mut now = vec![0; words];
            for next in successors(&function.code[pc], pc) {
                let after = live.get(next).map_or(&[][..], Vec::as_slice);
                now.iter_mut().zip(after).for_each(|(now, after)| *now |= after);
            }
            // A guarded instruction may keep the old value of its destination.
            if function.code[pc].guard.is_none() {
                operands[pc].writes.iter().for_each(|&register| now[register / 64] &= !(1 << (register % 64)));
            }
            operands[pc].reads.iter().for_each(|&register| now[register / 64] |= 1 << (register % 64));
            if now != live[pc] {
                live[pc] = now;
                changed = true;
            }
        }
    }
    let mut sizes = vec![0_u32; names.len()];
    names.values().for_each(|&(register, size)| sizes[register] = size);
    let count = |live: &Vec<u64>| -> u32 {
        sizes.iter().enumerate().filter(|(at, _)| live[at / 64] >> (at % 64) & 1 != 0).map(|(_, size)| size).sum()
    };
    live.iter().map(count).max()
}

#[derive(Default)]
struct Operands {
    reads: Vec<usize>,
    writes: Vec<usize>,
}

fn operands<'t>(
    program: &'t Program,
    inst: &Inst,
    widths: &HashMap<&str, u32>,
    names: &mut HashMap<&'t str, (usize, u32)>,
) -> Operands {
    let mut found = Operands::default();
    let Some(line) = inst.line.checked_sub(1).and_then(|line| program.source.get(line as usize)) else { return found };
    let text = line.split("//").next().unwrap_or_default().trim();
    // With several instructions on a line, or one spread over several lines, no register counts as overwritten.
    let alone = text.matches(';').count() == 1 && text.ends_with(';');
    let text = text.strip_prefix('@').and_then(|guarded| guarded.split_once(' ')).map_or(text, |(_, rest)| rest.trim());
    let writes =
        alone && !matches!(inst.op, Op::Store(_) | Op::Branch { .. } | Op::Return | Op::Exit | Op::Barrier { .. });
    let start = text.find(char::is_whitespace).unwrap_or(text.len());
    let first = &text[start..];
    let first_end = match first.trim_start().starts_with('{') {
        true => first.find('}'),
        false => first.find([',', ';']),
    };
    let end = start + first_end.unwrap_or(0);
    for (at, name) in words(text) {
        let Some(size) = width(name, widths) else { continue };
        let next = names.len();
        let (register, _) = *names.entry(name).or_insert((next, size));
        let in_brackets = text[..at].matches('[').count() > text[..at].matches(']').count();
        if writes && at < end && !in_brackets {
            found.writes.push(register);
        } else {
            found.reads.push(register);
        }
    }
    found
}

/// Finds the names that start with `%`, with their positions.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.match_indices('%').map(|(at, _)| {
        let rest = &text[at + 1..];
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '$').unwrap_or(rest.len());
        (at, &text[at..at + 1 + end])
    })
}

/// Widths by register name, or by the prefix before `<`, in 32-bit registers.
fn widths(program: &Program) -> HashMap<&str, u32> {
    let mut widths = HashMap::new();
    let declarations = program.source.iter().flat_map(|line| line.split(';')).filter_map(|part| {
        let (kind, names) = part.trim().strip_prefix(".reg")?.trim().split_once(char::is_whitespace)?;
        Some((kind.trim_start_matches('.'), names))
    });
    for (kind, names) in declarations {
        let size = match crate::syntax::type_bytes(kind) {
            _ if kind == "pred" => 0,
            Some(16) => 4,
            Some(8) => 2,
            _ => 1,
        };
        for name in names.split(',') {
            widths.insert(name.split('<').next().unwrap_or_default().trim(), size);
        }
    }
    widths
}

fn width(name: &str, widths: &HashMap<&str, u32>) -> Option<u32> {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    widths.get(name).or_else(|| widths.get(stem)).copied()
}

fn successors(inst: &Inst, pc: usize) -> Vec<usize> {
    let (mut next, ends): (Vec<usize>, bool) = match &inst.op {
        Op::Branch { target } => (vec![*target as usize], true),
        Op::BranchIndexed { targets, .. } => (targets.iter().map(|&target| target as usize).collect(), true),
        Op::Return | Op::Exit | Op::Trap => (Vec::new(), true),
        _ => (Vec::new(), false),
    };
    if !ends || inst.guard.is_some() {
        next.push(pc + 1);
    }
    next
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(body: &str) -> u32 {
        let text = format!(
            ".version 7.8\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 a)\n{{\n.reg .pred %p<4>;\n\
             .reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n{body}\nret;\n}}"
        );
        let program = Program::parse(&text).expect("PTX");
        registers(&program, &program.functions[0]).expect("short")
    }

    #[test]
    fn registers_live_at_once_are_counted() {
        let first = "ld.param.b64 %rd1, [a];\nmov.u32 %r1, %tid.x;\n";
        assert_eq!(estimate(&format!("{first}st.global.b32 [%rd1], %r1;")), 3);
        let chain = "add.s32 %r2, %r1, 1;\nadd.s32 %r3, %r2, 1;\nst.global.b32 [%rd1], %r3;";
        assert_eq!(estimate(&format!("{first}{chain}")), 3);
        let wide = "add.s32 %r2, %r1, 1;\nadd.s32 %r3, %r1, %r2;\nadd.s32 %r4, %r3, %r2;\nst.global.b32 [%rd1], %r4;";
        assert_eq!(estimate(&format!("{first}{wide}")), 4);
        assert_eq!(estimate("ret;\nexit;"), 0);
        let around = "L:\nsetp.eq.s32 %p1, %r1, 0;\n@%p1 bra L;\nst.global.b64 [%rd1], %rd1;";
        assert_eq!(estimate(&format!("{first}{around}")), 3);
    }
}
