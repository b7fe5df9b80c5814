//! State of decoding: the module's declarations, the scopes and rows of a function, and the current instruction.

use crate::hash::Map;
use std::rc::Rc;

use super::locations::Locations;
use super::names::{Class, Labels, Names};
use super::reject::Reject;
use crate::isa::facts::Facts;
use crate::isa::spelling::is_type;
use crate::isa::table::Row;
use crate::isa::targets::{self, Target};
use crate::program::{Described, Op, Preset, Program, Special};
use crate::registers::Slot;
use crate::syntax::tree::{self, Body, Operand, Span};

/// State shared by the functions of a module while it is decoded.
pub struct Context<'t> {
    pub program: Program,
    pub functions: Map<&'t str, u32>,
    pub variables: Map<&'t str, u32>,
    pub locations: Locations<'t>,
    pub opcodes: Opcodes<'t>,
    pub strings: &'t tree::DebugStrings<'t>,
    /// Number of targets of indexed branches so far.
    pub branch_targets: usize,
}

/// State of a function being decoded.
pub struct Decoder<'c, 't> {
    pub context: &'c mut Context<'t>,
    pub text: &'t str,
    pub body: &'t Body<'t>,
    pub names: Names<'t>,
    pub labels: Labels<'t>,
    pub scope: u32,
    pub targets: Map<&'t str, &'t Span>,
    pub entry: bool,
    pub preset: Vec<Preset>,
    pub preset_slots: Map<PresetKey, Slot>,
    /// Row of the carry flag, once an instruction uses it.
    pub carry: Option<Slot>,
    /// Mask from `.pragma "used_bytes_mask"`, for the next load.
    pub used_bytes: Option<u64>,
    pub line: u32,
    /// Class of the current instruction's types.
    pub class: Class,
    /// Whether the current instruction reads special registers.
    pub takes_special: bool,
    /// Facts of the instruction that is being decoded, from its row.
    pub described: Described,
}

/// Contents of a preset row, without its slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PresetKey {
    Const32(u32),
    Const64(u64),
    Pred(bool),
    Special32(Special),
    Special64(Special),
    SpecialPred(Special),
    /// Kind of symbol, its index or offset, addend, and whether the address has 64 bits.
    Address(u8, u64, i64, bool),
}

/// Decodes the operands of an instruction, given the words of its opcode that follow its row's name.
pub type Decode = for<'t> fn(&mut Decoder<'_, 't>, &[&'t str], &[Operand<'t>]) -> Result<Op, Reject>;

/// The row of an instruction that affects more than registers.
#[derive(Clone, Copy)]
pub struct Effect {
    /// The first words of the opcode. Of several matching rows, the one with the longest name applies.
    pub name: &'static str,
    /// Facts for the counters and the time estimate.
    pub facts: Facts,
    /// Decodes the operands to the operation that the machine executes.
    pub decode: Decode,
}

/// The row of an instruction.
#[derive(Clone, Copy)]
pub enum Entry {
    /// An instruction that only moves bits between registers, or between the lanes of a warp.
    Pure(&'static Row),
    /// A conversion: the widths of its registers choose the row.
    Conversion,
    /// An instruction that affects more than registers.
    Effect(&'static Effect),
    /// An instruction without a row.
    Unknown,
}

/// An opcode of the module.
#[derive(Clone)]
pub struct Opcode<'t> {
    /// Index into `Program::opcodes`.
    pub index: u32,
    pub entry: Entry,
    /// Class of its types.
    pub class: Class,
    /// Whether ptxas takes special registers as its operands.
    pub takes_special: bool,
    /// First architecture that has the instruction; `None` if all have it.
    pub first: Option<Target>,
    /// The words after the name of an effect's row.
    pub modifiers: Rc<[&'t str]>,
}

/// Opcodes seen so far, each looked up once.
#[derive(Default)]
pub struct Opcodes<'t> {
    known: Map<&'t str, Opcode<'t>>,
    list: Vec<String>,
}

impl<'t> Opcodes<'t> {
    /// Returns an opcode, looked up at its first occurrence.
    pub fn intern(&mut self, opcode: &'t str, find: fn(&'t str) -> (Entry, Rc<[&'t str]>)) -> Opcode<'t> {
        if let Some(known) = self.known.get(opcode) {
            return known.clone();
        }
        let index = self.list.len() as u32;
        self.list.push(opcode.to_string());
        let (entry, modifiers) = find(opcode);
        let (class, takes_special) = (class(opcode), takes_special(opcode));
        let first = targets::of_opcode(opcode);
        let known = Opcode { index, entry, class, takes_special, first, modifiers };
        self.known.insert(opcode, known.clone());
        known
    }

    /// Returns all opcodes, by index.
    pub fn finish(self) -> Vec<String> {
        self.list
    }
}

/// Opcodes that also have operands of other types: sizes, strides, handles, layers.
const MIXED: [&str; 9] = ["cp", "wmma", "mma", "wgmma", "multimem", "tex", "tld4", "suld", "sust"];

/// Returns the class of an opcode's types, if all operands have it.
fn class(opcode: &str) -> Class {
    if opcode.split('.').next().is_some_and(|first| MIXED.contains(&first)) {
        return Class::Bits;
    }
    let mut classes = opcode.split('.').skip(1).filter(|word| is_type(word)).map(Class::of);
    let first = classes.next().unwrap_or(Class::Bits);
    if classes.all(|class| class == first) { first } else { Class::Bits }
}

/// Whether an opcode is a `mov`, or a conversion between integers.
fn takes_special(opcode: &str) -> bool {
    opcode.starts_with("mov.") || opcode.starts_with("cvt.") && class(opcode) == Class::Integer
}
