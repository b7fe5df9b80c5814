//! Bit operations: logic, shifts, fields, counts. PTX ISA, "Logic and Shift Instructions", and `prmt`.

use super::facts::Fidelity::Exact;
use super::facts::Latency::Alu;
use super::facts::Work::{self, Integer};
use super::facts::{Facts, Undefined, facts};
use super::lift::{lift, lift_call};
use super::table::Table;

/// Facts of one operation whose result depends on all bits.
const ONE: Facts = facts(Undefined::Any, Integer(1), Alu, Exact);
/// Facts of an operation that moves the first operand's bits to positions that the other operands determine.
const MOVED: Facts = facts(Undefined::Move(0b0001), Integer(1), Alu, Exact);
/// Facts of an operation that moves the bits of two operands to positions that the other operands determine.
const COMBINED: Facts = facts(Undefined::Move(0b0011), Integer(1), Alu, Exact);
const LOOKED_UP: Facts = facts(Undefined::Lop3, Integer(1), Alu, Exact);

/// Facts of bitwise logic.
const fn bitwise(undefined: Undefined, work: Work) -> Facts {
    facts(undefined, work, Alu, Exact)
}

/// Adds this chapter's rows.
pub fn list(t: &mut Table) {
    t.row("fns.b32", ONE, lift_call!((u32, u32, i32) -> u32, find_nth_set));
    logic(t);
    shifts(t);
    counts(t);
    fields(t);
    t.row("lop3.b32", LOOKED_UP, lift_call!((u32, u32, u32, u32) -> u32, lop3));
    permutations(t);
}

fn logic(t: &mut Table) {
    macro_rules! logic {
        ($t:ty, $n:literal, $work:expr) => {
            t.row(concat!("and.", $n), bitwise(Undefined::And, $work), lift!(($t, $t) -> $t, |a, b| a & b));
            t.row(concat!("or.", $n), bitwise(Undefined::Or, $work), lift!(($t, $t) -> $t, |a, b| a | b));
            t.row(concat!("xor.", $n), bitwise(Undefined::Xor, $work), lift!(($t, $t) -> $t, |a, b| a ^ b));
            t.row(concat!("not.", $n), bitwise(Undefined::Xor, $work), lift!(($t) -> $t, |a| !a));
        };
    }
    // Predicates are not counted as integers.
    logic!(bool, "pred", Work::None);
    logic!(u16, "b16", Integer(1));
    logic!(u32, "b32", Integer(1));
    logic!(u64, "b64", Integer(1));
    t.row("cnot.b16", ONE, lift!((u16) -> u16, |a| u16::from(a == 0)));
    t.row("cnot.b32", ONE, lift!((u32) -> u32, |a| u32::from(a == 0)));
    t.row("cnot.b64", ONE, lift!((u64) -> u64, |a| u64::from(a == 0)));
}

/// Adds shifts. A count beyond the width has the effect of the width.
fn shifts(t: &mut Table) {
    macro_rules! shift {
        ($u:ty, $i:ty, $bits:literal) => {
            t.row(
                concat!("shl.b", $bits),
                MOVED,
                lift!(($u, u32) -> $u, |a, b| if b < $bits { a << (b & ($bits - 1)) } else { 0 }),
            );
            t.row(
                concat!("shr.{b", $bits, "|u", $bits, "}"),
                MOVED,
                lift!(($u, u32) -> $u, |a, b| if b < $bits { a >> (b & ($bits - 1)) } else { 0 }),
            );
            t.row(concat!("shr.s", $bits), MOVED, lift!(($i, u32) -> $i, |a, b| a >> b.min($bits - 1)));
        };
    }
    shift!(u16, i16, 16);
    shift!(u32, i32, 32);
    shift!(u64, i64, 64);
    // Funnel shifts: the first operand is the low half.
    t.row("shf.l.clamp.b32", COMBINED, lift!((u32, u32, u32) -> u32, |a, b, c| funnel_left(a, b, c.min(32))));
    t.row("shf.l.wrap.b32", COMBINED, lift!((u32, u32, u32) -> u32, |a, b, c| funnel_left(a, b, c & 31)));
    t.row("shf.r.clamp.b32", COMBINED, lift!((u32, u32, u32) -> u32, |a, b, c| funnel_right(a, b, c.min(32))));
    t.row("shf.r.wrap.b32", COMBINED, lift!((u32, u32, u32) -> u32, |a, b, c| funnel_right(a, b, c & 31)));
}

fn funnel_left(low: u32, high: u32, count: u32) -> u32 {
    ((u64::from(high) << 32 | u64::from(low)) << count >> 32) as u32
}

fn funnel_right(low: u32, high: u32, count: u32) -> u32 {
    ((u64::from(high) << 32 | u64::from(low)) >> count) as u32
}

fn counts(t: &mut Table) {
    t.row("popc.b32", ONE, lift!((u32) -> u32, |a| a.count_ones()));
    t.row("popc.b64", ONE, lift!((u64) -> u32, |a| a.count_ones()));
    t.row("clz.b32", ONE, lift!((u32) -> u32, |a| a.leading_zeros()));
    t.row("clz.b64", ONE, lift!((u64) -> u32, |a| a.leading_zeros()));
    t.row("brev.b32", MOVED, lift!((u32) -> u32, |a| a.reverse_bits()));
    t.row("brev.b64", MOVED, lift!((u64) -> u64, |a| a.reverse_bits()));
    // The highest bit that differs from the sign; `.shiftamt` gives the shift that moves it to the top.
    macro_rules! find {
        ($t:ty, $n:literal, |$a:ident| $magnitude:expr) => {
            t.row(
                concat!("bfind.", $n),
                ONE,
                lift_call!(($t) -> u32, |$a| $magnitude.checked_ilog2().unwrap_or(u32::MAX)),
            );
            t.row(
                concat!("bfind.shiftamt.", $n),
                ONE,
                lift_call!(($t) -> u32, |$a| $magnitude.checked_ilog2().map_or(u32::MAX, |bit| <$t>::BITS - 1 - bit)),
            );
        };
    }
    find!(u32, "u32", |a| a);
    find!(u64, "u64", |a| a);
    find!(i32, "s32", |a| ((a ^ a >> 31) as u32));
    find!(i64, "s64", |a| ((a ^ a >> 63) as u64));
}

fn fields(t: &mut Table) {
    t.row(
        "bfe.u32",
        MOVED,
        lift_call!((u32, u32, u32) -> u32, |a, position, length| {
            extract(u64::from(a), position & 255, length & 255, 32, false) as u32
        }),
    );
    t.row(
        "bfe.s32",
        MOVED,
        lift_call!((u32, u32, u32) -> u32, |a, position, length| {
            extract(u64::from(a), position & 255, length & 255, 32, true) as u32
        }),
    );
    t.row(
        "bfe.u64",
        MOVED,
        lift_call!((u64, u32, u32) -> u64, |a, position, length| {
            extract(a, position, length, 64, false)
        }),
    );
    t.row(
        "bfe.s64",
        MOVED,
        lift_call!((u64, u32, u32) -> u64, |a, position, length| {
            extract(a, position, length, 64, true)
        }),
    );
    t.row(
        "bfi.b32",
        COMBINED,
        lift_call!((u32, u32, u32, u32) -> u32, |a, b, position, length| {
            insert(u64::from(a), u64::from(b), position & 255, length & 255) as u32
        }),
    );
    t.row(
        "bfi.b64",
        COMBINED,
        lift_call!((u64, u64, u32, u32) -> u64, |a, b, position, length| {
            insert(a, b, position, length)
        }),
    );
    t.row(
        "bmsk.clamp.b32",
        ONE,
        lift_call!((u32, u32) -> u32, |position, length| mask(position.min(32), length.min(32))),
    );
    t.row("bmsk.wrap.b32", ONE, lift_call!((u32, u32) -> u32, |position, length| mask(position & 31, length & 31)));
    t.row(
        "szext.clamp.u32",
        MOVED,
        lift_call!((u32, u32) -> u32, |a, n| extract(u64::from(a), 0, n.min(32), 32, false) as u32),
    );
    t.row(
        "szext.wrap.u32",
        MOVED,
        lift_call!((u32, u32) -> u32, |a, n| extract(u64::from(a), 0, n & 31, 32, false) as u32),
    );
    t.row(
        "szext.clamp.s32",
        MOVED,
        lift_call!((u32, u32) -> u32, |a, n| extract(u64::from(a), 0, n.min(32), 32, true) as u32),
    );
    t.row(
        "szext.wrap.s32",
        MOVED,
        lift_call!((u32, u32) -> u32, |a, n| extract(u64::from(a), 0, n & 31, 32, true) as u32),
    );
}

fn ones(length: u32) -> u64 {
    if length >= 64 { u64::MAX } else { (1 << length) - 1 }
}

fn mask(position: u32, length: u32) -> u32 {
    (ones(length).checked_shl(position).unwrap_or(0)) as u32
}

/// Extracts `length` bits from `position`; a signed field beyond the top is filled with the sign of the whole number.
fn extract(a: u64, position: u32, length: u32, width: u32, signed: bool) -> u64 {
    let field = a.checked_shr(position).unwrap_or(0) & ones(length);
    let last = position.saturating_add(length).saturating_sub(1).min(width - 1);
    let negative = signed && length != 0 && a >> last & 1 != 0;
    let kept = length.min((width).saturating_sub(position));
    let filled = if negative { field | !ones(kept) } else { field };
    filled & ones(width)
}

/// Inserts the low `length` bits of `a` into `b` at `position`.
fn insert(a: u64, b: u64, position: u32, length: u32) -> u64 {
    let place = ones(length).checked_shl(position).unwrap_or(0);
    b & !place | a.checked_shl(position).unwrap_or(0) & place
}

/// Computes any function of three bits: bit `i` of the table is the result for `a, b, c` as the number `i`.
fn lop3(a: u32, b: u32, c: u32, table: u32) -> u32 {
    (0..8).filter(|i| table >> i & 1 != 0).fold(0, |result, i| {
        let pick = |x: u32, bit: u32| if i >> bit & 1 != 0 { x } else { !x };
        result | pick(a, 2) & pick(b, 1) & pick(c, 0)
    })
}

/// `prmt`: selects bytes of a register pair by nibbles or by a mode.
fn permutations(t: &mut Table) {
    t.row(
        "prmt.b32",
        COMBINED,
        lift_call!((u32, u32, u32) -> u32, |a, b, c| permute(a, b, [0, 1, 2, 3].map(|i| c >> (4 * i) & 15))),
    );
    macro_rules! mode {
        ($name:literal, |$c:ident, $i:ident| $byte:expr) => {
            t.row(
                concat!("prmt.b32.", $name),
                COMBINED,
                lift_call!((u32, u32, u32) -> u32, |a, b, c| {
                    let $c = c & 3;
                    permute(a, b, [0u32, 1, 2, 3].map(|$i| $byte))
                }),
            );
        };
    }
    mode!("f4e", |c, i| c + i);
    mode!("b4e", |c, i| c.wrapping_sub(i) & 7);
    mode!("rc8", |c, _i| c);
    mode!("ecl", |c, i| i.max(c));
    mode!("ecr", |c, i| i.min(c));
    mode!("rc16", |c, i| (c & 1) * 2 + (i & 1));
}

/// Selects bytes. A selector is the index of a byte of `b:a`; bit 3 replicates that byte's sign instead.
fn permute(a: u32, b: u32, selectors: [u32; 4]) -> u32 {
    let bytes = u64::from(b) << 32 | u64::from(a);
    let byte = |selector: u32| {
        let byte = (bytes >> (8 * (selector & 7))) as u8;
        if selector & 8 == 0 { byte } else { (byte as i8 >> 7) as u8 }
    };
    u32::from_le_bytes(selectors.map(byte))
}

/// Returns the position of the `offset`-th set bit from `base`, upward or downward; all ones if there is none. `offset`
/// 0 tests `base` itself.
fn find_nth_set(mask: u32, base: u32, offset: i32) -> u32 {
    let set = |position: i64| mask >> position & 1 != 0;
    let mut position = i64::from(base);
    let mut left = offset.unsigned_abs().saturating_sub(1);
    while (0..32).contains(&position) {
        if set(position) {
            if left == 0 {
                return position as u32;
            }
            left -= 1;
        }
        if offset == 0 {
            break;
        }
        position += i64::from(offset.signum());
    }
    u32::MAX
}

#[cfg(test)]
mod tests {
    use crate::isa::testing::check;

    #[test]
    fn logic() {
        check(&[
            ("and.b32", &[0xf0f0, 0xff00], &[0xf000]),
            ("xor.b64", &[u64::MAX, 1], &[u64::MAX - 1]),
            ("not.b16", &[1], &[0xfffe]),
            ("not.pred", &[1], &[0]),
            ("and.pred", &[1, 0], &[0]),
            ("or.pred", &[1, 0], &[1]),
            ("xor.pred", &[1, 1], &[0]),
            ("cnot.b32", &[0], &[1]),
            ("lop3.b32", &[0xf0f0_f0f0, 0xcccc_cccc, 0xaaaa_aaaa, 0xe8], &[0xe8e8_e8e8]),
        ]);
    }

    #[test]
    fn shifts_clamp() {
        check(&[
            ("shl.b32", &[1, 31], &[0x8000_0000]),
            ("shl.b32", &[1, 32], &[0]),
            ("shl.b32", &[1, u32::MAX as u64], &[0]),
            ("shl.b16", &[3, 15], &[0x8000]),
            ("shl.b64", &[1, 64], &[0]),
            ("shr.u32", &[0x8000_0000, 40], &[0]),
            ("shr.s32", &[0x8000_0000, 40], &[0xffff_ffff]),
            ("shr.s16", &[0x8000, 3], &[0xf000]),
            ("shr.s64", &[1 << 63, 100], &[u64::MAX]),
            ("shf.l.wrap.b32", &[0x8000_0000, 1, 33], &[3]),
            ("shf.l.clamp.b32", &[0x1234_5678, 1, 40], &[0x1234_5678]),
            ("shf.r.wrap.b32", &[2, 1, 1], &[0x8000_0001]),
            ("shf.r.clamp.b32", &[2, 0x55, 32], &[0x55]),
        ]);
    }

    #[test]
    fn counts() {
        check(&[
            ("popc.b64", &[u64::MAX], &[64]),
            ("clz.b32", &[0], &[32]),
            ("clz.b64", &[1], &[63]),
            ("brev.b32", &[1], &[0x8000_0000]),
            ("bfind.u32", &[0], &[0xffff_ffff]),
            ("bfind.u32", &[0x10], &[4]),
            ("bfind.shiftamt.u32", &[0x10], &[27]),
            ("bfind.s32", &[0xffff_ffff], &[0xffff_ffff]),
            ("bfind.s32", &[0xffff_fffe], &[0]),
            ("bfind.s64", &[0x8000_0000_0000_0000], &[62]),
        ]);
    }

    #[test]
    fn fields() {
        check(&[
            ("bfe.u32", &[0x1234_5678, 8, 8], &[0x56]),
            ("bfe.s32", &[0x0000_8000, 8, 8], &[0xffff_ff80]),
            ("bfe.u32", &[0xffff_ffff, 28, 20], &[0xf]),
            ("bfe.s32", &[0x8000_0000, 28, 20], &[0xffff_fff8]),
            ("bfe.u32", &[0xffff_ffff, 40, 4], &[0]),
            ("bfe.s32", &[0x8000_0000, 40, 4], &[0xffff_ffff]),
            ("bfe.s32", &[0xffff_ffff, 0, 0], &[0]),
            ("bfe.u64", &[u64::MAX, 60, 8], &[15]),
            ("bfe.s64", &[1 << 63, 60, 8], &[0xffff_ffff_ffff_fff8]),
            ("bfi.b32", &[0xab, 0x1111_1111, 8, 8], &[0x1111_ab11]),
            ("bfi.b32", &[0xff, 0, 28, 20], &[0xf000_0000]),
            ("bfi.b32", &[0xff, 7, 0, 0], &[7]),
            ("bfi.b64", &[u64::MAX, 0, 0, 64], &[u64::MAX]),
            ("bmsk.clamp.b32", &[4, 8], &[0xff0]),
            ("szext.wrap.s32", &[0x80, 8], &[0xffff_ff80]),
        ]);
    }

    #[test]
    fn permutations() {
        check(&[
            ("prmt.b32", &[0x3322_1100, 0x7766_5544, 0x7654], &[0x7766_5544]),
            ("prmt.b32", &[0x3322_1180, 0x7766_5544, 0x0008], &[0x8080_80ff]),
            ("prmt.b32.f4e", &[0x3322_1100, 0x7766_5544, 1], &[0x4433_2211]),
            ("prmt.b32.b4e", &[0x3322_1100, 0x7766_5544, 1], &[0x6677_0011]),
            ("prmt.b32.rc8", &[0x3322_1100, 0, 2], &[0x2222_2222]),
            ("prmt.b32.ecl", &[0x3322_1100, 0, 2], &[0x3322_2222]),
            ("prmt.b32.ecr", &[0x3322_1100, 0, 2], &[0x2222_1100]),
            ("prmt.b32.rc16", &[0x3322_1100, 0, 1], &[0x3322_3322]),
        ]);
    }

    #[test]
    fn nth_set_bits() {
        check(&[
            ("fns.b32", &[0b1011_0100, 2, 0], &[2]),
            ("fns.b32", &[0b1011_0100, 3, 0], &[0xffff_ffff]),
            ("fns.b32", &[0b1011_0100, 3, 1], &[4]),
            ("fns.b32", &[0b1011_0100, 0, 3], &[5]),
            ("fns.b32", &[0b1011_0100, 6, 0xffff_fffe], &[4]),
            ("fns.b32", &[0b1011_0100, 0, 5], &[0xffff_ffff]),
        ]);
    }
}
