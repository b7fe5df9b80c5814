//! Atomics that count lanes.

use crate::program::{AtomicOperation, Function, Op, Preset, Uses};
use crate::registers::Slot;

/// Whether an instruction adds the constant 1 to 32-bit words and its result is not used. On shared memory ptxas makes
/// `ATOMS.POPC.INC` of it, which adds up the lanes at the same word first.
pub(crate) fn counts_lanes(function: &Function, uses: &[Uses], pc: usize) -> bool {
    adds_ones(function, pc) && are_dead(uses, pc)
}

/// Whether an atomic instruction adds the constant 1 to 32-bit words.
pub(super) fn adds_ones(function: &Function, pc: usize) -> bool {
    let parts = match &function.code[pc].op {
        Op::AtomicVector(parts) => parts,
        Op::AtomicWide(halves) => halves.as_slice(),
        Op::Atomic(atomic) => std::slice::from_ref(atomic),
        _ => return false,
    };
    parts.iter().all(|part| {
        let unsigned = part.operation == AtomicOperation::Add && part.unsigned && part.bytes == 4;
        unsigned && is_one(function, part.b)
    })
}

/// Whether the operand is the constant 1.
fn is_one(function: &Function, slot: Slot) -> bool {
    function.preset.iter().any(|preset| matches!(preset, Preset::Const32(row, 1) if *row == slot))
}

/// Whether the registers that an instruction sets occur nowhere else in the function.
pub(super) fn are_dead(uses: &[Uses], pc: usize) -> bool {
    let once = |register: &u32| {
        let all = uses.iter().flat_map(|uses| uses.sets.iter().chain(&uses.reads));
        all.filter(|other| *other == register).count() == 1
    };
    uses[pc].sets.iter().all(once)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::{Inst, Program};

    #[test]
    fn a_result_is_dead_if_no_instruction_names_its_register_again() {
        let dead = |body: &str| {
            let text = format!(
                ".version 8.1\n.target sm_90\n.address_size 64\n.visible .entry k()\n{{\n.reg .pred %p<2>;\n\
                 .reg .b32 %r<9>;\n.reg .b64 %rd<2>;\n.reg .f32 %f<4>;\n{body}\nret;\n}}"
            );
            let program = Program::parse(&text).expect("PTX");
            let function = &program.functions[0];
            let atomic = |inst: &Inst| matches!(inst.op, Op::Atomic(_) | Op::AtomicVector(_));
            are_dead(&Uses::of_all(function), function.code.iter().position(atomic).expect("an atomic"))
        };
        let add = "atom.global.add.u32 %r1, [%rd1], 1;";
        assert!(dead(add));
        assert!(dead("red.global.add.u32 [%rd1], 1;"));
        assert!(dead("atom.global.add.u32 _, [%rd1], 1;"));
        assert!(!dead("atom.global.add.u32 %r1, [%rd1], %r1;"));
        assert!(!dead(&format!("{add} st.global.u32 [%rd1], %r1;")));
        // The layout of the text does not matter: a guard of any name, several instructions on a line, one on several.
        assert!(dead(".reg .pred wanted;\n@wanted atom.global.add.u32 %r1, [%rd1], 1;"));
        assert!(dead(&format!("mov.u32 %r2, %r3; {add}")));
        assert!(dead("atom.global.add.u32\n%r1, [%rd1], 1; // %r1"));
        assert!(!dead("atom.global.add.u32\n%r1, [%rd1], 1;\nst.global.u32 [%rd1], %r1;"));
        assert!(dead("atom.global.add.v2.f32 {%f2, %f3}, [%rd1], {%f1, %f1};"));
        assert!(!dead("atom.global.add.v2.f32 {%f2, %f3}, [%rd1], {%f1, %f1}; add.f32 %f1, %f3, %f3;"));
    }
}
