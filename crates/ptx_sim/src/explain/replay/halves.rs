//! Instructions that only move halves of 64-bit registers, which are pairs of 32-bit registers in machine code: ptxas
//! chooses the registers so that nothing is left to do.

use crate::isa::facts::Undefined;
use crate::program::{Function, Op, Preset, Uses};
use std::collections::HashSet;

/// Finds them: conversions between words and 64 bits, shifts of 64 bits by 32, masks of the lower half, and unions of a
/// half that was shifted up with another.
pub(super) fn halves(function: &Function, uses: &[Uses]) -> Vec<bool> {
    let long = |register: &u32| function.rows.is_long(*register);
    let constants = |is_half: fn(&Preset) -> bool| -> HashSet<u32> {
        let rows = function.preset.iter().filter(|&preset| is_half(preset)).map(Preset::row);
        rows.map(|(file, slot)| function.rows.number(file, slot)).collect()
    };
    let by_half = constants(|preset| matches!(preset, Preset::Const32(_, 32)));
    let masks = constants(|preset| matches!(preset, Preset::Const64(_, 0xffff_ffff)));
    let rule = |pc: usize| match function.code.get(pc).map(|inst| &inst.op) {
        Some(Op::Pure(..)) => Some(function.facts(pc as u32).undefined),
        _ => None,
    };
    let shifts = |pc: usize| {
        let Uses { sets, reads } = &uses[pc];
        let [value, distance] = reads.as_slice() else { return false };
        matches!(rule(pc), Some(Undefined::Move(_)))
            && sets.iter().all(long)
            && long(value)
            && by_half.contains(distance)
    };
    let shifted: HashSet<u32> =
        (0..uses.len()).filter(|&pc| shifts(pc)).flat_map(|pc| uses[pc].sets.iter().copied()).collect();
    let moves = |pc: usize| {
        let Uses { sets, reads } = &uses[pc];
        match rule(pc) {
            Some(Undefined::Move(_) | Undefined::Pack(32)) => {
                shifts(pc) || sets.iter().chain(reads).any(long) && !(sets.iter().all(long) && reads.iter().any(long))
            }
            Some(Undefined::And) => sets.iter().all(long) && reads.iter().any(|register| masks.contains(register)),
            Some(Undefined::Or) => sets.iter().all(long) && reads.iter().any(|register| shifted.contains(register)),
            _ => false,
        }
    };
    (0..uses.len()).map(moves).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Program;

    #[test]
    fn words_that_become_a_register_of_64_bits_cost_nothing() {
        let body = "cvt.u32.u64 %r1, %rd1;\nshr.u64 %rd2, %rd1, 32;\ncvt.u64.u32 %rd3, %r1;\nshl.b64 %rd4, %rd3, \
            32;\nor.b64 %rd5, %rd4, %rd2;\nmov.b64 {%r2, %r3}, %rd5;\nmov.b64 %rd6, {%r3, %r2};\nshl.b64 %rd7, \
            %rd6, 3;\nor.b64 %rd8, %rd7, %rd6;\nadd.s64 %rd9, %rd8, %rd7;\nor.b32 %r4, %r1, %r2;\nshl.b32 %r5, %r4, \
            32;\nand.b64 %rd1, %rd2, 4294967295;\nand.b64 %rd1, %rd2, 4294967294;";
        let text = format!(
            ".version 8.1\n.target sm_90\n.address_size 64\n.visible .entry k()\n{{\n.reg .b32 %r<9>;\n.reg .b64 \
             %rd<10>;\n{body}\nret;\n}}\n"
        );
        let program = Program::parse(&text).expect("PTX");
        let function = &program.functions[0];
        let found = halves(function, &Uses::of_all(function));
        let expected =
            [true, true, true, true, true, true, true, false, false, false, false, false, true, false, false];
        assert_eq!(found, expected);
    }
}
