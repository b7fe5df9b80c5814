//! Integers wider than a register: sums whose carry goes through the carry flag. PTX ISA, "Extended-Precision Integer
//! Arithmetic Instructions".
//!
//! The flag is a predicate row that the text does not name: the last destination, the last source.

use super::lift::{Meaning, lift, lift_call};
use super::table::{Row, Table};

/// Adds this chapter's rows.
pub fn list(t: &mut Table) {
    let mut row = |opcode: &str, carry_in: bool, carry_out: bool, meaning: Meaning| {
        t.insert(opcode, Row { meaning, carry_in, carry_out, ..Row::default() });
    };
    macro_rules! sums {
        ($t:ty, $names:literal) => {
            row(concat!("add.cc.", $names), false, true, lift!(($t, $t) -> ($t, bool), |a, b| a.overflowing_add(b)));
            row(
                concat!("addc.cc.", $names),
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
                true,
                false,
                lift!(($t, $t, bool) -> $t, |a, b, c| a.wrapping_add(b).wrapping_add(<$t>::from(c))),
            );
            // A difference is `a + !b + 1`: the flag is set when nothing is borrowed.
            row(
                concat!("sub.cc.", $names),
                false,
                true,
                lift!(($t, $t) -> ($t, bool), |a, b| (a.wrapping_sub(b), a >= b)),
            );
            row(
                concat!("subc.cc.", $names),
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
                true,
                false,
                lift!(($t, $t, bool) -> $t, |a, b, c| a.wrapping_add(!b).wrapping_add(<$t>::from(c))),
            );
        };
    }
    sums!(u32, "{u32|s32}");
    sums!(u64, "{u64|s64}");
    macro_rules! products {
        ($t:ty, $name:literal, |$a:ident, $b:ident| $product:expr) => {
            row(
                concat!("mad.", $name),
                false,
                true,
                lift_call!(($t, $t, $t) -> ($t, bool), |$a, $b, c| $product.overflowing_add(c)),
            );
            row(
                concat!("madc.", $name),
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
        ($t:ty, $name:literal, |$a:ident, $b:ident| $product:expr) => {
            row(
                concat!("madc.", $name),
                true,
                false,
                lift_call!(($t, $t, $t, bool) -> $t, |$a, $b, c, carry| {
                    $product.wrapping_add(c).wrapping_add(<$t>::from(carry))
                }),
            );
        };
    }
    products!(u32, "lo.cc.{u32|s32}", |a, b| a.wrapping_mul(b));
    products!(u32, "hi.cc.u32", |a, b| ((u64::from(a) * u64::from(b)) >> 32) as u32);
    products!(u32, "hi.cc.s32", |a, b| ((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u32);
    products!(u64, "lo.cc.{u64|s64}", |a, b| a.wrapping_mul(b));
    products!(u64, "hi.cc.u64", |a, b| ((u128::from(a) * u128::from(b)) >> 64) as u64);
    products!(u64, "hi.cc.s64", |a, b| ((i128::from(a as i64) * i128::from(b as i64)) >> 64) as u64);
    last_products!(u32, "lo.{u32|s32}", |a, b| a.wrapping_mul(b));
    last_products!(u32, "hi.u32", |a, b| ((u64::from(a) * u64::from(b)) >> 32) as u32);
    last_products!(u32, "hi.s32", |a, b| ((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u32);
    last_products!(u64, "lo.{u64|s64}", |a, b| a.wrapping_mul(b));
    last_products!(u64, "hi.u64", |a, b| ((u128::from(a) * u128::from(b)) >> 64) as u64);
    last_products!(u64, "hi.s64", |a, b| ((i128::from(a as i64) * i128::from(b as i64)) >> 64) as u64);
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
