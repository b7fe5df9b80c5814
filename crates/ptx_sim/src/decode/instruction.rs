//! Which decoder an opcode has, and instructions of the table.

use std::collections::HashMap;

use super::function::Decoder;
use super::{Reject, unsupported};
use crate::isa::table::{self, Row};
use crate::isa::{self, File};
use crate::program::Op;
use crate::registers::{Args, NO_SLOT, Slot};
use crate::syntax::tree::{Instruction, Operand};

/// What to do with an opcode.
#[derive(Clone, Copy)]
pub enum Decode {
    /// A row of the table.
    Table(&'static Row),
    /// Instructions that touch more than registers.
    Special(Family),
    /// Not known here.
    Unknown,
}

/// Decoders outside the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    Mov,
    Cvt,
    Load,
    Store,
    Atomic,
    Fence,
    Cvta,
    Isspacep,
    Branch,
    BranchIndexed,
    Call,
    Return,
    Exit,
    Trap,
    Barrier,
    Async,
    Collective,
    Activemask,
    Nanosleep,
    Alloca,
    StackSave,
    StackRestore,
    CreatePolicy,
    Texture,
    Matrix,
    Nothing,
}

/// Opcodes seen so far, each decoded once.
#[derive(Default)]
pub struct Opcodes<'t> {
    known: HashMap<&'t str, (u32, Decode)>,
    list: Vec<String>,
}

impl<'t> Opcodes<'t> {
    /// The index of an opcode, and what to do with it.
    pub fn intern(&mut self, opcode: &'t str) -> (u32, Decode) {
        if let Some(&known) = self.known.get(opcode) {
            return known;
        }
        let index = self.list.len() as u32;
        self.list.push(opcode.to_string());
        let decode = decode(opcode);
        self.known.insert(opcode, (index, decode));
        (index, decode)
    }

    /// All opcodes, by index.
    pub fn finish(self) -> Vec<String> {
        self.list
    }
}

fn decode(opcode: &str) -> Decode {
    use Family::*;
    let first = opcode.split('.').next().unwrap_or_default();
    let family = match first {
        "mov" => Mov,
        "cvt" => Cvt,
        "cp" | "mbarrier" | "mapa" | "getctarank" => Async,
        "st" | "red" if opcode.contains(".async") => Async,
        "barrier" if opcode.starts_with("barrier.cluster") => Async,
        "ld" | "ldu" => Load,
        "st" => Store,
        "atom" | "red" => Atomic,
        "fence" | "membar" => Fence,
        "cvta" => Cvta,
        "isspacep" => Isspacep,
        "bra" => Branch,
        "brx" => BranchIndexed,
        "call" => Call,
        "ret" => Return,
        "exit" => Exit,
        "trap" | "brkpt" => Trap,
        "bar" if opcode.starts_with("bar.warp") => Collective,
        "bar" | "barrier" => Barrier,
        "shfl" | "vote" | "match" | "redux" | "elect" => Collective,
        "mma" | "ldmatrix" | "stmatrix" | "movmatrix" | "wmma" => Matrix,
        "tex" | "tld4" | "txq" | "suld" | "sust" | "suq" => Texture,
        "createpolicy" => CreatePolicy,
        "activemask" => Activemask,
        "nanosleep" => Nanosleep,
        "alloca" => Alloca,
        "stacksave" => StackSave,
        "stackrestore" => StackRestore,
        "prefetch" | "prefetchu" | "applypriority" | "discard" | "griddepcontrol" | "pmevent" | "setmaxnreg" => Nothing,
        _ => return table::find(opcode).map_or(Decode::Unknown, Decode::Table),
    };
    Decode::Special(family)
}

impl<'t> Decoder<'_, 't> {
    /// Decodes one instruction.
    pub fn decode(&mut self, decode: Decode, instruction: &'t Instruction<'t>) -> Result<Op, Reject> {
        let operands = self.body.get(&instruction.operands);
        let opcode = instruction.opcode;
        let family = match decode {
            Decode::Table(row) => return self.row(row, operands),
            Decode::Unknown => return unsupported("this instruction is not known"),
            Decode::Special(family) => family,
        };
        match family {
            Family::Mov => self.mov(opcode, operands),
            Family::Cvt => self.cvt(opcode, operands),
            Family::Load => self.load(opcode, operands),
            Family::Store => self.store(opcode, operands),
            Family::Atomic => self.atomic(opcode, operands),
            Family::Fence => self.fence(opcode),
            Family::Cvta => self.cvta(opcode, operands),
            Family::Isspacep => self.isspacep(opcode, operands),
            Family::Branch => self.branch(operands),
            Family::BranchIndexed => self.branch_indexed(operands),
            Family::Call => self.call(operands),
            Family::Return => Ok(Op::Return),
            Family::Exit => Ok(Op::Exit),
            Family::Trap => Ok(Op::Trap),
            Family::Barrier => self.barrier(opcode, operands),
            Family::Async => self.asynchronous(opcode, operands),
            Family::Collective => self.collective(opcode, operands),
            Family::Activemask => self.activemask(operands),
            Family::Nanosleep => Ok(Op::Nanosleep),
            Family::Alloca => self.alloca(opcode, operands),
            Family::StackSave => match operands {
                [d] => Ok(Op::StackSave(self.destination(d, File::Long)?)),
                _ => unsupported("needs one operand"),
            },
            Family::StackRestore => match operands {
                [a] => Ok(Op::StackRestore(self.source(a, File::Long)?.0)),
                _ => unsupported("needs one operand"),
            },
            Family::Matrix => self.matrix(opcode, operands),
            Family::Texture => self.texture(opcode, operands),
            Family::CreatePolicy => self.create_policy(operands),
            Family::Nothing => Ok(Op::Nothing),
        }
    }

    /// An instruction of the table: destinations, then sources.
    pub fn row(&mut self, row: &Row, operands: &[Operand<'t>]) -> Result<Op, Reject> {
        let args = self.args(row, operands)?;
        self.meaning = Some(row.meaning);
        Ok(Op::Pure(row.meaning.run, args))
    }

    /// Binds operands to the files that a row names.
    pub fn args(&mut self, row: &Row, operands: &[Operand<'t>]) -> Result<Args, Reject> {
        let (d, s) = (row.meaning.d, row.meaning.s);
        let named_d = &d[..d.len() - usize::from(row.carry_out)];
        let named_s = &s[..s.len() - usize::from(row.carry_in)];
        let Some((first, rest)) = operands.split_first() else { return unsupported("has no operands") };
        let mut args = Args { d: [NO_SLOT; 4], immediate: row.immediate, ..Args::default() };
        match first {
            Operand::Pair(a, b) if named_d.len() == 2 => {
                args.d[0] = self.destination_name(a, named_d[0])?;
                args.d[1] = self.destination_name(b, named_d[1])?;
            }
            _ if named_d.len() <= 1 + usize::from(row.optional) => {
                args.d[0] = self.destination(first, named_d.first().copied().unwrap_or(File::Word))?;
            }
            _ => return unsupported("needs two destinations, written `d|p`"),
        }
        if rest.len() != named_s.len() {
            return unsupported(format!("has {} sources where {} belong", rest.len(), named_s.len()));
        }
        for (i, (operand, &file)) in rest.iter().zip(named_s).enumerate() {
            let (slot, negated) = self.source(operand, file)?;
            args.s[i] = slot;
            args.negated |= u8::from(negated) << i;
        }
        if row.carry_in {
            args.s[named_s.len()] = self.carry();
        }
        if row.carry_out {
            args.d[named_d.len()] = self.carry();
        }
        Ok(args)
    }

    fn carry(&mut self) -> Slot {
        let rows = &mut self.names.rows.pred;
        *self.carry.get_or_insert_with(|| {
            let slot = *rows;
            *rows += 1;
            slot
        })
    }

    /// `mov`: a copy, an address, a timer, packing or unpacking.
    fn mov(&mut self, opcode: &str, operands: &[Operand<'t>]) -> Result<Op, Reject> {
        let [to, from] = operands else { return unsupported("needs two operands") };
        let kind = opcode.strip_prefix("mov.").unwrap_or_default();
        let bits = crate::syntax::type_bytes(kind).map_or(0, |bytes| bytes * 8);
        if let Operand::Vector(span) = to {
            let (body, name) = (self.body, format!("unpack.b{bits}.{}", span.len()));
            let Some(row) = table::find(&name) else { return unsupported("unpacks in a way that is not known") };
            let mut args = Args { d: [NO_SLOT; 4], ..Args::default() };
            for ((place, element), &file) in args.d.iter_mut().zip(body.get(span)).zip(row.meaning.d) {
                *place = self.destination(element, file)?;
            }
            let slot = if bits == 128 { self.quad(from)? } else { self.source(from, row.meaning.s[0])?.0 };
            args.s[0] = slot;
            if bits == 128 {
                args.s[1] = slot + 1;
            }
            self.meaning = Some(row.meaning);
            return Ok(Op::Pure(row.meaning.run, args));
        }
        if let Operand::Vector(span) = from {
            let (body, name) = (self.body, format!("pack.b{bits}.{}", span.len()));
            let Some(row) = table::find(&name) else { return unsupported("packs in a way that is not known") };
            let mut args = Args { d: [NO_SLOT; 4], ..Args::default() };
            for ((place, element), &file) in args.s.iter_mut().zip(body.get(span)).zip(row.meaning.s) {
                *place = self.source(element, file)?.0;
            }
            if bits == 128 {
                args.d[0] = self.quad(to)?;
                args.d[1] = args.d[0] + 1;
            } else {
                args.d[0] = self.destination(to, row.meaning.d[0])?;
            }
            self.meaning = Some(row.meaning);
            return Ok(Op::Pure(row.meaning.run, args));
        }
        if bits == 128 {
            let (d, s) = (self.quad(to)?, self.quad(from)?);
            let Some(row) = table::find("pack.b128.2") else { return unsupported("is not known") };
            self.meaning = Some(row.meaning);
            return Ok(Op::Pure(row.meaning.run, Args { d: [d, d + 1, 0, 0], s: [s, s + 1, 0, 0], ..Args::default() }));
        }
        let Some(row) = table::find(opcode) else { return unsupported("this type is not known") };
        if let Operand::Name(name) = from
            && let Some(isa::Register::Timer(timer, wide)) = isa::register(name.text)
            && self.names.find(name.text).is_none()
        {
            let file = if wide { File::Long } else { File::Word };
            return Ok(Op::ReadTimer { timer, destination: self.destination(to, file)?, wide });
        }
        self.row(row, operands)
    }

    /// `cvt`: the table's rows assume registers as wide as the types; registers may be wider.
    fn cvt(&mut self, opcode: &str, operands: &[Operand<'t>]) -> Result<Op, Reject> {
        if let Some(row) = table::find(opcode) {
            if let Ok(op) = self.row(row, operands) {
                return Ok(op);
            }
        } else if !isa::convert_known_elsewhere(opcode) {
            return unsupported("this conversion is not known");
        }
        let [to, from, ..] = operands else { return unsupported("needs two operands") };
        let from_bits = match (self.register_bits(from), opcode.rsplit('.').next()) {
            // A constant has the width of its type.
            (0, Some("u8" | "s8" | "u16" | "s16" | "f16" | "bf16")) => 16,
            (0, Some("u64" | "s64" | "f64")) => 64,
            (0, _) => 32,
            (bits, _) => bits,
        };
        let name = format!("{opcode}.r{}.r{from_bits}", self.register_bits(to));
        match table::find(&name) {
            Some(row) => self.row(row, operands),
            None => match table::find(opcode) {
                Some(row) => self.row(row, operands),
                None => unsupported("this conversion is not known for registers of this size"),
            },
        }
    }
}
