//! Integer arithmetic that machine code does in fewer instructions than PTX. A product or shift whose only use is a sum
//! is part of the sum: `IMAD.WIDE` and `LEA` multiply and add. Bits that are only compared with zero are part of the
//! comparison, which `LOP3` makes. An address of shared memory has 32 bits, so the upper half of a 64-bit sum is not
//! computed where it is used for nothing else.

use crate::isa::facts::Work;
use crate::program::{Function, Op, Preset, Space, Uses};
use crate::registers::{Args, File, LANES, NO_SLOT, Registers};
use std::collections::{HashMap, HashSet};

/// How an instruction is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fused {
    /// As an instruction of its own, of as many words as its type needs.
    Apart,
    /// As a part of the sum or comparison that uses it.
    Part,
    /// As one instruction, although its result has 64 bits.
    One,
}

/// Finds the fused instructions of a function.
pub(super) fn fused(function: &Function, uses: &[Uses]) -> Vec<Fused> {
    let mut readers: HashMap<u32, Vec<usize>> = HashMap::new();
    let mut writers: HashMap<u32, Vec<usize>> = HashMap::new();
    for (pc, own) in uses.iter().enumerate() {
        own.reads.iter().for_each(|&register| readers.entry(register).or_default().push(pc));
        own.sets.iter().for_each(|&register| writers.entry(register).or_default().push(pc));
    }
    let code = Code { function, uses };
    let mut found = vec![Fused::Apart; uses.len()];
    // An instruction takes one of them: the sum of two products is a product and a sum.
    let mut taken = HashSet::new();
    for pc in code.narrow(&readers, &writers) {
        found[pc] = Fused::One;
    }
    for (pc, own) in uses.iter().enumerate() {
        let scales = code.multiplies_wide(pc) || code.shifts_left(pc);
        let [result] = own.sets.as_slice() else { continue };
        if !(scales || code.selects_bits(pc)) || writers[result].len() > 1 {
            continue;
        }
        let Some([reader]) = readers.get(result).map(Vec::as_slice) else { continue };
        let takes = if scales { code.adds(*reader) } else { code.compares_with_zero(*reader) };
        if takes && taken.insert(*reader) {
            found[pc] = Fused::Part;
            // `LEA` has two instructions for 64 bits, `IMAD.WIDE` one.
            if code.multiplies_wide(pc) {
                found[*reader] = Fused::One;
            }
        }
    }
    found
}

struct Code<'a> {
    function: &'a Function,
    uses: &'a [Uses],
}

impl Code<'_> {
    fn long(&self, register: u32) -> bool {
        self.function.rows.is_long(register)
    }

    /// What an instruction of two operands computes of two numbers.
    fn of(&self, pc: usize, values: [u64; 2]) -> Option<u64> {
        let Op::Pure(pure, args) = &self.function.code.get(pc)?.op else { return None };
        let meaning = self.function.meaning(pc as u32)?;
        let (&[result, ..], [_, _]) = (meaning.d, meaning.s) else { return None };
        let (w32, w64) = (vec![[0; LANES]; 3], vec![[0; LANES]; 3]);
        let mut registers = Registers { w32, w64, pred: vec![0; 3], ..Registers::default() };
        for (row, (file, value)) in meaning.s.iter().zip(values).enumerate() {
            match file {
                File::Word => registers.w32[row][0] = value as u32,
                File::Long => registers.w64[row][0] = value,
                _ => return None,
            }
        }
        let none = NO_SLOT;
        (pure.baseline)(&mut registers, 1, &Args { d: [2, none, none, none], s: [0, 1, none, none, none], ..*args });
        match result {
            File::Word => Some(u64::from(registers.w32[2][0])),
            File::Long => Some(registers.w64[2][0]),
            File::Pred => Some(u64::from(registers.pred[2] & 1)),
            _ => None,
        }
    }

    fn is_integer(&self, pc: usize) -> bool {
        matches!(self.function.facts(pc as u32).work, Work::Integer(_))
    }

    /// A sum of two integers.
    fn adds(&self, pc: usize) -> bool {
        self.is_integer(pc) && self.of(pc, [7, 9]) == Some(16)
    }

    /// A product of two words with 64 bits.
    fn multiplies_wide(&self, pc: usize) -> bool {
        let Uses { sets, reads } = &self.uses[pc];
        let wide = sets.iter().all(|&set| self.long(set)) && !reads.iter().any(|&read| self.long(read));
        wide && self.is_integer(pc) && self.of(pc, [7, 9]) == Some(63)
    }

    /// The constant that a register holds.
    fn constant(&self, register: u32) -> Option<u32> {
        let number = |file, slot| self.function.rows.number(file, slot);
        self.function.preset.iter().find_map(|preset| match *preset {
            Preset::Const32(slot, value) if number(File::Word, slot) == register => Some(value),
            _ => None,
        })
    }

    /// A shift to the left by a constant.
    fn shifts_left(&self, pc: usize) -> bool {
        let [_, distance] = self.uses[pc].reads.as_slice() else { return false };
        self.is_integer(pc) && self.constant(*distance).is_some() && self.of(pc, [7, 3]) == Some(56)
    }

    /// A bitwise operation on two words.
    fn selects_bits(&self, pc: usize) -> bool {
        let short = self.uses[pc].sets.iter().all(|&set| !self.long(set));
        short && self.is_integer(pc) && matches!(self.of(pc, [12, 10]), Some(8 | 14 | 6))
    }

    /// Whether a word is zero, or is not.
    fn compares_with_zero(&self, pc: usize) -> bool {
        let [_, zero] = self.uses[pc].reads.as_slice() else { return false };
        let of = |word: i32| self.of(pc, [u64::from(word as u32), 0]);
        self.constant(*zero) == Some(0) && of(0).is_some() && of(0) != of(1) && of(1) == of(-1)
    }

    /// The instructions whose 64-bit results are used for addresses of shared memory and for such results alone.
    fn narrow(&self, readers: &HashMap<u32, Vec<usize>>, writers: &HashMap<u32, Vec<usize>>) -> HashSet<usize> {
        let low = |pc: usize| {
            let [result] = self.uses[pc].sets.as_slice() else { return false };
            let by_low = self.adds(pc) || self.multiplies_wide(pc) || self.shifts_left(pc);
            by_low && self.long(*result) && writers[result].len() == 1
        };
        let mut narrow: HashSet<usize> = (0..self.uses.len()).filter(|&pc| low(pc)).collect();
        loop {
            let wide: Vec<usize> = narrow
                .iter()
                .copied()
                .filter(|&pc| {
                    let result = self.uses[pc].sets[0];
                    let readers = readers.get(&result).map_or(&[][..], Vec::as_slice);
                    !readers.iter().all(|reader| narrow.contains(reader) || self.shared(*reader, result))
                })
                .collect();
            if wide.is_empty() {
                return narrow;
            }
            wide.iter().for_each(|pc| {
                narrow.remove(pc);
            });
        }
    }

    /// Whether an instruction uses a register as an address of shared memory alone.
    fn shared(&self, pc: usize, register: u32) -> bool {
        let number = |file, slot| self.function.rows.number(file, slot);
        match &self.function.code[pc].op {
            Op::Load(access) | Op::Store(access) => {
                let value = access.wide && access.registers.iter().any(|&row| number(File::Long, row) == register);
                let stores = matches!(self.function.code[pc].op, Op::Store(_));
                access.space == Space::Shared && !(stores && value)
            }
            Op::Atomic(atomic) => {
                let operands = [atomic.b, atomic.c].map(|row| number(File::Long, row));
                atomic.space == Space::Shared && !(atomic.wide && operands.contains(&register))
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Program;

    /// How each instruction of a kernel with this body is executed.
    fn of(body: &str) -> Vec<Fused> {
        let text = format!(
            ".version 8.1\n.target sm_90\n.address_size 64\n.visible .entry k()\n{{\n.reg .pred %p<2>;\n.reg .b32 \
             %r<9>;\n.reg .b64 %rd<9>;\n{body}\nret;\n}}\n"
        );
        let program = Program::parse(&text).expect("PTX");
        let function = &program.functions[0];
        let mut found = fused(function, &Uses::of_all(function));
        assert_eq!(found.pop(), Some(Fused::Apart), "ret");
        found
    }

    #[test]
    fn a_product_is_part_of_the_only_sum_that_uses_it() {
        let product = "mul.wide.u32 %rd1, %r1, 4;\nadd.s64 %rd2, %rd3, %rd1;\nld.global.b32 %r2, [%rd2];";
        assert_eq!(of(product), [Fused::Part, Fused::One, Fused::Apart]);
        let shift = "shl.b64 %rd1, %rd4, 2;\nadd.s64 %rd2, %rd3, %rd1;\nld.global.b32 %r2, [%rd2];";
        assert_eq!(of(shift), [Fused::Part, Fused::Apart, Fused::Apart]);
        assert_eq!(of(&shift.replace("shl.b64", "shr.u64")), [Fused::Apart; 3]);
        let twice = format!("{product}\nadd.s64 %rd5, %rd4, %rd1;\nst.global.b64 [%rd2], %rd5;");
        assert_eq!(of(&twice)[..2], [Fused::Apart; 2]);
        assert_eq!(of(&product.replace("add.s64", "sub.s64"))[..2], [Fused::Apart; 2]);
        let both = "mul.wide.u32 %rd1, %r1, 4;\nmul.wide.u32 %rd2, %r2, 4;\nadd.s64 %rd3, %rd1, %rd2;\n\
            st.global.b64 [%rd4], %rd3;";
        assert_eq!(of(both)[..3], [Fused::Part, Fused::Apart, Fused::One]);
    }

    #[test]
    fn bits_are_part_of_their_comparison_with_zero() {
        let mask = "and.b32 %r1, %r2, %r3;\nsetp.ne.s32 %p1, %r1, 0;\nselp.b32 %r4, %r5, %r6, %p1;";
        assert_eq!(of(mask), [Fused::Part, Fused::Apart, Fused::Apart]);
        assert_eq!(of(&mask.replace("%r1, 0;", "%r1, 1;")), [Fused::Apart; 3]);
        assert_eq!(of(&mask.replace("setp.ne.s32", "setp.lt.s32")), [Fused::Apart; 3]);
        assert_eq!(of(&mask.replace("selp.b32 %r4, %r5", "selp.b32 %r4, %r1")), [Fused::Apart; 3]);
        assert_eq!(of(&mask.replace("and.b32", "shl.b32")), [Fused::Apart; 3]);
    }

    #[test]
    fn addresses_of_shared_memory_have_no_upper_half() {
        let body = "add.s64 %rd1, %rd2, %rd3;\nadd.s64 %rd4, %rd1, %rd3;\nld.shared.b32 %r1, [%rd4];";
        assert_eq!(of(body), [Fused::One, Fused::One, Fused::Apart]);
        // A value, or a result that is used otherwise too, has all bits.
        let stored = format!("{body}\nst.shared.b64 [%rd2], %rd1;");
        assert_eq!(of(&stored), [Fused::Apart, Fused::One, Fused::Apart, Fused::Apart]);
        assert_eq!(of(&body.replace("ld.shared", "ld.global")), [Fused::Apart; 3]);
        let atomic = body.replace("ld.shared.b32 %r1, [%rd4];", "red.shared.add.u64 [%rd4], %rd6;");
        assert_eq!(of(&atomic), [Fused::One, Fused::One, Fused::Apart]);
        assert_eq!(of(&atomic.replace("%rd6", "%rd4")), [Fused::Apart; 3]);
    }
}
