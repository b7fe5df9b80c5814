//! Operations on a byte, a half-word or the whole of each operand.
//!
//! The rules for `.sat`, the second operation and `vmad` are those of the PTX ISA's pseudocode. ptxas replaces the
//! instructions by sequences, whose results for `.sat`, `.min`, `.max` and shifted sums differ from the text for some
//! operands: on an H100 (driver 580) `vadd.u32.u32.u32.sat` of 0xffffffff and 1 is 0, not the largest number. On an
//! H200 (ptxas 13.5, 256 operands each) the 2209 forms without them that were tried have these bits, of the 3349 with
//! them 2156.

use super::{Control, extract, range, video};
use crate::isa::facts::{Facts, Fidelity};
use crate::isa::lift::lift_call;
use crate::isa::table::Table;

/// Facts of a form whose sequence on a GPU differs from the PTX ISA for some operands.
const BY_TEXT: Facts = Facts {
    fidelity: Fidelity::Approximate("as the PTX ISA defines it; ptxas's sequence differs from that for some operands"),
    ..video(1)
};

/// What follows the operation of a scalar instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Second {
    /// Nothing, or the result replaces a part of `c`.
    None,
    /// `.add`
    Add,
    /// `.min`
    Min,
    /// `.max`
    Max,
}

impl Second {
    const ALL: [Self; 4] = [Self::None, Self::Add, Self::Min, Self::Max];

    /// Returns the operation of a word; `None` for other words.
    pub fn of(word: &str) -> Option<Self> {
        match word {
            "add" => Some(Self::Add),
            "min" => Some(Self::Min),
            "max" => Some(Self::Max),
            _ => None,
        }
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

/// Returns the selected part of `a` (0) or `b` (1).
fn source(word: u32, operand: u32, control: Control) -> i128 {
    extract(word.into(), extent(control.part(operand, 0)), control.is_signed(1 + operand as usize)).into()
}

fn limit(x: i128, width: u32, signed: bool) -> i128 {
    let (low, high) = range(width, signed);
    x.clamp(low.into(), high.into())
}

/// Computes on a part of each operand, limits the result to the type of the destination or of its part, and then
/// combines it with `c`. The second operation takes the low 32 bits as a number of the destination's type, as it takes
/// `c`: the PTX ISA states that the sign of the intermediate result and that of `c` depend on this type.
fn scalar(f: fn(i128, i128) -> i128, [a, b, c]: [u32; 3], control: Control) -> u32 {
    let (low, width) = extent(control.0 >> Control::DESTINATION & 7);
    let signed = control.is_signed(0);
    let exact = f(source(a, 0, control), source(b, 1, control));
    let result = (if control.is_saturated() { limit(exact, width, signed) } else { exact }) as u32;
    let typed = |word: u32| extract(word.into(), (0, 32), signed);
    match Second::ALL[(control.0 >> Control::SECOND & 3) as usize] {
        Second::None if width == 32 => result,
        Second::None => {
            let field = ((1 << width) - 1) << low;
            c & !field | result << low & field
        }
        Second::Add => result.wrapping_add(c),
        Second::Min => typed(result).min(typed(c)) as u32,
        Second::Max => typed(result).max(typed(c)) as u32,
    }
}

/// `vmad`: the sum of a product and `c`, shifted, and limited to 32 bits. It is signed if a factor is, or if a sign is
/// changed; the destination's type has no effect.
fn multiply_add([a, b, c]: [u32; 3], control: Control) -> u32 {
    let [minus_product, minus_c] = Control::MINUS.map(|place| control.bit(place));
    let signed = control.is_signed(1) || control.is_signed(2) || minus_product || minus_c;
    let product = source(a, 0, control) * source(b, 1, control);
    let c = i128::from(extract(c.into(), (0, 32), signed));
    let sum = if minus_product { -product } else { product } + if minus_c { -c } else { c };
    // 0, 7 or 15.
    let distance = (8 * (control.0 >> Control::SHIFT & 3)).saturating_sub(1);
    let shifted = (sum + i128::from(control.bit(Control::PLUS_ONE))) >> distance;
    (if control.is_saturated() { limit(shifted, 32, signed) } else { shifted }) as u32
}

/// Adds these rows. All forms of an instruction have one meaning, and the names of their rows differ in their facts.
pub fn list(t: &mut Table) {
    macro_rules! operation {
        ($name:literal, |$a:ident, $b:ident| $value:expr) => {
            operation!(@ $name, "{.sat|.min|.max}", |words, control| scalar(|$a, $b| $value, words, control));
        };
        (@ $name:literal, $forms:literal, |$words:ident, $control:ident| $value:expr) => {
            let meaning = lift_call!((u32, u32, u32, u32) -> u32, |a, b, c, control| {
                let ($words, $control) = ([a, b, c], Control(control));
                $value
            });
            t.row(concat!("video.v", $name), video(1), meaning);
            t.row(concat!("video.v", $name, $forms), BY_TEXT, meaning);
        };
    }
    operation!("add", |a, b| a + b);
    operation!("sub", |a, b| a - b);
    operation!("absdiff", |a, b| (a - b).abs());
    operation!("min", |a, b| a.min(b));
    operation!("max", |a, b| a.max(b));
    operation!("set.eq", |a, b| i128::from(a == b));
    operation!("set.ne", |a, b| i128::from(a != b));
    operation!("set.lt", |a, b| i128::from(a < b));
    operation!("set.le", |a, b| i128::from(a <= b));
    operation!("set.gt", |a, b| i128::from(a > b));
    operation!("set.ge", |a, b| i128::from(a >= b));
    operation!("shl.wrap", |a, b| a << (b & 31));
    operation!("shl.clamp", |a, b| a << b.clamp(0, 32));
    operation!("shr.wrap", |a, b| a >> (b & 31));
    operation!("shr.clamp", |a, b| a >> b.clamp(0, 32));
    operation!(@ "mad", "{.sat|.shr7|.shr15}", |words, control| multiply_add(words, control));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::testing::run;

    fn on(opcode: &str, a: u32, b: u32, c: u32, control: Control) -> u64 {
        run(opcode, &[a.into(), b.into(), c.into(), control.word().into()])[0]
    }

    fn part(name: &str) -> u32 {
        scalar_part(name).expect("a part")
    }

    #[test]
    fn parts_of_a_word() {
        let bytes = Control::default().select(0, 0, part("b1")).select(1, 0, part("h1")).signed(1);
        assert_eq!(on("video.vadd", 0x0000_8000, 0x0003_0000, 0, bytes), -125i32 as u32 as u64);
        assert_eq!(on("video.vadd", 0x0000_8000, 0x0003_0000, 130, bytes.second(Second::Add)), 5);
        assert_eq!(on("video.vmax", 0x0000_8000, 0x0003_0000, 0xffff_ffff, bytes.destination(part("b2"))), 0xff03_ffff);
        assert_eq!(on("video.vshl.clamp", 7, 40, 0, Control::default()), 0);
        assert_eq!(on("video.vshl.wrap", 7, 33, 0, Control::default()), 14);
        assert_eq!(on("video.vshr.clamp", 0x8000_0000, 40, 0, Control::default().signed(1)), 0xffff_ffff);
    }

    #[test]
    fn results_are_limited_to_the_destination() {
        let (unsigned, signed) = (Control::default().saturated(), Control::default().saturated().signed(0));
        assert_eq!(on("video.vadd", 0xffff_ffff, 1, 0, unsigned), 0xffff_ffff);
        assert_eq!(on("video.vadd", 0xffff_ffff, 1, 0, signed), 0x7fff_ffff);
        assert_eq!(on("video.vsub", 0, 1, 0, unsigned), 0);
        assert_eq!(on("video.vsub", 0x8000_0000, 1, 0, signed.signed(1)), 0x8000_0000);
        assert_eq!(on("video.vabsdiff", 0x8000_0000, 0x7fff_ffff, 0, signed.signed(1).signed(2)), 0x7fff_ffff);
        assert_eq!(on("video.vshl.clamp", 0x8000_0001, 32, 0, unsigned), 0xffff_ffff);
        assert_eq!(on("video.vshl.clamp", 0x8000_0001, 32, 0, signed.signed(1)), 0x8000_0000);
        // The part of the destination, not the whole, is the limit.
        assert_eq!(on("video.vadd", 200, 100, 0x1111_1111, unsigned.destination(part("b1"))), 0x1111_ff11);
        assert_eq!(on("video.vsub", 0, 300, 0x1111_1111, signed.destination(part("b0"))), 0x1111_1180);
        assert_eq!(on("video.vadd", 40_000, 40_000, 0, unsigned.destination(part("h1"))), 0xffff_0000);
        // The limited result is what is added.
        assert_eq!(on("video.vadd", 0xffff_ffff, 7, 5, unsigned.second(Second::Add)), 4);
    }

    #[test]
    fn the_second_operation_has_the_destinations_type() {
        let (unsigned, signed) = (Control::default(), Control::default().signed(0));
        assert_eq!(on("video.vadd", 3, 4, 0xffff_ffff, unsigned.second(Second::Min)), 7);
        assert_eq!(on("video.vadd", 3, 4, 0xffff_ffff, signed.second(Second::Min)), 0xffff_ffff);
        assert_eq!(on("video.vadd", 3, 4, 0xffff_ffff, unsigned.second(Second::Max)), 0xffff_ffff);
        assert_eq!(on("video.vadd", 3, 4, 0xffff_ffff, signed.second(Second::Max)), 7);
        assert_eq!(on("video.vset.lt", 3, 4, 0, unsigned.second(Second::Max)), 1);
    }

    #[test]
    fn products_are_added() {
        let plain = Control::default();
        assert_eq!(on("video.vmad", 7, 5, 1, plain), 36);
        assert_eq!(on("video.vmad", 7, 5, 1, plain.plus_one()), 37);
        assert_eq!(on("video.vmad", 7, 5, 1, plain.minus(0)), -34i32 as u32 as u64);
        assert_eq!(on("video.vmad", 7, 5, 1, plain.minus(1)), 34);
        // The shifted sum is wider than 32 bits.
        assert_eq!(on("video.vmad", 0x8000_0000, 256, 0, plain.shifted(15)), 0x0100_0000);
        assert_eq!(on("video.vmad", 0x8000_0000, 256, 0x80, plain.shifted(7)), 1);
        assert_eq!(on("video.vmad", 0x8000_0000, 256, 0, plain.saturated()), 0xffff_ffff);
        assert_eq!(on("video.vmad", 0x8000_0000, 256, 0, plain.signed(1).saturated()), 0x8000_0000);
        // A product without a sign extends `c` by zeros.
        assert_eq!(on("video.vmad", 0, 0, 0xffff_ffff, plain.shifted(15)), 0x1_ffff);
        assert_eq!(on("video.vmad", 0, 0, 0xffff_ffff, plain.signed(2).shifted(15)), 0xffff_ffff);
    }
}
