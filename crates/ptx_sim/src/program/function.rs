//! Functions: parameters, registers, and the initial values of registers.

use super::{Apart, Inst, Symbol};
use crate::isa::facts::{Facts, Fidelity, Latency, Undefined, Work, facts};
use crate::isa::lift::Meaning;
use crate::isa::special::Special;
use crate::registers::{File, Rows, Slot};

/// A function, with its code and its requirements.
#[derive(Clone, Debug)]
pub struct Function {
    /// Name in the PTX text.
    pub name: String,
    /// Entry, device function or extern.
    pub kind: Kind,
    /// Parameters in order. Offsets refer to the kernel's parameters (entry) or to the frame (device function).
    pub params: Vec<Param>,
    /// Return values of a device function; offsets into its frame.
    pub returns: Vec<Param>,
    /// Size of a thread's frame in bytes: incoming parameters, return values, `.local` variables, `.param` variables of
    /// calls.
    pub frame_bytes: u64,
    /// Alignment of a thread's frame in bytes: the largest of what it holds, and at least 16.
    pub frame_align: u64,
    /// The variables of the frame that lie apart.
    pub(crate) apart: Apart,
    /// Number of rows in `Registers::{w32, w64, pred}`.
    pub rows: Rows,
    /// Rows filled on entry.
    pub preset: Vec<Preset>,
    /// Instructions; branch targets are indices into this list.
    pub code: Vec<Inst>,
    /// Facts and meaning of each instruction.
    pub(crate) described: Vec<Described>,
    /// Block shape required by `.reqntid`.
    pub required_block: Option<[u32; 3]>,
    /// Cluster shape required by `.reqnctapercluster`.
    pub required_cluster: Option<[u32; 3]>,
    /// Maximum number of threads of a block, from `.maxntid`.
    pub max_threads: Option<u32>,
    /// Maximum number of registers of a thread, from `.maxnreg`.
    pub max_registers: Option<u32>,
    /// Line of the declaration in the PTX text.
    pub line: u32,
}

/// Facts and meaning of an instruction, from its row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Described {
    /// Facts for the checkers, the counters and the time estimate.
    pub facts: &'static Facts,
    /// The meaning of an instruction that computes on registers, with the files of its operands.
    pub meaning: Option<&'static Meaning>,
}

impl Described {
    /// The description of a control instruction without a row.
    pub const NOTHING: Self =
        Self { facts: &facts(Undefined::Any, Work::None, Latency::Alu, Fidelity::Exact), meaning: None };
}

impl Function {
    /// Returns the size of a thread's frame as limits count it: without the gaps between variables.
    pub fn counted_frame(&self) -> u64 {
        self.frame_bytes - self.apart.added
    }

    /// Returns the facts of an instruction.
    pub(crate) fn facts(&self, pc: u32) -> &'static Facts {
        self.described.get(pc as usize).unwrap_or(&Described::NOTHING).facts
    }

    /// Returns the meaning of an instruction that computes on registers.
    pub(crate) fn meaning(&self, pc: u32) -> Option<&'static Meaning> {
        self.described.get(pc as usize)?.meaning
    }
}

/// Entry, device function, or a function that the machine implements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `.entry`.
    Entry,
    /// `.func` with a body.
    Device,
    /// `.extern .func`: `vprintf`, `malloc`, `free`, `__assertfail`.
    Extern,
}

/// A parameter or return value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Param {
    /// Name in the PTX text.
    pub name: String,
    /// Size in bytes.
    pub size: u64,
    /// Alignment in bytes, a power of two.
    pub align: u64,
    /// Offset: see `Function::params`.
    pub offset: u64,
    /// Whether the value is an address, `.ptr`.
    pub pointer: bool,
}

/// A row with a value before the first instruction runs. All other rows start undefined.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Preset {
    /// The same bits in every lane of a row of `w32`.
    Const32(Slot, u32),
    /// The same bits in every lane of a row of `w64`.
    Const64(Slot, u64),
    /// The same predicate in every lane.
    ConstPred(Slot, bool),
    /// A special register that is constant during a launch, in a row of `w32`.
    Special32(Slot, Special),
    /// A special register that never changes during a launch, into `w64`.
    Special64(Slot, Special),
    /// Whether such a special register is not zero, into `pred`.
    SpecialPred(Slot, Special),
    /// Address of a symbol in its own space plus an addend, in a row of `w64`.
    Address64(Slot, Symbol, i64),
    /// The low 32 bits of such an address, into `w32`.
    Address32(Slot, Symbol, i64),
}

impl Preset {
    /// The register file and the row.
    pub(crate) fn row(&self) -> (File, Slot) {
        match *self {
            Self::Const32(slot, _) | Self::Special32(slot, _) | Self::Address32(slot, ..) => (File::Word, slot),
            Self::Const64(slot, _) | Self::Special64(slot, _) | Self::Address64(slot, ..) => (File::Long, slot),
            Self::ConstPred(slot, _) | Self::SpecialPred(slot, _) => (File::Pred, slot),
        }
    }
}
