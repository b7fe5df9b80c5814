//! Integer arithmetic that machine code does in fewer instructions than PTX. A product or shift whose only use is a sum
//! is part of the sum: `IMAD.WIDE` and `LEA` multiply and add. An address of shared memory has 32 bits, so the upper
//! half of a 64-bit sum is not computed where it is used for nothing else.

use crate::isa::facts::{Operation, Undefined};
use crate::program::{Function, Op, Preset, Space, Uses};
use crate::registers::File;
use std::collections::{HashMap, HashSet};

/// How an instruction is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fused {
    /// As an instruction of its own, of as many words as its type needs.
    Apart,
    /// As a part of the sum that uses it.
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
    for pc in code.narrow(&readers, &writers) {
        found[pc] = Fused::One;
    }
    for (pc, own) in uses.iter().enumerate() {
        let scales = code.multiplies_wide(pc) || code.shifts_left(pc);
        let [result] = own.sets.as_slice() else { continue };
        if !scales || writers[result].len() > 1 {
            continue;
        }
        let Some([sum]) = readers.get(result).map(Vec::as_slice) else { continue };
        if code.adds(*sum) && found[*sum] != Fused::Part {
            found[pc] = Fused::Part;
            // `LEA` has two instructions for 64 bits, `IMAD.WIDE` one.
            if code.multiplies_wide(pc) {
                found[*sum] = Fused::One;
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
        let rows = &self.function.rows;
        (rows.w32..rows.w32 + rows.w64).contains(&register)
    }

    /// The rule for undefined bits, by which sums and shifts are known.
    fn rule(&self, pc: usize) -> Option<Undefined> {
        matches!(self.function.code.get(pc)?.op, Op::Pure(..)).then(|| self.function.facts(pc as u32).undefined)
    }

    /// A sum of two integers.
    fn adds(&self, pc: usize) -> bool {
        let overflow = self.function.facts(pc as u32).overflow;
        let product = overflow.is_some_and(|overflow| overflow.operation != Operation::Add);
        self.rule(pc) == Some(Undefined::Carry)
            && !product
            && !self.multiplies_wide(pc)
            && self.uses[pc].reads.len() == 2
    }

    /// A product of two words with 64 bits.
    fn multiplies_wide(&self, pc: usize) -> bool {
        let Uses { sets, reads } = &self.uses[pc];
        let wide = sets.iter().all(|&set| self.long(set)) && !reads.iter().any(|&read| self.long(read));
        self.rule(pc) == Some(Undefined::Carry) && wide && !sets.is_empty()
    }

    /// A shift by a constant.
    fn shifts_left(&self, pc: usize) -> bool {
        let constant = |register: u32| {
            let presets = self.function.preset.iter();
            let constants = presets.filter(|preset| matches!(preset, Preset::Const32(..)));
            constants.map(Preset::row).any(|(file, slot)| self.function.rows.number(file, slot) == register)
        };
        let [_, distance] = self.uses[pc].reads.as_slice() else { return false };
        matches!(self.rule(pc), Some(Undefined::Move(_))) && constant(*distance)
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
            _ => false,
        }
    }
}
