//! Video instructions, whose operands select bytes and half-words: `vadd4.u32.u32.u32 %r1.b10, %r2.b3210, %r3, %r4`.

use super::decoder::{Decoder, Effect, PresetKey};
use super::reject::{Reject, unsupported};
use crate::isa::File;
use crate::isa::facts::{Fidelity, Latency, Undefined, Work, facts};
use crate::isa::instructions;
use crate::isa::video::{Control, Second, scalar_part};
use crate::program::Op;
use crate::registers::{Args, NO_SLOT, SOURCES};
use crate::syntax::tree::{Name, Operand};

macro_rules! rows {
    ($($name:literal),*) => {
        &[$(Effect {
            name: $name,
            // Each form has the facts of its row in `isa`.
            facts: facts(Undefined::Any, Work::None, Latency::Alu, Fidelity::Exact),
            decode: |d, words, operands| d.video($name, words, operands),
        }),*]
    };
}

/// Rows of this chapter.
pub const ROWS: &[Effect] = rows![
    "vadd",
    "vsub",
    "vabsdiff",
    "vmin",
    "vmax",
    "vset",
    "vmad",
    "vshl",
    "vshr",
    "vadd2",
    "vsub2",
    "vavrg2",
    "vabsdiff2",
    "vmin2",
    "vmax2",
    "vset2",
    "vadd4",
    "vsub4",
    "vavrg4",
    "vabsdiff4",
    "vmin4",
    "vmax4",
    "vset4"
];

/// The words of a video instruction's opcode.
#[derive(Default)]
struct Words<'t> {
    types: Vec<&'t str>,
    saturated: bool,
    second: Option<Second>,
    /// Comparison of `vset`, mode of `vshl` and `vshr`.
    mode: Option<&'t str>,
    /// Whether `vmad` adds one.
    plus_one: bool,
    /// Distance by which `vmad` shifts.
    shift: Option<u32>,
}

impl<'t> Decoder<'_, 't> {
    fn video(&mut self, name: &str, words: &[&'t str], operands: &[Operand<'t>]) -> Result<Op, Reject> {
        let Some(found) = split(words) else { return unsupported("this form is not supported") };
        let lanes = name.bytes().last().filter(u8::is_ascii_digit).map_or(1, |digit| u32::from(digit - b'0'));
        let is_set = name.starts_with("vset");
        if found.types.len() != if is_set { 2 } else { 3 } {
            return unsupported("has the wrong number of types");
        }
        let types = found.types.iter().rev().zip([2, 1, 0]);
        let mut control =
            types.filter(|(kind, _)| **kind == "s32").fold(Control::default(), |all, (_, i)| all.signed(i));
        if found.saturated {
            if is_set {
                return unsupported("a comparison is not saturated");
            }
            control = control.saturated();
        }
        let (operands, control, form) = match (name, lanes) {
            ("vmad", _) => product(&found, operands, control)?,
            (_, 1) => scalar(name, &found, operands, control)?,
            _ => simd(&found, operands, control, lanes)?,
        };
        let [d, a, b, c] = operands;
        let mut sources = [NO_SLOT; SOURCES];
        let mut control = control;
        for (i, operand) in [a, b].into_iter().enumerate() {
            let (operand, selected) = part(&operand);
            control = match select(control, i as u32, selected, lanes) {
                Some(control) => control,
                None => return unsupported("this part is not supported"),
            };
            sources[i] = self.source(&operand, File::Word)?.0;
        }
        sources[2] = self.source(&c, File::Word)?.0;
        sources[3] = self.preset(PresetKey::Const32(control.word()));
        let mode = found.mode.map_or(String::new(), |mode| format!(".{mode}"));
        let Some(row) = instructions::find(&format!("video.{name}{mode}{form}")) else {
            return unsupported("this form is not supported");
        };
        self.describe(row);
        let destination = self.destination(&d, File::Word)?;
        Ok(Op::Pure(
            row.meaning.run,
            Args { d: [destination, NO_SLOT, NO_SLOT, NO_SLOT], s: sources, ..Args::default() },
        ))
    }
}

/// Operands `d`, `a`, `b` and `c`, what the form adds to the control word, and the end of its row's name.
type Form<'t> = ([Operand<'t>; 4], Control, &'static str);

/// Sorts the operands of an instruction on two or four elements.
fn simd<'t>(found: &Words<'_>, operands: &[Operand<'t>], control: Control, lanes: u32) -> Result<Form<'t>, Reject> {
    let [d, a, b, c] = operands else { return unsupported("has the wrong number of operands") };
    let form = match found.second {
        None => "",
        Some(Second::Add) if !found.saturated => ".add",
        Some(_) => return unsupported("this second operation is not supported"),
    };
    let (d, place) = part(d);
    match elements(place, lanes) {
        Some(mask) if !found.plus_one && found.shift.is_none() => {
            Ok(([d, a.clone(), b.clone(), c.clone()], control.destination(mask), form))
        }
        _ => unsupported("these elements are not supported"),
    }
}

/// Sorts the operands of a scalar instruction other than `vmad`: the third source is that of the second operation or of
/// the merge, and is ignored where there is neither.
fn scalar<'t>(name: &str, found: &Words<'_>, operands: &[Operand<'t>], control: Control) -> Result<Form<'t>, Reject> {
    let (d, a, b, c) = match operands {
        [d, a, b] => (d, a, b, None),
        [d, a, b, c] => (d, a, b, Some(c)),
        _ => return unsupported("has the wrong number of operands"),
    };
    let (d, place) = part(d);
    let Some(mask) = scalar_part(place) else { return unsupported("this part is not supported") };
    if c.is_none() && (mask != 0 || found.second.is_some()) {
        return unsupported("needs a third source");
    }
    if mask != 0 && found.second.is_some() {
        return unsupported("has a part of the destination and a second operation");
    }
    let shifts = matches!(name, "vshl" | "vshr");
    if found.plus_one || found.shift.is_some() || shifts && found.types.last() != Some(&"u32") {
        return unsupported("this form is not supported");
    }
    let form = match found.second {
        _ if found.saturated => ".sat",
        Some(Second::Min) => ".min",
        Some(Second::Max) => ".max",
        _ => "",
    };
    let control = control.destination(mask).second(found.second.unwrap_or(Second::None));
    Ok(([d, a.clone(), b.clone(), c.cloned().unwrap_or(Operand::Integer(0))], control, form))
}

/// Sorts the operands of `vmad`, of which either a factor or the addend may have a sign.
fn product<'t>(found: &Words<'_>, operands: &[Operand<'t>], control: Control) -> Result<Form<'t>, Reject> {
    let [d, a, b, c] = operands else { return unsupported("has the wrong number of operands") };
    if found.second.is_some() {
        return unsupported("this form is not supported");
    }
    let ((a, minus_a), (b, minus_b), (c, minus_c)) = (sign(a), sign(b), sign(c));
    if !part(d).1.is_empty() || !part(&c).1.is_empty() {
        return unsupported("selects a part of the destination or the addend");
    }
    let minus_product = minus_a != minus_b;
    if minus_c && minus_product || found.plus_one && (minus_c || minus_product) {
        return unsupported("only one of a factor, the addend and `.po` changes the sum");
    }
    let mut control = control;
    for (which, minus) in [minus_product, minus_c].into_iter().enumerate() {
        control = if minus { control.minus(which) } else { control };
    }
    control = if found.plus_one { control.plus_one() } else { control };
    control = found.shift.map_or(control, |distance| control.shifted(distance));
    let form = match (found.saturated, found.shift) {
        (true, _) => ".sat",
        (_, Some(7)) => ".shr7",
        (_, Some(_)) => ".shr15",
        _ => "",
    };
    Ok(([d.clone(), a, b, c], control, form))
}

/// Splits `-%r1` into the register and its sign.
fn sign<'t>(operand: &Operand<'t>) -> (Operand<'t>, bool) {
    match operand {
        Operand::Minus(name) => (Operand::Name(*name), true),
        _ => (operand.clone(), false),
    }
}

/// Sorts the words of an opcode; `None` for others.
fn split<'t>(words: &[&'t str]) -> Option<Words<'t>> {
    let mut found = Words::default();
    for &word in words {
        match word {
            "u32" | "s32" => found.types.push(word),
            "sat" if !found.saturated => found.saturated = true,
            "po" if !found.plus_one => found.plus_one = true,
            "shr7" if found.shift.is_none() => found.shift = Some(7),
            "shr15" if found.shift.is_none() => found.shift = Some(15),
            "eq" | "ne" | "lt" | "le" | "gt" | "ge" | "wrap" | "clamp" if found.mode.is_none() => {
                found.mode = Some(word)
            }
            _ if found.second.is_none() => found.second = Some(Second::of(word)?),
            _ => return None,
        }
    }
    Some(found)
}

/// Splits `%r1.b0` into the register and its part.
fn part<'t>(operand: &Operand<'t>) -> (Operand<'t>, &'t str) {
    match operand {
        Operand::Name(name) => match name.text.rsplit_once('.') {
            Some((text, part)) if part.starts_with(['b', 'h']) => (Operand::Name(Name { text, ..*name }), part),
            _ => (operand.clone(), ""),
        },
        _ => (operand.clone(), ""),
    }
}

/// Returns the numbers after the letter of a part, the lowest element's last: `b10`.
fn digits(part: &str, lanes: u32) -> Option<Vec<u32>> {
    let letter = if lanes == 2 { 'h' } else { 'b' };
    part.strip_prefix(letter)?.chars().rev().map(|digit| digit.to_digit(2 * lanes)).collect()
}

/// Returns the mask of the elements that are written.
fn elements(part: &str, lanes: u32) -> Option<u32> {
    if part.is_empty() {
        return Some((1 << lanes) - 1);
    }
    let chosen = digits(part, lanes)?;
    let rising = chosen.windows(2).all(|pair| pair[0] < pair[1]) && !chosen.is_empty();
    (rising && chosen.iter().all(|&i| i < lanes)).then(|| chosen.iter().fold(0, |mask, i| mask | 1 << i))
}

/// Adds what an operand selects.
fn select(control: Control, operand: u32, part: &str, lanes: u32) -> Option<Control> {
    if lanes == 1 {
        return scalar_part(part).map(|number| control.select(operand, 0, number));
    }
    let chosen = if part.is_empty() { (0..lanes).map(|i| lanes * operand + i).collect() } else { digits(part, lanes)? };
    let complete = chosen.len() == lanes as usize;
    complete.then(|| (0..lanes).zip(chosen).fold(control, |all, (i, number)| all.select(operand, i, number)))
}
