//! Comparison and selection. PTX ISA, "Comparison and Selection Instructions".

use super::facts::Fidelity::Exact;
use super::facts::Latency::Alu;
use super::facts::Relation::{Equal, Less, LessOrEqual};
use super::facts::Undefined::{self, Any, Select};
use super::facts::{Comparison, Facts, Work, facts};
use super::float::flush;
use super::half::{bfloat_to_f32, half_to_f32};
use super::lift::{File, Meaning, Value, every, for_each_level, lift, pack, predicate, write_predicate};
use super::table::{Row, Table};
use crate::registers::{Args, Pure, Registers};

/// Facts of a comparison whose result is undefined if any bit of its sources is.
const COMPARED: Facts = facts(Any, Work::None, Alu, Exact);
const SELECTED: Facts = facts(Select, Work::None, Alu, Exact);

/// Facts of a comparison of integers, whose defined bits may determine the result.
const fn decidable(relation: super::facts::Relation, signed: bool) -> Facts {
    facts(Undefined::Compare(Comparison { relation, signed }), Work::None, Alu, Exact)
}

/// Adds this chapter's rows.
#[expect(clippy::neg_cmp_op_on_partial_ord, reason = "unordered comparisons are negations of ordered ones")]
pub fn list(t: &mut Table) {
    macro_rules! compare {
        ($t:ty, $cmp:literal, $names:literal, $facts:expr, $f:expr) => {{
            #[inline(always)]
            fn bits(registers: &Registers, args: &Args) -> u32 {
                compared::<$t>(registers, args, $f)
            }
            let run = for_each_level!(|registers, mask, args| {
                let compared = bits(registers, args);
                write_predicate(registers, args.d[0], mask, compared);
                write_predicate(registers, args.d[1], mask, !compared);
            });
            let meaning = Meaning { run, d: &[File::Pred, File::Pred], s: &[<$t>::FILE, <$t>::FILE] };
            let name = concat!("setp.", $cmp, ".", $names);
            t.insert(name, Row { optional: 1, ..Row::new($facts, meaning) });
            compare!(@ $t, concat!("setp.", $cmp, ".and.", $names), bits, |c, p| c & p);
            compare!(@ $t, concat!("setp.", $cmp, ".or.", $names), bits, |c, p| c | p);
            compare!(@ $t, concat!("setp.", $cmp, ".xor.", $names), bits, |c, p| c ^ p);
        }};
        (@ $t:ty, $name:expr, $bits:ident, $combine:expr) => {{
            fn run(registers: &mut Registers, mask: u32, args: &Args) {
                let compared = $bits(registers, args);
                let p = predicate(registers, args, 2);
                let combine: fn(u32, u32) -> u32 = $combine;
                write_predicate(registers, args.d[0], mask, combine(compared, p));
                write_predicate(registers, args.d[1], mask, combine(!compared, p));
            }
            let (run, s) = (Pure::plain(run), &[<$t>::FILE, <$t>::FILE, File::Pred]);
            let meaning = Meaning { run, d: &[File::Pred, File::Pred], s };
            t.insert($name, Row { optional: 1, ..Row::new(COMPARED, meaning) });
        }};
    }
    macro_rules! integers {
        ($u:ty, $i:ty, $all:literal, $un:literal, $sn:literal) => {
            compare!($u, "eq", $all, decidable(Equal, false), |a, b| a == b);
            compare!($u, "ne", $all, decidable(Equal, false), |a, b| a != b);
            compare!($u, "{lt|lo}", $un, decidable(Less, false), |a, b| a < b);
            compare!($u, "{le|ls}", $un, decidable(LessOrEqual, false), |a, b| a <= b);
            compare!($u, "{gt|hi}", $un, decidable(LessOrEqual, false), |a, b| a > b);
            compare!($u, "{ge|hs}", $un, decidable(Less, false), |a, b| a >= b);
            compare!($i, "lt", $sn, decidable(Less, true), |a, b| a < b);
            compare!($i, "le", $sn, decidable(LessOrEqual, true), |a, b| a <= b);
            compare!($i, "gt", $sn, decidable(LessOrEqual, true), |a, b| a > b);
            compare!($i, "ge", $sn, decidable(Less, true), |a, b| a >= b);
        };
    }
    integers!(u16, i16, "{b16|u16|s16}", "u16", "s16");
    integers!(u32, i32, "{b32|u32|s32}", "u32", "s32");
    integers!(u64, i64, "{b64|u64|s64}", "u64", "s64");
    macro_rules! floats {
        ($t:ty, $n:literal, |$x:ident| $read:expr) => {
            compare!($t, "eq", $n, COMPARED, |a, b| {
                let f = |$x: $t| $read;
                f(a) == f(b)
            });
            compare!($t, "ne", $n, COMPARED, |a, b| {
                let f = |$x: $t| $read;
                f(a) < f(b) || f(a) > f(b)
            });
            compare!($t, "lt", $n, COMPARED, |a, b| {
                let f = |$x: $t| $read;
                f(a) < f(b)
            });
            compare!($t, "le", $n, COMPARED, |a, b| {
                let f = |$x: $t| $read;
                f(a) <= f(b)
            });
            compare!($t, "gt", $n, COMPARED, |a, b| {
                let f = |$x: $t| $read;
                f(a) > f(b)
            });
            compare!($t, "ge", $n, COMPARED, |a, b| {
                let f = |$x: $t| $read;
                f(a) >= f(b)
            });
            compare!($t, "equ", $n, COMPARED, |a, b| {
                let f = |$x: $t| $read;
                !(f(a) < f(b) || f(a) > f(b))
            });
            compare!($t, "neu", $n, COMPARED, |a, b| {
                let f = |$x: $t| $read;
                f(a) != f(b)
            });
            compare!($t, "ltu", $n, COMPARED, |a, b| {
                let f = |$x: $t| $read;
                !(f(a) >= f(b))
            });
            compare!($t, "leu", $n, COMPARED, |a, b| {
                let f = |$x: $t| $read;
                !(f(a) > f(b))
            });
            compare!($t, "gtu", $n, COMPARED, |a, b| {
                let f = |$x: $t| $read;
                !(f(a) <= f(b))
            });
            compare!($t, "geu", $n, COMPARED, |a, b| {
                let f = |$x: $t| $read;
                !(f(a) < f(b))
            });
            compare!($t, "num", $n, COMPARED, |a, b| {
                let f = |$x: $t| $read;
                !f(a).is_nan() && !f(b).is_nan()
            });
            compare!($t, "nan", $n, COMPARED, |a, b| {
                let f = |$x: $t| $read;
                f(a).is_nan() || f(b).is_nan()
            });
        };
    }
    floats!(f32, "f32", |x| x);
    floats!(f32, "ftz.f32", |x| flush(x));
    floats!(f64, "f64", |x| x);
    floats!(u16, "f16", |x| half_to_f32(x));
    floats!(u16, "bf16", |x| bfloat_to_f32(x));
    macro_rules! select {
        ($t:ty, $names:literal) => {
            t.row(concat!("selp.", $names), SELECTED, lift!(($t, $t, bool) -> $t, |a, b, p| if p { a } else { b }));
        };
    }
    select!(u16, "{b16|u16|s16}");
    select!(u32, "{b32|u32|s32}");
    select!(f32, "f32");
    select!(u64, "{b64|u64|s64}");
    select!(f64, "f64");
    macro_rules! by_sign {
        ($t:ty, $n:literal) => {
            t.row(
                concat!("slct.", $n, ".s32"),
                COMPARED,
                lift!(($t, $t, i32) -> $t, |a, b, c| if c >= 0 { a } else { b }),
            );
            t.row(
                concat!("slct.", $n, ".f32"),
                COMPARED,
                lift!(($t, $t, f32) -> $t, |a, b, c| if c >= 0.0 { a } else { b }),
            );
            t.row(
                concat!("slct.ftz.", $n, ".f32"),
                COMPARED,
                lift!(($t, $t, f32) -> $t, |a, b, c| if flush(c) >= 0.0 { a } else { b }),
            );
        };
    }
    by_sign!(u16, "{b16|u16|s16}");
    by_sign!(u32, "{b32|u32|s32}");
    by_sign!(f32, "f32");
    by_sign!(u64, "{b64|u64|s64}");
    by_sign!(f64, "f64");
}

/// Compares all lanes, without the predicate that may be combined with the result.
#[inline(always)]
fn compared<T: Value>(registers: &Registers, args: &Args, f: impl Fn(T, T) -> bool) -> u32 {
    let (a, b) = (T::read(registers, args, 0), T::read(registers, args, 1));
    pack(&every(|lane| f(a[lane], b[lane])))
}

#[cfg(test)]
mod tests {
    use crate::isa::testing::check;

    const NAN: u64 = 0x7fc0_0000;
    const ONE: u64 = 0x3f80_0000;

    #[test]
    fn integers() {
        check(&[
            ("setp.lt.s32", &[0xffff_ffff, 0], &[1, 0]),
            ("setp.lt.u32", &[0xffff_ffff, 0], &[0, 1]),
            ("setp.lo.u32", &[0, 1], &[1, 0]),
            ("setp.ge.s16", &[0x8000, 0], &[0, 1]),
            ("setp.eq.b64", &[7, 7], &[1, 0]),
            ("setp.ne.and.b32", &[1, 2, 0], &[0, 0]),
            ("setp.eq.and.b32", &[1, 2, 1], &[0, 1]),
            ("setp.eq.or.b32", &[1, 2, 1], &[1, 1]),
            ("setp.eq.xor.b32", &[1, 1, 1], &[0, 1]),
        ]);
    }

    #[test]
    fn nan_is_unordered() {
        check(&[
            ("setp.eq.f32", &[NAN, NAN], &[0, 1]),
            ("setp.ne.f32", &[NAN, ONE], &[0, 1]),
            ("setp.neu.f32", &[NAN, ONE], &[1, 0]),
            ("setp.lt.f32", &[NAN, ONE], &[0, 1]),
            ("setp.geu.f32", &[NAN, ONE], &[1, 0]),
            ("setp.num.f32", &[NAN, ONE], &[0, 1]),
            ("setp.nan.f32", &[ONE, NAN], &[1, 0]),
            ("setp.eq.f32", &[0, 0x8000_0000], &[1, 0]),
            ("setp.eq.ftz.f32", &[1, 0], &[1, 0]),
            ("setp.gt.f64", &[0x3ff0_0000_0000_0000, 0], &[1, 0]),
            ("setp.gt.f16", &[0x3c00, 0x0001], &[1, 0]),
            ("setp.equ.bf16", &[0x7fc0, 0], &[1, 0]),
        ]);
    }

    #[test]
    fn selection() {
        check(&[
            ("selp.b32", &[1, 2, 1], &[1]),
            ("selp.f64", &[1, 2, 0], &[2]),
            ("slct.b32.s32", &[1, 2, 0xffff_ffff], &[2]),
            ("slct.u64.f32", &[1, 2, NAN], &[2]),
        ]);
    }
}
