//! Estimates a thread's registers without ptxas: the largest number of bits live at once, in units of 32-bit registers.
//!
//! ptxas reorders instructions, rematerialises values, spills, rounds up and reserves a few registers, so its count may
//! differ by a third in either direction.

use crate::program::{Function, Inst, Op, Preset, Uses};

/// Limit on the bits of the liveness analysis; a larger function gets no estimate.
const MOST: usize = 1 << 30;

/// Estimates the registers of the function itself without its callees. `None` if the code is too long.
pub fn registers(function: &Function) -> Option<u32> {
    let (uses, sizes) = (Uses::of_all(function), sizes(function));
    let words = sizes.len().div_ceil(64);
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
                uses[pc].sets.iter().for_each(|&row| now[row as usize / 64] &= !(1 << (row % 64)));
            }
            uses[pc].reads.iter().for_each(|&row| now[row as usize / 64] |= 1 << (row % 64));
            if now != live[pc] {
                live[pc] = now;
                changed = true;
            }
        }
    }
    let count = |live: &Vec<u64>| -> u32 {
        sizes.iter().enumerate().filter(|(at, _)| live[at / 64] >> (at % 64) & 1 != 0).map(|(_, size)| size).sum()
    };
    live.iter().map(count).max()
}

/// 32-bit registers that each row takes, by number. Predicates have registers of their own. Constants, special
/// registers and addresses of symbols are rows that are filled on entry; in machine code they need no register.
fn sizes(function: &Function) -> Vec<u32> {
    let rows = function.rows;
    let files = [(rows.w32, 1), (rows.w64, 2), (rows.pred, 0)];
    let mut sizes: Vec<u32> =
        files.into_iter().flat_map(|(rows, size)| std::iter::repeat_n(size, rows as usize)).collect();
    for (file, slot) in function.preset.iter().map(Preset::row) {
        if let Some(size) = sizes.get_mut(rows.number(file, slot) as usize) {
            *size = 0;
        }
    }
    sizes
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
        let program = crate::Program::parse(&text).expect("PTX");
        registers(&program.functions[0]).expect("short")
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

    #[test]
    fn the_layout_of_the_text_does_not_matter() {
        let chain = "add.s32 %r2, %r1, 1;\nadd.s32 %r3, %r2, 1;\nst.global.b32 [%rd1], %r3;";
        let text = format!("ld.param.b64 %rd1, [a];\nmov.u32 %r1, %tid.x;\n{chain}");
        assert_eq!(estimate(&text), 3);
        assert_eq!(estimate(&text.replace('\n', " ")), 3);
        assert_eq!(estimate(&text.replace(' ', "\n")), 3);
        let inner = "{ .reg .b64 address; ld.param.b64 address, [a]; st.global.b64 [address], address; }";
        assert_eq!(estimate(inner), 2);
    }
}
