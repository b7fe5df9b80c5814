//! `set`, and `setp` of pairs of 16-bit numbers. PTX ISA, "Comparison and Selection Instructions", "Half Precision
//! Comparison Instructions".
//!
//! A comparison is represented by the set of orders for which it holds. That set, the predicate's operator and the
//! representation of true are the row's immediate, so that one function serves all comparisons.

use super::facts::Fidelity::Exact;
use super::facts::Latency::Alu;
use super::facts::Undefined::Any;
use super::facts::{Facts, Work, facts};
use super::float::flush;
use super::half::{bfloat_to_f32, half_to_f32};
use super::lift::{File, Meaning, Value, every, pack, predicate, write_predicate};
use super::table::{Row, Table};
use crate::registers::{Args, Pure, Registers, Run};
use std::cmp::Ordering;

/// The facts of all rows of this chapter.
const COMPARED: Facts = facts(Any, Work::None, Alu, Exact);

const LESS: u16 = 1;
const EQUAL: u16 = 2;
const GREATER: u16 = 4;
const UNORDERED: u16 = 8;

/// Comparisons of integers, of unsigned integers only, and of floating-point numbers only.
const COMMON: [(&str, u16); 6] = [
    ("eq", EQUAL),
    ("ne", LESS | GREATER),
    ("lt", LESS),
    ("le", LESS | EQUAL),
    ("gt", GREATER),
    ("ge", GREATER | EQUAL),
];
const UNSIGNED: [(&str, u16); 4] = [("lo", LESS), ("ls", LESS | EQUAL), ("hi", GREATER), ("hs", GREATER | EQUAL)];
const FLOATS: [(&str, u16); 8] = [
    ("equ", EQUAL | UNORDERED),
    ("neu", LESS | GREATER | UNORDERED),
    ("ltu", LESS | UNORDERED),
    ("leu", LESS | EQUAL | UNORDERED),
    ("gtu", GREATER | UNORDERED),
    ("geu", GREATER | EQUAL | UNORDERED),
    ("num", LESS | EQUAL | GREATER),
    ("nan", UNORDERED),
];

/// Combination of a comparison with the predicate operand: bits 4 and 5 of the immediate.
const WITH: [&str; 4] = ["", ".and", ".or", ".xor"];

/// Representations of true: bits 8 and up of the immediate.
const TRUE: [u32; 5] = [u32::MAX, 0x3f80_0000, 0xffff, 0x3c00, 0x3f80];

fn holds(immediate: u16, order: Option<Ordering>) -> bool {
    let found = match order {
        Some(Ordering::Less) => LESS,
        Some(Ordering::Equal) => EQUAL,
        Some(Ordering::Greater) => GREATER,
        None => UNORDERED,
    };
    immediate & found != 0
}

fn with_predicate(bits: u32, registers: &Registers, args: &Args) -> u32 {
    match args.immediate >> 4 & 3 {
        0 => bits,
        1 => bits & predicate(registers, args, 2),
        2 => bits | predicate(registers, args, 2),
        _ => bits ^ predicate(registers, args, 2),
    }
}

/// Returns the lanes for which the comparison holds.
fn compared<T: Value, U: PartialOrd>(registers: &Registers, args: &Args, read: impl Fn(T) -> U) -> u32 {
    let (a, b) = (T::read(registers, args, 0), T::read(registers, args, 1));
    pack(&every(|lane| holds(args.immediate, read(a[lane]).partial_cmp(&read(b[lane])))))
}

/// Returns the lanes for which the comparison holds in the low halves, and those for which it holds in the high halves.
fn halves(registers: &Registers, args: &Args, read: fn(u16) -> f32) -> [u32; 2] {
    [compared(registers, args, |x: u32| read(x as u16)), compared(registers, args, |x: u32| read((x >> 16) as u16))]
        .map(|bits| with_predicate(bits, registers, args))
}

/// `set` into a register of 16 or 32 bits.
fn set<T: Value, U: PartialOrd>(registers: &mut Registers, mask: u32, args: &Args, read: impl Fn(T) -> U) {
    let bits = with_predicate(compared(registers, args, read), registers, args);
    let one = TRUE[usize::from(args.immediate >> 8) % TRUE.len()];
    u32::write(registers, args.d[0], mask, &every(|lane| if bits >> lane & 1 != 0 { one } else { 0 }));
}

/// `set` of pairs.
fn set_pair(registers: &mut Registers, mask: u32, args: &Args, read: fn(u16) -> f32) {
    let [low, high] = halves(registers, args, read);
    let one = TRUE[usize::from(args.immediate >> 8) % TRUE.len()];
    let value = |bits: u32, lane: usize| if bits >> lane & 1 != 0 { one } else { 0 };
    u32::write(registers, args.d[0], mask, &every(|lane| value(low, lane) | value(high, lane) << 16));
}

/// `setp` of one number: the result and its negation.
fn setp(registers: &mut Registers, mask: u32, args: &Args, read: fn(u16) -> f32) {
    let compared = compared(registers, args, read);
    write_predicate(registers, args.d[0], mask, with_predicate(compared, registers, args));
    write_predicate(registers, args.d[1], mask, with_predicate(!compared, registers, args));
}

/// `setp` of pairs: the result of the low halves and that of the high halves.
fn setp_pair(registers: &mut Registers, mask: u32, args: &Args, read: fn(u16) -> f32) {
    let [low, high] = halves(registers, args, read);
    write_predicate(registers, args.d[0], mask, low);
    write_predicate(registers, args.d[1], mask, high);
}

fn flushed_half(bits: u16) -> f32 {
    if bits & 0x7c00 == 0 { 0.0 } else { half_to_f32(bits) }
}

/// Common parts of the rows of one comparison.
struct Shape {
    /// Result types of the opcode, between the comparison and the source type, each with its file and its index in
    /// [`TRUE`].
    results: &'static [(&'static str, File, u16)],
    source: File,
    /// Either `.ftz` or empty.
    flush: &'static str,
    names: &'static str,
    run: Pure,
}

/// Result types of `set` for sources of 32 and 64 bits, and for 16-bit floats.
const WORDS: &[(&str, File, u16)] = &[
    ("u32", File::Word, 0),
    ("s32", File::Word, 0),
    ("f32", File::Single, 1),
    ("f16", File::Half, 3),
    ("bf16", File::Half, 4),
];
const HALVES: &[(&str, File, u16)] = &[
    ("u16", File::Half, 2),
    ("s16", File::Half, 2),
    ("u32", File::Word, 0),
    ("s32", File::Word, 0),
    ("f16", File::Half, 3),
    ("bf16", File::Half, 4),
];

fn add(t: &mut Table, shape: &Shape, comparisons: &[(&str, u16)]) {
    for &(name, orders) in comparisons {
        for (with, text) in WITH.iter().enumerate() {
            for &(result, ref file, one) in shape.results {
                let opcode = format!("set.{name}{text}{}.{result}.{}", shape.flush, shape.names);
                let immediate = orders | (with as u16) << 4 | one << 8;
                let meaning = Meaning { run: shape.run, d: one_file(*file), s: sources(shape.source, with != 0) };
                t.insert(&opcode, Row { immediate, ..Row::new(COMPARED, meaning) });
            }
        }
    }
}

fn one_file(file: File) -> &'static [File] {
    match file {
        File::Half => &[File::Half],
        File::Single => &[File::Single],
        _ => &[File::Word],
    }
}

/// Returns the files of two numbers and an optional predicate.
fn sources(file: File, predicate: bool) -> &'static [File] {
    macro_rules! of {
        ($file:ident) => {
            if predicate { &[File::$file, File::$file, File::Pred] } else { &[File::$file, File::$file] }
        };
    }
    match file {
        File::Half => of!(Half),
        File::Single => of!(Single),
        File::Long => of!(Long),
        File::Double => of!(Double),
        File::Pred | File::Word => of!(Word),
    }
}

/// Adds this chapter's rows.
pub fn list(t: &mut Table) {
    macro_rules! number {
        ($t:ty, $names:literal, $flush:literal, $read:expr, [$($comparisons:expr),*]) => {
            let run = Pure::plain(|registers, mask, args| set::<$t, _>(registers, mask, args, $read));
            let shape = Shape { results: WORDS, source: <$t>::FILE, flush: $flush, names: $names, run };
            $(add(t, &shape, &$comparisons);)*
        };
    }
    number!(u16, "{b16|u16}", "", |x| x, [COMMON]);
    number!(u16, "u16", "", |x| x, [UNSIGNED]);
    number!(i16, "s16", "", |x| x, [COMMON]);
    number!(u32, "{b32|u32}", "", |x| x, [COMMON]);
    number!(u32, "u32", "", |x| x, [UNSIGNED]);
    number!(i32, "s32", "", |x| x, [COMMON]);
    number!(u64, "{b64|u64}", "", |x| x, [COMMON]);
    number!(u64, "u64", "", |x| x, [UNSIGNED]);
    number!(i64, "s64", "", |x| x, [COMMON]);
    number!(f32, "f32", "", |x| x, [COMMON, FLOATS]);
    number!(f32, "f32", ".ftz", flush, [COMMON, FLOATS]);
    number!(f64, "f64", "", |x| x, [COMMON, FLOATS]);
    macro_rules! half {
        ($name:literal, $pair:literal, $flush:literal, $read:expr, $one:literal) => {
            let run = Pure::plain(|registers, mask, args| set::<u16, _>(registers, mask, args, $read));
            let shape = Shape { results: HALVES, source: File::Half, flush: $flush, names: $name, run };
            add(t, &shape, &COMMON);
            add(t, &shape, &FLOATS);
            let run = Pure::plain(|registers, mask, args| set_pair(registers, mask, args, $read));
            // Integer results are 0xffff in the half for which the comparison holds.
            let results = &[($pair, File::Word, $one), ("u32", File::Word, 2), ("s32", File::Word, 2)];
            let shape = Shape { results, source: File::Word, flush: $flush, names: $pair, run };
            add(t, &shape, &COMMON);
            add(t, &shape, &FLOATS);
            for (name, orders) in COMMON.into_iter().chain(FLOATS) {
                for (with, text) in WITH.iter().enumerate() {
                    let immediate = orders | (with as u16) << 4;
                    let mut insert = |opcode: &str, source, optional, run: Run| {
                        let run = Pure::plain(run);
                        let d = &[File::Pred, File::Pred];
                        let meaning = Meaning { run, d, s: sources(source, with != 0) };
                        t.insert(opcode, Row { immediate, optional, ..Row::new(COMPARED, meaning) });
                    };
                    let opcode = format!("setp.{name}{text}{}.{}", $flush, $pair);
                    insert(&opcode, File::Word, 1, |r, mask, args| setp_pair(r, mask, args, $read));
                    // Without `.ftz`, these rows are among the other comparisons.
                    if $flush == ".ftz" {
                        let opcode = format!("setp.{name}{text}{}.{}", $flush, $name);
                        insert(&opcode, File::Half, 1, |r, mask, args| setp(r, mask, args, $read));
                    }
                }
            }
        };
    }
    half!("f16", "f16x2", "", half_to_f32, 3);
    half!("f16", "f16x2", ".ftz", flushed_half, 3);
    half!("bf16", "bf16x2", "", bfloat_to_f32, 4);
}

#[cfg(test)]
mod tests {
    use crate::isa::testing::check;

    const ONE: u64 = 0x3f80_0000;

    #[test]
    fn comparisons_to_registers() {
        check(&[
            ("set.lt.u32.s32", &[0xffff_ffff, 0], &[0xffff_ffff]),
            ("set.lo.u32.u32", &[0xffff_ffff, 0], &[0]),
            ("set.ge.f32.f64", &[0x3ff0_0000_0000_0000, 0], &[ONE]),
            ("set.eq.ftz.s32.f32", &[1, 0], &[0xffff_ffff]),
            ("set.nan.f32.f32", &[0x7fc0_0000, 0], &[ONE]),
            ("set.lt.and.u32.u32", &[1, 2, 0], &[0]),
            ("set.lt.xor.u32.u32", &[2, 1, 1], &[0xffff_ffff]),
            ("set.gt.f16.f16", &[0x3c00, 0], &[0x3c00]),
            ("set.gt.u16.bf16", &[0x3f80, 0], &[0xffff]),
            ("set.gt.f16x2.f16x2", &[0x3c00_0000, 0], &[0x3c00_0000]),
            ("set.gt.u32.f16x2", &[0x3c00_0000, 0], &[0xffff_0000]),
            ("set.geu.bf16x2.bf16x2", &[0x7fc0_bf80, 0], &[0x3f80_0000]),
            ("setp.lt.f16x2", &[0x3c00_bc00, 0], &[1, 0]),
            ("setp.lt.or.f16x2", &[0x3c00_bc00, 0, 1], &[1, 1]),
            ("setp.eq.ftz.f16", &[1, 0], &[1, 0]),
            ("setp.eq.and.ftz.f16", &[1, 0, 0], &[0, 0]),
        ]);
    }
}
