//! Video instructions, whose operands select bytes and half-words: `vadd4.u32.u32.u32 %r1.b10, %r2.b3210, %r3, %r4`.
//!
//! ptxas replaces the scalar ones by sequences of instructions. Of those with `.sat`, with `.min` and `.max` as second
//! operations, and with shifted products, the sequences for a GPU of today have other results than the PTX ISA's
//! text, so these forms are refused.

use super::decoder::{Decoder, Effect, PresetKey};
use super::reject::{Reject, unsupported};
use crate::isa::File;
use crate::isa::facts::{Fidelity, Latency, Undefined, Work, facts};
use crate::isa::instructions;
use crate::isa::video::{Control, scalar_part};
use crate::program::Op;
use crate::registers::{Args, NO_SLOT};
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
    add: bool,
    /// Comparison of `vset`, mode of `vshl` and `vshr`.
    mode: Option<&'t str>,
}

impl<'t> Decoder<'_, 't> {
    fn video(&mut self, name: &str, words: &[&'t str], operands: &[Operand<'t>]) -> Result<Op, Reject> {
        let Some(found) = split(words) else { return unsupported("this form is not supported") };
        let lanes = name.bytes().last().filter(u8::is_ascii_digit).map_or(1, |digit| u32::from(digit - b'0'));
        let is_set = name.starts_with("vset");
        if found.types.len() != if is_set { 2 } else { 3 } {
            return unsupported("has the wrong number of types");
        }
        if found.saturated && (lanes == 1 || found.add) {
            return unsupported("this saturation is not supported");
        }
        let (d, a, b, c) = match operands {
            [d, a, b] if lanes == 1 && name != "vmad" && !found.add => (d, a, b, &Operand::Integer(0)),
            [d, a, b, c] => (d, a, b, c),
            _ => return unsupported("has the wrong number of operands"),
        };
        let (d, place) = part(d);
        let types = found.types.iter().rev().zip([2, 1, 0]);
        let mut control =
            types.filter(|(kind, _)| **kind == "s32").fold(Control::default(), |all, (_, i)| all.signed(i));
        if found.saturated {
            control = control.saturated();
        }
        let mut add = found.add;
        if lanes == 1 {
            let Some(mask) = scalar_part(place) else { return unsupported("this part is not supported") };
            if operands.len() == 4 && name != "vmad" && add == (mask != 0) {
                return unsupported("needs either a part of the destination or a second operation");
            }
            add |= name == "vmad";
            control = control.destination(mask);
        } else {
            let Some(mask) = elements(place, lanes) else { return unsupported("these elements are not supported") };
            control = control.destination(mask);
        }
        let mut sources = [NO_SLOT; 4];
        for (i, operand) in [a, b].into_iter().enumerate() {
            let (operand, selected) = part(operand);
            control = match select(control, i as u32, selected, lanes) {
                Some(control) => control,
                None => return unsupported("this part is not supported"),
            };
            sources[i] = self.source(&operand, File::Word)?.0;
        }
        sources[2] = self.source(c, File::Word)?.0;
        sources[3] = self.preset(PresetKey::Const32(control.word()));
        let mode = found.mode.map_or(String::new(), |mode| format!(".{mode}"));
        let suffix = if add { ".add" } else { "" };
        let Some(row) = instructions::find(&format!("video.{name}{mode}{suffix}")) else {
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

/// Sorts the words of an opcode; `None` for others.
fn split<'t>(words: &[&'t str]) -> Option<Words<'t>> {
    let mut found = Words::default();
    for &word in words {
        match word {
            "u32" | "s32" => found.types.push(word),
            "sat" if !found.saturated => found.saturated = true,
            "add" if !found.add => found.add = true,
            "eq" | "ne" | "lt" | "le" | "gt" | "ge" | "wrap" | "clamp" if found.mode.is_none() => {
                found.mode = Some(word)
            }
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
