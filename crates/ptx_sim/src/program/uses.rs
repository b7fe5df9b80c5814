//! Registers that instructions read, wait for, and set.

use super::{Function, Inst, Op, operands};
use crate::registers::{File, NO_SLOT, Slot};

/// Operand registers of an instruction, as [`Rows::number`] numbers them.
///
/// [`Rows::number`]: crate::registers::Rows::number
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Uses {
    /// Registers that the instruction sets.
    pub sets: Vec<u32>,
    /// Registers that the instruction waits for.
    pub reads: Vec<u32>,
}

impl Uses {
    /// The registers of every instruction of a function.
    pub fn of_all(function: &Function) -> Vec<Self> {
        let number = |(file, slot): (File, Slot)| (slot != NO_SLOT).then(|| function.rows.number(file, slot));
        let each = |(inst, pc): (&Inst, u32)| {
            let found = operands(&inst.op, function.meaning(pc));
            let guard = inst.guard.map(|guard| (File::Pred, guard.pred));
            let reads = guard.into_iter().chain(found.decides).chain(found.sends);
            let sets = found.defines.into_iter().chain(found.receives);
            Self { sets: sets.filter_map(number).collect(), reads: reads.filter_map(number).collect() }
        };
        function.code.iter().zip(0..).map(each).collect()
    }
}

/// Whether any instruction uses a row. Rows with the same number in different files are not distinguished.
pub(crate) fn is_read(function: &Function, slot: Slot) -> bool {
    let guarded = |inst: &Inst| inst.guard.is_some_and(|guard| guard.pred == slot);
    function.code.iter().any(|inst| {
        guarded(inst)
            || match &inst.op {
                Op::Pure(_, args) => args.s.contains(&slot),
                Op::Collective { mask, args, .. } => *mask == slot || args.s.contains(&slot),
                Op::Load(access) => access.address.base == slot,
                Op::Store(access) => access.address.base == slot || access.registers.contains(&slot),
                Op::Atomic(atomic) => [atomic.address.base, atomic.b, atomic.c].contains(&slot),
                Op::Branch { .. } | Op::Return | Op::Exit | Op::Trap | Op::Nothing | Op::Fence(..) => false,
                Op::Barrier { id, count, .. } => *id == slot || *count == Some(slot),
                _ => true,
            }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Program;

    /// Returns the numbers of registers that a statement sets and waits for.
    fn counts(statement: &str) -> (usize, usize) {
        let text = format!(
            ".version 8.7\n.target sm_90\n.address_size 64\n.visible .entry k()\n{{\n.reg .pred %p<3>;\n\
             .reg .b32 %r<5>;\n.reg .b64 %rd<4>;\n$L:\n{statement}\nret;\n}}\n"
        );
        let program = Program::parse(&text).expect("PTX");
        let found = &Uses::of_all(&program.functions[0])[0];
        (found.sets.len(), found.reads.len())
    }

    #[test]
    fn destinations_are_set() {
        assert_eq!(counts("add.s32 %r3, %r1, %r2;"), (1, 2));
        assert_eq!(counts("ld.global.v2.b32 {%r1, %r2}, [%rd3+8];"), (2, 1));
        assert_eq!(counts("st.shared.b32 [%r4], %r2;"), (0, 2));
        assert_eq!(counts("@%p1 bra $L;"), (0, 1));
        // A special register is a row that is filled on entry.
        assert_eq!(counts("@!%p1 mov.u32 %r1, %tid.x;"), (1, 2));
        assert_eq!(counts("shfl.sync.down.b32 %r2|%p1, %r1, 16, 31, -1;"), (2, 4));
        assert_eq!(counts("mov.b64 {%r1, %r2}, %rd1;"), (2, 1));
        assert_eq!(counts("add.cc.u32 %r1, %r2, %r3;"), (2, 2));
        assert_eq!(counts("atom.global.add.u32 %r1, [%rd1], %r2;"), (1, 3));
        assert_eq!(counts("ret;"), (0, 0));
    }
}
