//! Integer arithmetic. PTX ISA, "Integer Arithmetic Instructions".

use super::facts::Fidelity::Exact;
use super::facts::Latency::{Alu, Special};
use super::facts::Undefined::Any;
use super::facts::Work::Integer;
use super::facts::{Facts, Operation, Wrapping, facts, wrapping};
use super::lift::{lift, lift_call};
use super::table::Table;

/// Facts of sums and the low bits of products: an undefined bit makes those above it undefined.
const SUM: Wrapping = wrapping(1);
const PRODUCT_AND_SUM: Wrapping = wrapping(2);
/// Facts of one operation whose result depends on all bits.
const ONE: Facts = facts(Any, Integer(1), Alu, Exact);
/// Facts of two operations whose result depends on all bits.
const TWO: Facts = facts(Any, Integer(2), Alu, Exact);
const QUOTIENT: Facts = facts(Any, Integer(1), Special, Exact);
const DOT4: Facts = facts(Any, Integer(8), Alu, Exact);
const DOT2: Facts = facts(Any, Integer(4), Alu, Exact);

/// Adds this chapter's rows.
pub fn list(t: &mut Table) {
    sums_and_products(t);
    wide_products(t);
    quotients(t);
    extremes(t);
    saturating(t);
    multiply24(t);
    dot_products(t);
    pairs(t);
}

fn sums_and_products(t: &mut Table) {
    // The same bits for unsigned and for signed numbers, which may overflow.
    macro_rules! wraps {
        ($un:literal, $sn:literal, $name:literal, $facts:expr, $operation:ident, $bits:expr, $meaning:expr) => {
            let meaning = $meaning;
            t.row(concat!($name, $un), $facts.unchecked(), meaning);
            t.row(concat!($name, $sn), $facts.signed(Operation::$operation, $bits), meaning);
        };
    }
    macro_rules! both {
        ($u:ident, $i:ident, $wide:ty, $iwide:ty, $un:literal, $sn:literal) => {
            wraps!($un, $sn, "add.", SUM, Add, $u::BITS, lift!(($u, $u) -> $u, |a, b| a.wrapping_add(b)));
            wraps!($un, $sn, "sub.", SUM, Subtract, $u::BITS, lift!(($u, $u) -> $u, |a, b| a.wrapping_sub(b)));
            wraps!($un, $sn, "mul.lo.", SUM, Multiply, $u::BITS, lift!(($u, $u) -> $u, |a, b| a.wrapping_mul(b)));
            wraps!($un, $sn, "mad.lo.", PRODUCT_AND_SUM, MultiplyAdd, $u::BITS, {
                lift!(($u, $u, $u) -> $u, |a, b, c| a.wrapping_mul(b).wrapping_add(c))
            });
            t.row(concat!("mul.hi.", $un), ONE, lift!(($u, $u) -> $u, |a, b| high!($u, $wide, a, b)));
            t.row(concat!("mul.hi.", $sn), ONE, lift!(($i, $i) -> $i, |a, b| high!($i, $iwide, a, b)));
            t.row(
                concat!("mad.hi.", $un),
                TWO,
                lift!(($u, $u, $u) -> $u, |a, b, c| high!($u, $wide, a, b).wrapping_add(c)),
            );
            t.row(
                concat!("mad.hi.", $sn),
                TWO,
                lift!(($i, $i, $i) -> $i, |a, b, c| high!($i, $iwide, a, b).wrapping_add(c)),
            );
            t.row(concat!("sad.", $un), TWO, lift!(($u, $u, $u) -> $u, |a, b, c| c.wrapping_add(a.abs_diff(b))));
            t.row(concat!("sad.", $sn), TWO, lift!(($i, $i, $u) -> $u, |a, b, c| c.wrapping_add(a.abs_diff(b))));
            t.row(
                concat!("neg.", $sn),
                SUM.signed(Operation::Negate, $u::BITS),
                lift!(($i) -> $i, |a| a.wrapping_neg()),
            );
            t.row(concat!("abs.", $sn), ONE, lift!(($i) -> $i, |a| a.wrapping_abs()));
        };
    }
    macro_rules! high {
        ($t:ty, $wide:ty, $a:ident, $b:ident) => {
            (($a as $wide * $b as $wide) >> <$t>::BITS) as $t
        };
    }
    both!(u16, i16, u32, i32, "u16", "s16");
    both!(u32, i32, u64, i64, "u32", "s32");
    both!(u64, i64, u128, i128, "u64", "s64");
}

fn wide_products(t: &mut Table) {
    macro_rules! wide {
        ($t:ty, $w:ty, $n:literal) => {
            t.row(concat!("mul.wide.", $n), SUM.unchecked(), lift!(($t, $t) -> $w, |a, b| a as $w * b as $w));
            t.row(
                concat!("mad.wide.", $n),
                PRODUCT_AND_SUM.unchecked(),
                lift!(($t, $t, $w) -> $w, |a, b, c| (a as $w * b as $w).wrapping_add(c)),
            );
        };
    }
    wide!(u16, u32, "u16");
    wide!(i16, i32, "s16");
    wide!(u32, u64, "u32");
    wide!(i32, i64, "s32");
}

/// PTX does not specify division by zero; an H200 gives all ones, as quotient and as remainder.
fn quotients(t: &mut Table) {
    macro_rules! unsigned {
        ($t:ty, $n:literal) => {
            t.row(
                concat!("div.", $n),
                QUOTIENT,
                lift_call!(($t, $t) -> $t, |a, b| a.checked_div(b).unwrap_or(<$t>::MAX)),
            );
            t.row(
                concat!("rem.", $n),
                QUOTIENT,
                lift_call!(($t, $t) -> $t, |a, b| a.checked_rem(b).unwrap_or(<$t>::MAX)),
            );
        };
    }
    macro_rules! signed {
        ($t:ty, $n:literal) => {
            t.row(
                concat!("div.", $n),
                QUOTIENT,
                lift_call!(($t, $t) -> $t, |a, b| if b == 0 { -1 } else { a.wrapping_div(b) }),
            );
            t.row(
                concat!("rem.", $n),
                QUOTIENT,
                lift_call!(($t, $t) -> $t, |a, b| if b == 0 { -1 } else { a.wrapping_rem(b) }),
            );
        };
    }
    unsigned!(u16, "u16");
    unsigned!(u32, "u32");
    unsigned!(u64, "u64");
    signed!(i16, "s16");
    signed!(i32, "s32");
    signed!(i64, "s64");
}

fn extremes(t: &mut Table) {
    macro_rules! extreme {
        ($t:ty, $n:literal) => {
            t.row(concat!("min.", $n), ONE, lift!(($t, $t) -> $t, |a, b| if b < a { b } else { a }));
            t.row(concat!("max.", $n), ONE, lift!(($t, $t) -> $t, |a, b| if b > a { b } else { a }));
        };
    }
    extreme!(u16, "u16");
    extreme!(i16, "s16");
    extreme!(u32, "u32");
    extreme!(i32, "s32");
    extreme!(u64, "u64");
    extreme!(i64, "s64");
    t.row("min.relu.s32", ONE, lift!((i32, i32) -> i32, |a, b| a.min(b).max(0)));
    t.row("max.relu.s32", ONE, lift!((i32, i32) -> i32, |a, b| a.max(b).max(0)));
}

fn saturating(t: &mut Table) {
    t.row("add.sat.s32", ONE, lift!((i32, i32) -> i32, |a, b| a.saturating_add(b)));
    t.row("sub.sat.s32", ONE, lift!((i32, i32) -> i32, |a, b| a.saturating_sub(b)));
    t.row(
        "mad.hi.sat.s32",
        TWO,
        lift!((i32, i32, i32) -> i32, |a, b, c| (((i64::from(a) * i64::from(b)) >> 32) as i32).saturating_add(c)),
    );
}

/// Products of the low 24 bits of the operands; `.hi` gives bits 16 to 47 of the product.
fn multiply24(t: &mut Table) {
    macro_rules! multiply {
        ($t:ty, $wide:ty, $n:literal, $low:expr) => {
            t.row(
                concat!("mul24.lo.", $n),
                SUM.unchecked(),
                lift_call!(($t, $t) -> $t, |a, b| ($low(a) as $wide * $low(b) as $wide) as $t),
            );
            t.row(
                concat!("mul24.hi.", $n),
                ONE,
                lift_call!(($t, $t) -> $t, |a, b| (($low(a) as $wide * $low(b) as $wide) >> 16) as $t),
            );
            t.row(
                concat!("mad24.lo.", $n),
                PRODUCT_AND_SUM.unchecked(),
                lift_call!(($t, $t, $t) -> $t, |a, b, c| (($low(a) as $wide * $low(b) as $wide) as $t).wrapping_add(c)),
            );
            t.row(
                concat!("mad24.hi.", $n),
                TWO,
                lift_call!(($t, $t, $t) -> $t, |a, b, c| {
                    ((($low(a) as $wide * $low(b) as $wide) >> 16) as $t).wrapping_add(c)
                }),
            );
        };
    }
    multiply!(u32, u64, "u32", |x: u32| x & 0xff_ffff);
    multiply!(i32, i64, "s32", |x: i32| x << 8 >> 8);
}

/// Dot products: `dp4a` multiplies four bytes by four bytes, `dp2a` two halves by two of the four bytes.
fn dot_products(t: &mut Table) {
    macro_rules! dot {
        ($an:literal, $a8:ty, $a16:ty, $bn:literal, $b8:ty) => {
            t.row(
                concat!("dp4a.", $an, ".", $bn),
                DOT4,
                lift_call!((u32, u32, u32) -> u32, |a, b, c| {
                    (0..4).fold(c, |sum, i| {
                        let product = (a >> (8 * i)) as $a8 as i32 * (b >> (8 * i)) as $b8 as i32;
                        sum.wrapping_add(product as u32)
                    })
                }),
            );
            dot!(@ $an, $a16, $bn, $b8, "lo", 0);
            dot!(@ $an, $a16, $bn, $b8, "hi", 16);
        };
        (@ $an:literal, $a16:ty, $bn:literal, $b8:ty, $half:literal, $shift:literal) => {
            t.row(
                concat!("dp2a.", $half, ".", $an, ".", $bn),
                DOT2,
                lift_call!((u32, u32, u32) -> u32, |a, b, c| {
                    (0..2).fold(c, |sum, i| {
                        let product = (a >> (16 * i)) as $a16 as i32 * (b >> ($shift + 8 * i)) as $b8 as i32;
                        sum.wrapping_add(product as u32)
                    })
                }),
            );
        };
    }
    dot!("u32", u8, u16, "u32", u8);
    dot!("u32", u8, u16, "s32", i8);
    dot!("s32", i8, i16, "u32", u8);
    dot!("s32", i8, i16, "s32", i8);
}

/// Operations on pairs of 16-bit numbers in a register.
fn pairs(t: &mut Table) {
    macro_rules! pair {
        ($name:literal, $t:ty, |$a:ident, $b:ident| $value:expr) => {
            t.row(
                $name,
                ONE.packed(16),
                lift!((u32, u32) -> u32, |a, b| {
                    let f = |$a: $t, $b: $t| -> $t { $value };
                    u32::from(f(a as $t, b as $t) as u16) | u32::from(f((a >> 16) as $t, (b >> 16) as $t) as u16) << 16
                }),
            );
        };
    }
    pair!("add.{u16x2|s16x2}", u16, |a, b| a.wrapping_add(b));
    pair!("min.u16x2", u16, |a, b| a.min(b));
    pair!("max.u16x2", u16, |a, b| a.max(b));
    pair!("min.s16x2", i16, |a, b| a.min(b));
    pair!("max.s16x2", i16, |a, b| a.max(b));
    pair!("min.relu.s16x2", i16, |a, b| a.min(b).max(0));
    pair!("max.relu.s16x2", i16, |a, b| a.max(b).max(0));
}

#[cfg(test)]
mod tests {
    use crate::isa::testing::check;

    #[test]
    fn sums_and_products_wrap() {
        check(&[
            ("add.s32", &[0xffff_ffff, 2], &[1]),
            ("add.u16", &[0xffff, 2], &[1]),
            ("sub.s64", &[0, 1], &[u64::MAX]),
            ("mul.lo.s32", &[0x8000_0001, 2], &[2]),
            ("mul.hi.u32", &[0xffff_ffff, 0xffff_ffff], &[0xffff_fffe]),
            ("mul.hi.s32", &[0xffff_ffff, 2], &[0xffff_ffff]),
            ("mul.hi.u64", &[u64::MAX, u64::MAX], &[u64::MAX - 1]),
            ("mul.hi.s64", &[u64::MAX, 2], &[u64::MAX]),
            ("mul.hi.s16", &[0x8000, 0x8000], &[0x4000]),
            ("mul.wide.s32", &[0xffff_ffff, 4], &[0xffff_ffff_ffff_fffc]),
            ("mul.wide.u32", &[0xffff_ffff, 4], &[0x3_ffff_fffc]),
            ("mul.wide.u16", &[0xffff, 0xffff], &[0xfffe_0001]),
            ("mad.lo.s32", &[3, 4, 0xffff_fff4], &[0]),
            ("mad.wide.s32", &[0xffff_ffff, 1, 1], &[0]),
            ("mad.hi.u32", &[0x8000_0000, 4, 5], &[7]),
            ("sad.s32", &[0xffff_ffff, 1, 10], &[12]),
            ("sad.u32", &[0xffff_ffff, 1, 1], &[0xffff_ffff]),
            ("neg.s32", &[0x8000_0000], &[0x8000_0000]),
            ("abs.s32", &[0x8000_0000], &[0x8000_0000]),
            ("abs.s16", &[0xffff], &[1]),
            ("abs.s64", &[u64::MAX], &[1]),
        ]);
    }

    #[test]
    fn division_by_zero_does_not_stop() {
        check(&[
            ("div.u32", &[7, 2], &[3]),
            ("div.s32", &[0xffff_fff9, 2], &[0xffff_fffd]),
            ("div.u32", &[7, 0], &[0xffff_ffff]),
            ("div.s32", &[7, 0], &[0xffff_ffff]),
            ("div.s32", &[0x8000_0000, 0xffff_ffff], &[0x8000_0000]),
            ("div.s64", &[1 << 63, u64::MAX], &[1 << 63]),
            ("div.u64", &[7, 0], &[u64::MAX]),
            ("rem.u32", &[7, 0], &[0xffff_ffff]),
            ("rem.s32", &[0xffff_fff9, 2], &[0xffff_ffff]),
            ("rem.s32", &[0x8000_0000, 0xffff_ffff], &[0]),
            ("rem.s64", &[1 << 63, u64::MAX], &[0]),
        ]);
    }

    #[test]
    fn extremes_and_saturation() {
        check(&[
            ("min.s32", &[0xffff_ffff, 1], &[0xffff_ffff]),
            ("min.u32", &[0xffff_ffff, 1], &[1]),
            ("max.s64", &[u64::MAX, 1], &[1]),
            ("max.u16", &[0xffff, 1], &[0xffff]),
            ("max.s16", &[0xffff, 1], &[1]),
            ("max.relu.s32", &[0xffff_ffff, 0xffff_fffe], &[0]),
            ("add.sat.s32", &[0x7fff_ffff, 1], &[0x7fff_ffff]),
            ("sub.sat.s32", &[0x8000_0000, 1], &[0x8000_0000]),
            ("mad.hi.sat.s32", &[0x7fff_ffff, 0x7fff_ffff, 0x7fff_ffff], &[0x7fff_ffff]),
        ]);
    }

    #[test]
    fn narrow_products() {
        check(&[
            ("mul24.lo.u32", &[0xff00_0003, 5], &[15]),
            ("mul24.hi.u32", &[0xff_ffff, 0xff_ffff], &[0xffff_fe00]),
            ("mul24.lo.s32", &[0x00ff_ffff, 5], &[0xffff_fffb]),
            ("mad24.lo.s32", &[0x00ff_ffff, 5, 6], &[1]),
            ("dp4a.u32.u32", &[0x0102_0304, 0x0101_0101, 5], &[15]),
            ("dp4a.s32.s32", &[0xffff_ffff, 0x0101_0101, 0], &[0xffff_fffc]),
            ("dp4a.u32.s32", &[0x0000_00ff, 0x0000_00ff, 0], &[0xffff_ff01]),
            ("dp2a.lo.u32.u32", &[0x0002_0003, 0x0a0b_0405, 1], &[24]),
            ("dp2a.hi.u32.u32", &[0x0002_0003, 0x0405_0a0b, 1], &[24]),
            ("add.u16x2", &[0xffff_ffff, 0x0001_0002], &[1]),
            ("min.s16x2", &[0xffff_0001, 0x0001_ffff], &[0xffff_ffff]),
        ]);
    }
}
