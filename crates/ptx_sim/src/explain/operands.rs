//! Which registers an instruction waits for and which it sets, told from its line of PTX. Good enough for an estimate
//! of time: statements that share a line share their registers.

use crate::program::{Function, Program};
use std::collections::HashMap;

/// Registers by number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Operands {
    /// Sets.
    pub sets: Vec<u32>,
    /// Waits for; its own old value too where the line names it.
    pub reads: Vec<u32>,
}

/// Of every instruction of a function.
pub fn operands(program: &Program, function: &Function) -> Vec<Operands> {
    let mut numbers: HashMap<&str, u32> = HashMap::new();
    let mut of_line: HashMap<u32, Operands> = HashMap::new();
    let mut all = Vec::with_capacity(function.code.len());
    for inst in &function.code {
        let known = of_line.entry(inst.line).or_insert_with(|| {
            let text = program.source.get(inst.line.saturating_sub(1) as usize).map_or("", String::as_str);
            let (sets, reads) = split(text);
            let mut number = |name| {
                let next = numbers.len() as u32;
                *numbers.entry(name).or_insert(next)
            };
            Operands {
                sets: sets.into_iter().map(&mut number).collect(),
                reads: reads.into_iter().map(&mut number).collect(),
            }
        });
        all.push(known.clone());
    }
    all
}

/// Names behind `%` in the first operand, and in the rest. What has no destination has only the rest.
fn split(line: &str) -> (Vec<&str>, Vec<&str>) {
    let code = line.split("//").next().unwrap_or_default().trim();
    let (guard, rest) = match code.strip_prefix('@') {
        Some(_) => code.split_once(char::is_whitespace).unwrap_or((code, "")),
        None => ("", code),
    };
    let (opcode, operands) = rest.trim().split_once(char::is_whitespace).unwrap_or((rest, ""));
    let mut depth = 0_i32;
    let end = operands.find(|c| {
        depth += i32::from(matches!(c, '{' | '[')) - i32::from(matches!(c, '}' | ']'));
        c == ',' && depth == 0
    });
    let (first, others) = operands.split_at(end.unwrap_or(operands.len()));
    let name = opcode.split('.').next().unwrap_or_default();
    let without = matches!(
        name,
        "st" | "red" | "bra" | "brx" | "bar" | "barrier" | "call" | "membar" | "fence" | "prefetch" | "cp" | "mbarrier"
    ) || first.trim_start().starts_with('[');
    let mut reads = names(guard);
    if without {
        reads.extend(names(operands));
        return (Vec::new(), reads);
    }
    reads.extend(names(others));
    (names(first), reads)
}

fn names(text: &str) -> Vec<&str> {
    let end = |rest: &str| rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
    text.split('%').skip(1).map(|rest| &rest[..end(rest)]).filter(|name| !is_special(name)).collect()
}

fn is_special(name: &str) -> bool {
    ["tid", "ntid", "ctaid", "nctaid", "laneid", "warpid", "smid", "nsmid", "clock", "clock64", "globaltimer"]
        .contains(&name)
        || name.starts_with("lanemask")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_operand_is_set() {
        assert_eq!(split("\tadd.s32 \t%r3, %r1, %r2;"), (vec!["r3"], vec!["r1", "r2"]));
        assert_eq!(split("ld.global.v2.b32 {%r1, %r2}, [%rd3+8];"), (vec!["r1", "r2"], vec!["rd3"]));
        assert_eq!(split("st.shared.b32 [%r4], %r5; // %r6"), (vec![], vec!["r4", "r5"]));
        assert_eq!(split("@%p1 bra $L__BB0_3;"), (vec![], vec!["p1"]));
        assert_eq!(split("@!%p1 mov.u32 %r1, %tid.x;"), (vec!["r1"], vec!["p1"]));
        assert_eq!(split("shfl.sync.down.b32 %r2|%p1, %r1, 16, 31, -1;"), (vec!["r2", "p1"], vec!["r1"]));
        assert_eq!(split("mov.b64 {%r1, %r2}, %rd1;"), (vec!["r1", "r2"], vec!["rd1"]));
        assert_eq!(split("ret;"), (vec![], vec![]));
    }
}
