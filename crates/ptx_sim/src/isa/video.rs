//! Operations on bytes and half-words. PTX ISA, "Scalar Video Instructions" and "SIMD Video Instructions".
//!
//! The last source of a row is a [`Control`]: the parts that the operands select and the signs of the types, which the
//! decoder makes of the text.

use super::facts::Fidelity::Exact;
use super::facts::Latency::Alu;
use super::facts::Undefined::Any;
use super::facts::Work::Integer;
use super::facts::{Facts, facts};
use super::lift::lift_call;
use super::table::Table;

/// Facts of an operation on a part of each operand, or on two or four parts.
const fn video(operations: u8) -> Facts {
    facts(Any, Integer(operations), Alu, Exact)
}

/// Properties of a video instruction that its row does not have, in a word.
#[derive(Clone, Copy, Default)]
pub struct Control(u32);

impl Control {
    const SIGNED: [u32; 3] = [28, 29, 30];
    const SATURATED: u32 = 31;

    /// Sets the part of operand `a` (0) or `b` (1) that is the source of element `i`.
    pub fn select(self, operand: u32, i: u32, part: u32) -> Self {
        Self(self.0 | part << (12 * operand + 3 * i))
    }

    /// Sets the elements, or the part, of the destination that are written.
    pub fn destination(self, mask: u32) -> Self {
        Self(self.0 | mask << 24)
    }

    /// Sets that the destination (0), `a` (1) or `b` (2) is signed.
    pub fn signed(self, operand: usize) -> Self {
        Self(self.0 | 1 << Self::SIGNED[operand])
    }

    /// Sets that results are limited to the type of the destination.
    pub fn saturated(self) -> Self {
        Self(self.0 | 1 << Self::SATURATED)
    }

    /// Returns the word that the row takes.
    pub fn word(self) -> u32 {
        self.0
    }

    fn part(self, operand: u32, i: u32) -> u32 {
        self.0 >> (12 * operand + 3 * i) & 7
    }

    fn is_signed(self, operand: usize) -> bool {
        self.0 >> Self::SIGNED[operand] & 1 != 0
    }
}

/// Returns the number of a part of a word, `b0` to `b3`, `h0` and `h1`, for an operand of a scalar instruction; 0 is
/// the whole word.
pub fn scalar_part(name: &str) -> Option<u32> {
    ["", "b0", "b1", "b2", "b3", "h0", "h1"].iter().position(|part| *part == name).map(|part| part as u32)
}

/// Returns the lowest bit and the width of a part.
fn extent(part: u32) -> (u32, u32) {
    match part {
        0 => (0, 32),
        1..=4 => (8 * (part - 1), 8),
        _ => (16 * (part & 1 ^ 1), 16),
    }
}

/// Extracts bits and extends them by their sign or by zeros.
fn extract(word: u64, (low, width): (u32, u32), signed: bool) -> i64 {
    let unused = 64 - width;
    if signed { ((word >> low << unused) as i64) >> unused } else { (word >> low << unused >> unused) as i64 }
}

fn average(a: i64, b: i64) -> i64 {
    (a + b + i64::from(a + b >= 0)) >> 1
}

/// Computes an element for each of `n` parts of the operands, and merges them into `c` or adds them to it.
fn simd(n: u32, add: bool, f: fn(i64, i64) -> i64, [a, b, c]: [u32; 3], control: Control) -> u32 {
    let width = 32 / n;
    let both = u64::from(a) | u64::from(b) << 32;
    let range = match (control.is_signed(0), width) {
        (true, width) => -(1 << (width - 1))..=(1 << (width - 1)) - 1,
        (false, width) => 0..=(1 << width) - 1,
    };
    let source = |operand, i| {
        extract(both, (width * control.part(operand, i) % 64, width), control.is_signed(1 + operand as usize))
    };
    (0..n).filter(|i| control.0 >> (24 + i) & 1 != 0).fold(c, |d, i| {
        let element: i64 = f(source(0, i), source(1, i));
        let saturated = control.0 >> Control::SATURATED != 0;
        let element = if saturated { element.clamp(*range.start(), *range.end()) } else { element };
        let field = (((1u64 << width) - 1) as u32) << (width * i);
        if add { d.wrapping_add(element as u32) } else { d & !field | (element as u32) << (width * i) & field }
    })
}

/// Computes on a part of each operand, and merges the low bits into `c` or adds them to it.
fn scalar(add: bool, f: fn(i64, i64) -> i64, [a, b, c]: [u32; 3], control: Control) -> u32 {
    let source = |word: u32, operand: u32| {
        extract(word.into(), extent(control.part(operand, 0)), control.is_signed(1 + operand as usize))
    };
    let result = f(source(a, 0), source(b, 1)) as u32;
    match extent(control.0 >> 24 & 7) {
        (_, 32) if add => c.wrapping_add(result),
        (_, 32) => result,
        (low, width) => {
            let field = ((1 << width) - 1) << low;
            c & !field | result << low & field
        }
    }
}

/// Adds this chapter's rows, whose names are those of the instructions after `video.`, as the decoder looks them up.
pub fn list(t: &mut Table) {
    macro_rules! operation {
        ($name:literal, |$a:ident, $b:ident| $value:expr) => {
            operation!($name, "", |$a, $b| $value);
        };
        ($name:literal, $mode:literal, |$a:ident, $b:ident| $value:expr) => {
            operation!(@ simd, $name, "2", $mode, 2, |$a, $b| $value);
            operation!(@ simd, $name, "4", $mode, 4, |$a, $b| $value);
            operation!(@ scalar, $name, $mode, |$a, $b| $value);
        };
        (@ simd, $name:literal, $n:literal, $mode:literal, $count:expr, |$a:ident, $b:ident| $value:expr) => {
            operation!(@ row, concat!("video.v", $name, $n, $mode), $count, |words, control| {
                simd($count, false, |$a, $b| $value, words, control)
            });
            operation!(@ row, concat!("video.v", $name, $n, $mode, ".add"), $count, |words, control| {
                simd($count, true, |$a, $b| $value, words, control)
            });
        };
        (@ scalar, $name:literal, $mode:literal, |$a:ident, $b:ident| $value:expr) => {
            operation!(@ row, concat!("video.v", $name, $mode), 1, |words, control| {
                scalar(false, |$a, $b| $value, words, control)
            });
            operation!(@ row, concat!("video.v", $name, $mode, ".add"), 1, |words, control| {
                scalar(true, |$a, $b| $value, words, control)
            });
        };
        (@ row, $name:expr, $count:expr, |$words:ident, $control:ident| $value:expr) => {
            t.row($name, video($count), lift_call!((u32, u32, u32, u32) -> u32, |a, b, c, control| {
                let ($words, $control) = ([a, b, c], Control(control));
                $value
            }));
        };
    }
    operation!("add", |a, b| a + b);
    operation!("sub", |a, b| a - b);
    operation!("absdiff", |a, b| (a - b).abs());
    operation!("min", |a, b| a.min(b));
    operation!("max", |a, b| a.max(b));
    operation!("set", ".eq", |a, b| i64::from(a == b));
    operation!("set", ".ne", |a, b| i64::from(a != b));
    operation!("set", ".lt", |a, b| i64::from(a < b));
    operation!("set", ".le", |a, b| i64::from(a <= b));
    operation!("set", ".gt", |a, b| i64::from(a > b));
    operation!("set", ".ge", |a, b| i64::from(a >= b));
    operation!(@ simd, "avrg", "2", "", 2, |a, b| average(a, b));
    operation!(@ simd, "avrg", "4", "", 4, |a, b| average(a, b));
    operation!(@ scalar, "mad", "", |a, b| a.wrapping_mul(b));
    operation!(@ scalar, "shl", ".wrap", |a, b| a << (b & 31));
    operation!(@ scalar, "shl", ".clamp", |a, b| a << (b as u32).min(32));
    operation!(@ scalar, "shr", ".wrap", |a, b| a >> (b & 31));
    operation!(@ scalar, "shr", ".clamp", |a, b| a >> (b as u32).min(32));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::testing::run;

    /// The control word of an instruction of two or four elements in their places.
    fn places(n: u32) -> Control {
        (0..n)
            .fold(Control::default(), |control, i| control.select(0, i, i).select(1, i, n + i))
            .destination((1 << n) - 1)
    }

    fn on(opcode: &str, a: u32, b: u32, c: u32, control: Control) -> u64 {
        run(opcode, &[a.into(), b.into(), c.into(), control.word().into()])[0]
    }

    #[test]
    fn elements() {
        let (unsigned, signed) = (places(4), places(4).signed(0).signed(1).signed(2));
        assert_eq!(on("video.vadd4", 0xff01_7f10, 0x0101_0101, 0, unsigned), 0x0002_8011);
        assert_eq!(on("video.vadd4", 0xff01_7f10, 0x0101_0101, 0, unsigned.saturated()), 0xff02_8011);
        assert_eq!(on("video.vadd4", 0xff01_7f10, 0x0101_0101, 0, signed.saturated()), 0x0002_7f11);
        assert_eq!(on("video.vabsdiff4.add", 0xff00_0503, 0x0002_0701, 1000, unsigned), 1000 + 255 + 2 + 2 + 2);
        assert_eq!(on("video.vavrg4", 0xff00_0503, 0xff03_0601, 0, unsigned), 0xff02_0602);
        assert_eq!(on("video.vavrg2", 0xffff_0001, 0xfffe_0002, 0, places(2).signed(1).signed(2)), 0xfffe_0002);
        assert_eq!(on("video.vset2.lt", 0xffff_0001, 0x0000_0002, 0, places(2)), 1);
        assert_eq!(on("video.vset2.lt", 0xffff_0001, 0x0000_0002, 0, places(2).signed(1).signed(2)), 0x0001_0001);
        // Elements that are not written come from the third operand; others may come from either source.
        let swapped = Control::default().select(0, 0, 3).select(1, 0, 1).destination(1);
        assert_eq!(on("video.vsub2", 0x0005_0000, 0x0009_0000, 0xabcd_1234, swapped), 0xabcd_0004);
    }

    #[test]
    fn parts_of_a_word() {
        let part = |name| scalar_part(name).expect("a part");
        let bytes = Control::default().select(0, 0, part("b1")).select(1, 0, part("h1")).signed(1);
        assert_eq!(on("video.vadd", 0x0000_8000, 0x0003_0000, 0, bytes), -125i32 as u32 as u64);
        assert_eq!(on("video.vadd.add", 0x0000_8000, 0x0003_0000, 130, bytes), 5);
        assert_eq!(on("video.vmax", 0x0000_8000, 0x0003_0000, 0xffff_ffff, bytes.destination(part("b2"))), 0xff03_ffff);
        assert_eq!(on("video.vmad.add", 7, 5, 1, Control::default()), 36);
        assert_eq!(on("video.vshl.clamp", 7, 40, 0, Control::default()), 0);
        assert_eq!(on("video.vshl.wrap", 7, 33, 0, Control::default()), 14);
        assert_eq!(on("video.vshr.clamp", 0x8000_0000, 40, 0, Control::default().signed(1)), 0xffff_ffff);
    }
}
