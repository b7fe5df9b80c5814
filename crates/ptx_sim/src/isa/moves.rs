//! Copies, packing and unpacking: all forms of `mov`. PTX ISA, "Data Movement and Conversion Instructions".

use super::facts::Fidelity::Exact;
use super::facts::Latency::Alu;
use super::facts::Undefined::{Any, Move};
use super::facts::{Facts, Work, facts};
use super::lift::lift;
use super::table::Table;

const MOVED: Facts = facts(Move(0b1111), Work::None, Alu, Exact);
/// Facts of a copy of a predicate, which has one bit.
const PREDICATE: Facts = facts(Any, Work::None, Alu, Exact);

/// Adds this chapter's rows. `pack` and `unpack` are `mov` with a vector operand: width of the whole, number of
/// elements.
pub fn list(t: &mut Table) {
    t.row("mov.pred", PREDICATE, lift!((bool) -> bool, |a| a));
    t.row("mov.{b16|u16|s16}", MOVED, lift!((u16) -> u16, |a| a));
    t.row("mov.{b32|u32|s32}", MOVED, lift!((u32) -> u32, |a| a));
    t.row("mov.f32", MOVED, lift!((f32) -> f32, |a| a));
    t.row("mov.{b64|u64|s64}", MOVED, lift!((u64) -> u64, |a| a));
    t.row("mov.f64", MOVED, lift!((f64) -> f64, |a| a));
    // `mov.v2` and `mov.v4`, of which the types have the same bits.
    macro_rules! vectors {
        ($t:ty, $names:literal) => {
            t.row(concat!("mov.v2.", $names), MOVED, lift!(($t, $t) -> ($t, $t), |a, b| (a, b)));
            t.row(
                concat!("mov.v4.", $names),
                MOVED,
                lift!(($t, $t, $t, $t) -> ($t, $t, $t, $t), |a, b, c, d| (a, b, c, d)),
            );
        };
    }
    vectors!(u16, "{b16|u16|s16}");
    vectors!(u32, "{b32|u32|s32}");
    vectors!(f32, "f32");
    t.row("mov.v2.{b64|u64|s64}", MOVED, lift!((u64, u64) -> (u64, u64), |a, b| (a, b)));
    t.row("mov.v2.f64", MOVED, lift!((f64, f64) -> (f64, f64), |a, b| (a, b)));
    t.row("pack.b32.2", MOVED, lift!((u16, u16) -> u32, |a, b| u32::from(a) | u32::from(b) << 16));
    t.row("pack.b64.2", MOVED, lift!((u32, u32) -> u64, |a, b| u64::from(a) | u64::from(b) << 32));
    t.row(
        "pack.b64.4",
        MOVED,
        lift!((u16, u16, u16, u16) -> u64, |a, b, c, d| {
            u64::from(a) | u64::from(b) << 16 | u64::from(c) << 32 | u64::from(d) << 48
        }),
    );
    // Elements of 8 bits use registers of 16 bits: `.2` of 16 bits is two elements of 8.
    t.row("pack.b16.2", MOVED, lift!((u16, u16) -> u16, |a, b| a & 0xff | b << 8));
    t.row(
        "pack.b32.4",
        MOVED,
        lift!((u16, u16, u16, u16) -> u32, |a, b, c, d| {
            u32::from(a & 0xff) | u32::from(b & 0xff) << 8 | u32::from(c & 0xff) << 16 | u32::from(d & 0xff) << 24
        }),
    );
    t.row("pack.b128.2", MOVED, lift!((u64, u64) -> (u64, u64), |a, b| (a, b)));
    t.row("unpack.b32.2", MOVED, lift!((u32) -> (u16, u16), |a| (a as u16, (a >> 16) as u16)));
    t.row("unpack.b64.2", MOVED, lift!((u64) -> (u32, u32), |a| (a as u32, (a >> 32) as u32)));
    t.row(
        "unpack.b64.4",
        MOVED,
        lift!((u64) -> (u16, u16, u16, u16), |a| {
            (a as u16, (a >> 16) as u16, (a >> 32) as u16, (a >> 48) as u16)
        }),
    );
    t.row("unpack.b16.2", MOVED, lift!((u16) -> (u16, u16), |a| (a & 0xff, a >> 8)));
    t.row(
        "unpack.b32.4",
        MOVED,
        lift!((u32) -> (u16, u16, u16, u16), |a| {
            let byte = |shift: u32| (a >> shift & 0xff) as u16;
            (byte(0), byte(8), byte(16), byte(24))
        }),
    );
    t.row("unpack.b128.2", MOVED, lift!((u64, u64) -> (u64, u64), |a, b| (a, b)));
}

#[cfg(test)]
mod tests {
    use crate::isa::testing::check;

    #[test]
    fn packing() {
        check(&[
            ("mov.b32", &[7], &[7]),
            ("mov.pred", &[1], &[1]),
            ("pack.b64.2", &[1, 2], &[0x2_0000_0001]),
            ("pack.b32.2", &[1, 2], &[0x2_0001]),
            ("pack.b32.4", &[1, 2, 3, 0x104], &[0x0403_0201]),
            ("unpack.b32.4", &[0x0403_0201], &[1, 2, 3, 4]),
            ("unpack.b16.2", &[0x0201], &[1, 2]),
            ("pack.b16.2", &[1, 2], &[0x0201]),
            ("unpack.b64.4", &[0x4444_3333_2222_1111], &[0x1111, 0x2222, 0x3333, 0x4444]),
        ]);
    }
}
