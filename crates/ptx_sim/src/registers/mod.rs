//! The registers of one warp: struct of arrays, one row of 32 lanes per register.
//!
//! Every operand of a decoded instruction is a row: constants, special registers and symbol addresses are rows that the
//! machine fills when a function is entered, so execution never distinguishes kinds of operands.

pub(crate) mod shadow;

use shadow::RegisterShadow;

/// Register file of an operand, and the type of its literals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum File {
    /// `Registers::pred`.
    Pred,
    /// `Registers::w32`, of which 16 bits are used and the rest is zero.
    Half,
    /// `Registers::w32`.
    Word,
    /// `Registers::w32`, with decimal literals of type `f32`.
    Single,
    /// `Registers::w64`.
    Long,
    /// `Registers::w64`, with decimal literals of type `f64`.
    Double,
}

/// Number of rows of each register file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    /// Rows of `Registers::w32`.
    pub w32: u32,
    /// Rows of `Registers::w64`.
    pub w64: u32,
    /// Rows of `Registers::pred`.
    pub pred: u32,
}

impl Rows {
    /// Returns the number of a row when the three files are numbered consecutively: `w32`, `w64`, `pred`.
    #[inline(always)]
    pub(crate) fn number(self, file: File, slot: Slot) -> u32 {
        match file {
            File::Half | File::Word | File::Single => slot,
            File::Long | File::Double => self.w32.saturating_add(slot),
            File::Pred => self.w32.saturating_add(self.w64).saturating_add(slot),
        }
    }

    /// Whether the row with this number holds 64 bits.
    pub(crate) fn is_long(self, number: u32) -> bool {
        (self.w32..self.w32.saturating_add(self.w64)).contains(&number)
    }
}

/// Number of threads in a warp.
pub const LANES: usize = 32;

/// Index of a row in one of the three files; the instruction determines the file.
pub type Slot = u32;

/// A destination that PTX writes as `_`: the value is discarded.
pub const NO_SLOT: Slot = u32::MAX;

/// The register files of one frame of one warp.
///
/// 8- and 16-bit registers are stored in `w32`, zero-extended. `f32` and `f64` are stored as bit patterns. A 128-bit
/// register is two adjacent rows of `w64`, low half first.
#[derive(Clone, Debug, Default, Hash)]
pub struct Registers {
    /// Rows of `.b8`, `.b16`, `.b32`, `.f16`, `.bf16` and `.f32` registers, and packed pairs.
    pub w32: Vec<[u32; LANES]>,
    /// Rows of `.b64` and `.f64` registers, and addresses.
    pub w64: Vec<[u64; LANES]>,
    /// Predicates, one bit per lane.
    pub pred: Vec<u32>,
    /// Undefined bits, while they are tracked.
    pub(crate) shadow: Option<Box<RegisterShadow>>,
}

/// Largest number of sources of an instruction.
pub const SOURCES: usize = 5;

/// Destinations and sources of an instruction, as rows. The instruction's meaning determines the file of each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Args {
    /// Destinations; `NO_SLOT` for `_` and for missing ones.
    pub d: [Slot; 4],
    /// Sources.
    pub s: [Slot; SOURCES],
    /// Negated sources: bit `i` is set if source `i` is a predicate written with `!`.
    pub negated: u8,
    /// Further properties of the opcode, in a form that depends on the meaning.
    pub immediate: u16,
}

/// The meaning of an instruction that only computes on registers: it reads the sources of the lanes in `mask` (shuffles
/// and votes also read other lanes), writes the destinations of the lanes in `mask`, and leaves other lanes unchanged.
///
/// The same code is compiled for each [`Level`](crate::Level) of the host.
#[derive(Clone, Copy, Debug)]
pub struct Pure {
    pub(crate) baseline: Run,
    #[cfg(target_arch = "x86_64")]
    pub(crate) v3: unsafe fn(registers: &mut Registers, mask: u32, args: &Args),
}

/// Code for one level.
pub type Run = fn(registers: &mut Registers, mask: u32, args: &Args);

impl Pure {
    /// Creates a meaning with one code for all levels.
    pub const fn plain(run: Run) -> Self {
        Self {
            baseline: run,
            #[cfg(target_arch = "x86_64")]
            v3: run,
        }
    }

    /// Creates a meaning with code for each level; used by `lift!` and `for_each_level!`.
    ///
    /// # Safety
    /// `v3` must be safe to call on a processor with the features of x86-64-v3.
    #[cfg(target_arch = "x86_64")]
    pub(crate) const unsafe fn lifted(baseline: Run, v3: unsafe fn(&mut Registers, u32, &Args)) -> Self {
        Self { baseline, v3 }
    }
}
