//! Propagation of undefined bits through an instruction that only computes: the rule of its row, applied to one lane.

use crate::isa::File;
use crate::isa::facts::{Comparison, Relation};

pub use crate::isa::facts::Undefined as Rule;

/// Returns the mask of all bits of a file's values.
pub fn ones(file: File) -> u64 {
    match file {
        File::Pred => 1,
        File::Half => 0xffff,
        File::Word | File::Single => 0xffff_ffff,
        File::Long | File::Double => u64::MAX,
    }
}

/// One source of one lane.
#[derive(Clone, Copy, Debug, Default)]
pub struct Source {
    /// Value.
    pub value: u64,
    /// Undefined bits.
    pub undefined: u64,
    /// Mask of all bits that the value has.
    pub ones: u64,
}

impl Rule {
    /// Whether the result is computed from the sources, rather than copied from their bits.
    pub fn computes(self) -> bool {
        !matches!(self, Self::Move(_) | Self::And | Self::Or | Self::Xor | Self::Lop3 | Self::Select | Self::Pack(_))
    }

    /// Returns the undefined bits of a result whose bits are `ones`; moves are not handled here.
    pub fn apply(self, sources: &[Source], ones: u64) -> u64 {
        let any = sources.iter().fold(0, |any, source| any | source.undefined);
        let all_if = |any: u64| if any != 0 { ones } else { 0 };
        let source = |i: usize| sources.get(i).copied().unwrap_or_default();
        let (a, b) = (source(0), source(1));
        ones & match self {
            Self::Any | Self::Move(_) => all_if(any),
            Self::And => a.undefined & b.undefined | a.undefined & b.value | b.undefined & a.value,
            Self::Or => a.undefined & b.undefined | a.undefined & !b.value | b.undefined & !a.value,
            Self::Xor => any,
            Self::Lop3 => lop3(a, b, source(2), source(3)),
            Self::Carry if ones == 1 => all_if(any),
            Self::Carry => any | any.wrapping_neg(),
            Self::Parts(bits) => spread(any, bits),
            Self::Pack(bits) => {
                let field = |source: Source| if source.undefined != 0 { (1 << bits) - 1 } else { 0 };
                field(a) << bits | field(b)
            }
            Self::Rounded(bits) => match sources.split_last() {
                Some((Source { undefined: 0, .. }, numbers)) => numbers
                    .iter()
                    .fold(0, |all, source| all << bits | if source.undefined != 0 { (1 << bits) - 1 } else { 0 }),
                _ => all_if(any),
            },
            Self::Select => match source(2) {
                Source { undefined: 0, value: 0, .. } => b.undefined,
                Source { undefined: 0, .. } => a.undefined,
                _ => a.value ^ b.value | a.undefined | b.undefined,
            },
            Self::Compare(comparison) => all_if(u64::from(!comparison.decided(a, b))),
        }
    }
}

impl Comparison {
    /// Whether the result is independent of the undefined bits.
    fn decided(self, a: Source, b: Source) -> bool {
        if self.relation == Relation::Equal {
            return (a.undefined | b.undefined) == 0
                || (a.value ^ b.value) & !(a.undefined | b.undefined) & a.ones != 0;
        }
        let sign = if self.signed { a.ones ^ a.ones >> 1 } else { 0 };
        let least = |x: Source| ((x.value ^ sign) & !x.undefined) & x.ones;
        let most = |x: Source| ((x.value ^ sign) | x.undefined) & x.ones;
        let holds = |x: u64, y: u64| if self.relation == Relation::Less { x < y } else { x <= y };
        holds(least(a), most(b)) == holds(most(a), least(b))
    }
}

/// A bit is undefined if both a 0 and a 1 are possible.
fn lop3(a: Source, b: Source, c: Source, table: Source) -> u64 {
    if table.undefined != 0 {
        return u64::MAX;
    }
    let (mut zero, mut one) = (0, 0);
    for i in 0..8 {
        let may = |source: Source, bit: u32| {
            if i >> bit & 1 != 0 { source.value | source.undefined } else { !source.value | source.undefined }
        };
        let possible = may(a, 2) & may(b, 1) & may(c, 0);
        if table.value >> i & 1 != 0 { one |= possible } else { zero |= possible }
    }
    zero & one
}

/// Returns all bits of each part of `bits` bits that contains a bit of `any`.
fn spread(any: u64, bits: u8) -> u64 {
    let part = u64::MAX >> (64 - bits);
    (0..64)
        .step_by(usize::from(bits))
        .map(|at| part << at)
        .filter(|part| any & part != 0)
        .fold(0, |all, part| all | part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(value: u64, undefined: u64) -> Source {
        Source { value, undefined, ones: 0xffff_ffff }
    }

    fn rule(opcode: &str) -> Rule {
        crate::isa::instructions::find(opcode).expect("an instruction of the table").facts.undefined
    }

    fn apply(opcode: &str, sources: &[Source]) -> u64 {
        rule(opcode).apply(sources, 0xffff_ffff)
    }

    #[test]
    fn logic_is_exact() {
        assert_eq!(apply("and.b32", &[word(0xffff, 0xff00), word(0x00ff, 0)]), 0);
        assert_eq!(apply("and.b32", &[word(0xffff, 0xff00), word(0x0f0f, 0)]), 0x0f00);
        assert_eq!(apply("or.b32", &[word(0, 0xff), word(0x0f, 0)]), 0xf0);
        assert_eq!(apply("xor.b32", &[word(0, 0xff), word(0x0f, 0)]), 0xff);
        // For the majority function, two equal defined bits determine the result.
        assert_eq!(apply("lop3.b32", &[word(1, 0), word(1, 0), word(0, 1), word(0xe8, 0)]), 0);
        assert_eq!(apply("lop3.b32", &[word(1, 0), word(0, 0), word(0, 1), word(0xe8, 0)]), 1);
    }

    #[test]
    fn arithmetic_spreads_upwards() {
        assert_eq!(apply("add.s32", &[word(0, 0x100), word(5, 0)]), 0xffff_ff00);
        assert_eq!(apply("add.f32", &[word(0, 0x100), word(5, 0)]), 0xffff_ffff);
        assert_eq!(apply("mul.hi.u32", &[word(0, 0x100), word(5, 0)]), 0xffff_ffff);
        assert_eq!(apply("add.f16x2", &[word(0, 0x10000), word(5, 0)]), 0xffff_0000);
        assert_eq!(apply("add.f32", &[word(0, 0), word(5, 0)]), 0);
    }

    #[test]
    fn comparisons_may_be_decided() {
        let all = 0xffff_ffff;
        assert_eq!(apply("setp.eq.s32", &[word(0, 0xff), word(0x100, 0)]), 0);
        assert_eq!(apply("setp.eq.s32", &[word(0x100, 0xff), word(0x100, 0)]), all);
        assert_eq!(apply("setp.lt.u32", &[word(0, 0xff), word(0x100, 0)]), 0);
        assert_eq!(apply("setp.lt.u32", &[word(0, 0xff), word(0x80, 0)]), all);
        // The sign bit is defined.
        assert_eq!(apply("setp.lt.s32", &[word(0x8000_0000, 0xff), word(0, 0)]), 0);
        assert_eq!(apply("setp.gt.s32", &[word(0, 0x4000_0000), word(5, 0)]), all);
    }

    #[test]
    fn a_selection_takes_one_side() {
        let p = |value, undefined| Source { value, undefined, ones: 1 };
        let select = |p| Rule::Select.apply(&[word(7, 0xf0), word(7, 0), p], 0xffff_ffff);
        assert_eq!((select(p(1, 0)), select(p(0, 0)), select(p(0, 1))), (0xf0, 0, 0xf0));
    }

    #[test]
    fn opcodes_have_rules() {
        assert_eq!(rule("cvt.u32.u16"), Rule::Move(1));
        assert_eq!(rule("cvt.rn.f32.s32"), Rule::Any);
        assert_eq!(rule("cvt.rn.f16x2.f32"), Rule::Pack(16));
        assert_eq!(rule("mad.wide.s32"), Rule::Carry);
        assert_eq!(rule("prmt.b32"), Rule::Move(3));
        assert_eq!(rule("fma.rn.f32"), Rule::Any);
    }

    #[test]
    fn packed_bytes_are_apart() {
        assert_eq!(Rule::Pack(8).apply(&[word(1, 1), word(1, 0)], 0xffff), 0xff00);
        assert_eq!(rule("cvt.rn.satfinite.e4m3x2.f32"), Rule::Pack(8));
        let (good, bad) = (word(1, 0), word(1, 1));
        assert_eq!(apply("cvt.rs.satfinite.e4m3x4.f32", &[good, bad, good, bad, good]), 0x00ff_00ff);
        assert_eq!(apply("cvt.rs.f16x2.f32", &[bad, good, good]), 0xffff_0000);
        assert_eq!(apply("cvt.rs.f16x2.f32", &[good, good, bad]), 0xffff_ffff);
    }
}
