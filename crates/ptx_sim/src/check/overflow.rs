//! Detection of integer overflow, which is optional.
//!
//! PTX arithmetic wraps, and compilers rely on it: indices that count down, hashes, and negative offsets as large
//! unsigned numbers overflow intentionally. Moreover, LLVM writes `.s32` for signed and unsigned additions alike (the
//! bits are the same), so a type in PTX is a hint and not the type in the source. Only signed types are checked, and a
//! finding is a place to review.

use crate::isa::facts::{Arithmetic, Operation};

impl Arithmetic {
    /// Describes the sum, product or difference if it does not fit.
    pub fn overflow(self, sources: [u64; 3]) -> Option<String> {
        let unused = 64 - self.bits;
        let [a, b, c] = sources.map(|bits| i128::from((bits << unused) as i64 >> unused));
        let (exact, words) = match self.operation {
            Operation::Add => (a + b, format!("{a} + {b}")),
            Operation::Subtract => (a - b, format!("{a} - {b}")),
            Operation::Multiply => (a * b, format!("{a} * {b}")),
            Operation::MultiplyAdd => (a * b + c, format!("{a} * {b} + {c}")),
            Operation::Negate => (-a, format!("-({a})")),
        };
        let half = 1_i128 << (self.bits - 1);
        let fits = (-half..half).contains(&exact);
        (!fits).then(|| format!("{words} = {exact} does not fit in {} bits", self.bits))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::instructions;

    fn found(opcode: &str, sources: [i64; 3]) -> bool {
        let row = instructions::find(opcode).expect("an instruction of the table");
        row.facts.overflow.is_some_and(|a| a.overflow(sources.map(|v| v as u64)).is_some())
    }

    #[test]
    fn every_signed_sum_and_product_states_its_operation() {
        for bits in [16, 32, 64] {
            for (name, operation) in [
                ("add", Operation::Add),
                ("sub", Operation::Subtract),
                ("mul.lo", Operation::Multiply),
                ("mad.lo", Operation::MultiplyAdd),
                ("neg", Operation::Negate),
            ] {
                let facts =
                    |letter| instructions::find(&format!("{name}.{letter}{bits}")).map(|row| row.facts.overflow);
                assert_eq!(facts('s'), Some(Some(Arithmetic { operation, bits })), "{name}.s{bits}");
                assert!(facts('u').is_none_or(|overflow| overflow.is_none()), "{name}.u{bits}");
            }
        }
    }

    #[test]
    fn results_that_do_not_fit_are_reported() {
        assert!(found("add.s32", [i64::from(i32::MAX), 1, 0]) && !found("add.s32", [i64::from(i32::MAX), 0, 0]));
        assert!(found("sub.s16", [-32768, 1, 0]) && found("neg.s64", [i64::MIN, 0, 0]));
        assert!(found("mad.lo.s32", [65536, 32767, 65536]) && !found("mad.lo.s32", [65536, 32767, 65535]));
        assert!(found("mul.lo.s64", [i64::MAX, 2, 0]));
        assert!(!found("add.u32", [-1, 1, 0]) && !found("mul.wide.s32", [i64::from(i32::MAX); 3]));
        assert!(!found("add.f32", [0; 3]));
    }
}
