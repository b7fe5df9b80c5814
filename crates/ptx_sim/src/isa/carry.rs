//! Integers wider than a register: sums with the carry flag. PTX ISA, "Extended-Precision Integer Arithmetic
//! Instructions".
//!
//! The flag is a predicate row that is implicit in the text: the last destination, the last source.

use super::facts::Fidelity::Exact;
use super::facts::Latency::Alu;
use super::facts::Undefined::Any;
use super::facts::Work::Integer;
use super::facts::{Facts, facts, wrapping};
use super::lift::{Meaning, lift, lift_call};
use super::table::{Row, Table};

const SUM: Facts = wrapping(1).unchecked();
const PRODUCT_AND_SUM: Facts = wrapping(2).unchecked();
/// Facts of the upper half of a product, whose bits depend on all bits of the factors.
const HIGH: Facts = facts(Any, Integer(2), Alu, Exact);

/// Adds this chapter's rows.
pub fn list(t: &mut Table) {
    let mut row = |opcode: &str, facts: Facts, carry_in: bool, carry_out: bool, meaning: Meaning| {
        t.insert(opcode, Row { carry_in, carry_out, ..Row::new(facts, meaning) });
    };
    macro_rules! sums {
        ($t:ty, $names:literal) => {
            row(
                concat!("add.cc.", $names),
                SUM,
                false,
                true,
                lift!(($t, $t) -> ($t, bool), |a, b| a.overflowing_add(b)),
            );
            row(
                concat!("addc.cc.", $names),
                SUM,
                true,
                true,
                lift!(($t, $t, bool) -> ($t, bool), |a, b, c| {
                    let (sum, first) = a.overflowing_add(b);
                    let (sum, second) = sum.overflowing_add(<$t>::from(c));
                    (sum, first | second)
                }),
            );
            row(
                concat!("addc.", $names),
                SUM,
                true,
                false,
                lift!(($t, $t, bool) -> $t, |a, b, c| a.wrapping_add(b).wrapping_add(<$t>::from(c))),
            );
            // A difference is `a + !b + 1`: the flag is set if there is no borrow.
            row(
                concat!("sub.cc.", $names),
                SUM,
                false,
                true,
                lift!(($t, $t) -> ($t, bool), |a, b| (a.wrapping_sub(b), a >= b)),
            );
            row(
                concat!("subc.cc.", $names),
                SUM,
                true,
                true,
                lift!(($t, $t, bool) -> ($t, bool), |a, b, c| {
                    let (sum, first) = a.overflowing_add(!b);
                    let (sum, second) = sum.overflowing_add(<$t>::from(c));
                    (sum, first | second)
                }),
            );
            row(
                concat!("subc.", $names),
                SUM,
                true,
                false,
                lift!(($t, $t, bool) -> $t, |a, b, c| a.wrapping_add(!b).wrapping_add(<$t>::from(c))),
            );
        };
    }
    sums!(u32, "{u32|s32}");
    sums!(u64, "{u64|s64}");
    macro_rules! products {
        ($t:ty, $facts:expr, $name:literal, |$a:ident, $b:ident| $product:expr) => {
            row(
                concat!("mad.", $name),
                $facts,
                false,
                true,
                lift_call!(($t, $t, $t) -> ($t, bool), |$a, $b, c| $product.overflowing_add(c)),
            );
            row(
                concat!("madc.", $name),
                $facts,
                true,
                true,
                lift_call!(($t, $t, $t, bool) -> ($t, bool), |$a, $b, c, carry| {
                    let (sum, first) = $product.overflowing_add(c);
                    let (sum, second) = sum.overflowing_add(<$t>::from(carry));
                    (sum, first | second)
                }),
            );
        };
    }
    macro_rules! last_products {
        ($t:ty, $facts:expr, $name:literal, |$a:ident, $b:ident| $product:expr) => {
            row(
                concat!("madc.", $name),
                $facts,
                true,
                false,
                lift_call!(($t, $t, $t, bool) -> $t, |$a, $b, c, carry| {
                    $product.wrapping_add(c).wrapping_add(<$t>::from(carry))
                }),
            );
        };
    }
    products!(u32, PRODUCT_AND_SUM, "lo.cc.{u32|s32}", |a, b| a.wrapping_mul(b));
    products!(u32, HIGH, "hi.cc.u32", |a, b| ((u64::from(a) * u64::from(b)) >> 32) as u32);
    products!(u32, HIGH, "hi.cc.s32", |a, b| ((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u32);
    products!(u64, PRODUCT_AND_SUM, "lo.cc.{u64|s64}", |a, b| a.wrapping_mul(b));
    products!(u64, HIGH, "hi.cc.u64", |a, b| ((u128::from(a) * u128::from(b)) >> 64) as u64);
    products!(u64, HIGH, "hi.cc.s64", |a, b| ((i128::from(a as i64) * i128::from(b as i64)) >> 64) as u64);
    last_products!(u32, PRODUCT_AND_SUM, "lo.{u32|s32}", |a, b| a.wrapping_mul(b));
    last_products!(u32, HIGH, "hi.u32", |a, b| ((u64::from(a) * u64::from(b)) >> 32) as u32);
    last_products!(u32, HIGH, "hi.s32", |a, b| ((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u32);
    last_products!(u64, PRODUCT_AND_SUM, "lo.{u64|s64}", |a, b| a.wrapping_mul(b));
    last_products!(u64, HIGH, "hi.u64", |a, b| ((u128::from(a) * u128::from(b)) >> 64) as u64);
    last_products!(u64, HIGH, "hi.s64", |a, b| ((i128::from(a as i64) * i128::from(b as i64)) >> 64) as u64);
}

#[cfg(test)]
mod tests {
    use crate::isa::testing::check;

    #[test]
    fn carries() {
        check(&[
            ("add.cc.u32", &[0xffff_ffff, 1], &[0, 1]),
            ("add.cc.s64", &[u64::MAX, 1], &[0, 1]),
            ("addc.cc.u32", &[0xffff_ffff, 0, 1], &[0, 1]),
            ("addc.cc.u32", &[0xffff_ffff, 0xffff_ffff, 1], &[0xffff_ffff, 1]),
            ("addc.u32", &[1, 2, 1], &[4]),
            ("sub.cc.u32", &[0, 1], &[0xffff_ffff, 0]),
            ("sub.cc.u32", &[1, 1], &[0, 1]),
            ("subc.cc.u32", &[0, 0, 0], &[0xffff_ffff, 0]),
            ("subc.cc.u32", &[5, 5, 1], &[0, 1]),
            ("subc.u64", &[5, 3, 0], &[1]),
            ("mad.lo.cc.u32", &[0xffff_ffff, 1, 1], &[0, 1]),
            ("madc.hi.u32", &[0x8000_0000, 4, 1, 1], &[4]),
            ("madc.hi.cc.u64", &[1 << 63, 2, u64::MAX, 0], &[0, 1]),
        ]);
    }
}
