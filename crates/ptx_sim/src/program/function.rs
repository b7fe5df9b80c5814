//! Functions: parameters, registers, what these hold at the start.

use super::{Inst, Symbol};
use crate::isa::lift::Meaning;
use crate::registers::{Rows, Slot};

/// A function.
#[derive(Clone, Debug)]
pub struct Function {
    /// Name in the PTX text.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// Parameters in order. Offsets are into the kernel's parameters (entry) or into the frame (device function).
    pub params: Vec<Param>,
    /// Return values of a device function; offsets into its frame.
    pub returns: Vec<Param>,
    /// Bytes of frame per thread: incoming parameters, return values, `.local` variables, `.param` variables of calls.
    pub frame_bytes: u64,
    /// Rows needed in `Registers::{w32, w64, pred}`.
    pub rows: Rows,
    /// Rows to fill on entry.
    pub preset: Vec<Preset>,
    /// Instructions; branch targets index this.
    pub code: Vec<Inst>,
    /// By instruction: the files of its operands, for those that compute on registers.
    pub(crate) meanings: Vec<Option<Meaning>>,
    /// `.reqntid`: the block must have exactly this shape.
    pub required_block: Option<[u32; 3]>,
    /// `.reqnctapercluster`: a cluster must have exactly this shape.
    pub required_cluster: Option<[u32; 3]>,
    /// `.maxntid`: the block must have at most this many threads.
    pub max_threads: Option<u32>,
    /// Line of the declaration in the PTX text.
    pub line: u32,
}

/// Entry, device function, or a name that the machine implements.
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
    /// Bytes.
    pub size: u64,
    /// Bytes, a power of two.
    pub align: u64,
    /// See `Function::params`.
    pub offset: u64,
    /// `.ptr`: the value is an address.
    pub pointer: bool,
}

/// A row that holds a value before the first instruction runs. All other rows start undefined.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Preset {
    /// The same bits in every lane.
    Const32(Slot, u32),
    /// The same bits in every lane.
    Const64(Slot, u64),
    /// Bit per lane: all ones or all zeros.
    ConstPred(Slot, bool),
    /// A special register that never changes during a launch, into `w32`.
    Special32(Slot, Special),
    /// The same, into `w64`.
    Special64(Slot, Special),
    /// The same, whether it is not zero, into `pred`.
    SpecialPred(Slot, Special),
    /// Address of a symbol in its own space plus an addend, into `w64`.
    Address64(Slot, Symbol, i64),
    /// The same, low 32 bits, into `w32`.
    Address32(Slot, Symbol, i64),
}

/// Special registers that are constant for a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are PTX's own: %tid, %ntid, ...; the number is the axis")]
pub enum Special {
    Tid(u8),
    Ntid(u8),
    Ctaid(u8),
    Nctaid(u8),
    ClusterCtaid(u8),
    ClusterNctaid(u8),
    Clusterid(u8),
    Nclusterid(u8),
    ClusterCtarank,
    ClusterNctarank,
    IsExplicitCluster,
    Laneid,
    Warpid,
    Nwarpid,
    Smid,
    Nsmid,
    Gridid,
    LanemaskEq,
    LanemaskLe,
    LanemaskLt,
    LanemaskGe,
    LanemaskGt,
    DynamicSmemSize,
    TotalSmemSize,
    Envreg(u8),
}
