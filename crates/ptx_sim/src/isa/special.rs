//! Special registers. PTX ISA, "Special Registers".

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
    AggrSmemSize,
    Envreg(u8),
    ReservedSmem(Reserved),
    CurrentGraphExec,
}

/// The property of the reserved shared memory that a register `%reserved_smem_offset_*` holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reserved {
    /// Offset of the start, where parts 0 and 1 start, too.
    Start,
    /// The end of what is in use.
    End,
    /// Its size.
    Size,
}

/// Special registers that change while a thread runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are PTX's own")]
pub enum Timer {
    Clock,
    ClockHi,
    Clock64,
    Globaltimer,
    GlobaltimerLo,
    GlobaltimerHi,
}

impl Timer {
    /// Returns the value after `now` warp instructions of the worker: clocks increase, and are reproducible with one
    /// worker.
    pub(crate) fn value(self, now: u64) -> u64 {
        match self {
            Timer::Clock | Timer::GlobaltimerLo => now & 0xffff_ffff,
            Timer::ClockHi | Timer::GlobaltimerHi => now >> 32,
            Timer::Clock64 | Timer::Globaltimer => now,
        }
    }
}

/// Meaning of a `%name` that is not declared by `.reg`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Register {
    /// A 32-bit value that is constant for a thread.
    Constant(Special),
    /// A 64-bit value that is constant for a thread.
    Constant64(Special),
    /// A value that changes while the thread runs; `true` for 64 bits.
    Timer(Timer, bool),
}

/// Looks up a special register by its name.
pub fn register(name: &str) -> Option<Register> {
    use Register::{Constant, Constant64, Timer as Changing};
    let name = name.strip_prefix('%')?;
    if let Some((vector, axis)) = name.split_once('.') {
        let axis = match axis {
            "x" => 0,
            "y" => 1,
            "z" => 2,
            "w" => 3,
            _ => return None,
        };
        return Some(Constant(match vector {
            "tid" => Special::Tid(axis),
            "ntid" => Special::Ntid(axis),
            "ctaid" => Special::Ctaid(axis),
            "nctaid" => Special::Nctaid(axis),
            "cluster_ctaid" => Special::ClusterCtaid(axis),
            "cluster_nctaid" => Special::ClusterNctaid(axis),
            "clusterid" => Special::Clusterid(axis),
            "nclusterid" => Special::Nclusterid(axis),
            _ => return None,
        }));
    }
    if let Some(number) = name.strip_prefix("envreg") {
        return number.parse().ok().filter(|&n: &u8| n < 32).map(|n| Constant(Special::Envreg(n)));
    }
    Some(match name {
        "cluster_ctarank" => Constant(Special::ClusterCtarank),
        "cluster_nctarank" => Constant(Special::ClusterNctarank),
        "is_explicit_cluster" => Constant(Special::IsExplicitCluster),
        "laneid" => Constant(Special::Laneid),
        "warpid" => Constant(Special::Warpid),
        "nwarpid" => Constant(Special::Nwarpid),
        "smid" => Constant(Special::Smid),
        "nsmid" => Constant(Special::Nsmid),
        "gridid" => Constant64(Special::Gridid),
        "lanemask_eq" => Constant(Special::LanemaskEq),
        "lanemask_le" => Constant(Special::LanemaskLe),
        "lanemask_lt" => Constant(Special::LanemaskLt),
        "lanemask_ge" => Constant(Special::LanemaskGe),
        "lanemask_gt" => Constant(Special::LanemaskGt),
        "dynamic_smem_size" => Constant(Special::DynamicSmemSize),
        "total_smem_size" => Constant(Special::TotalSmemSize),
        "aggr_smem_size" => Constant(Special::AggrSmemSize),
        "reserved_smem_offset_begin" | "reserved_smem_offset_0" | "reserved_smem_offset_1" => {
            Constant(Special::ReservedSmem(Reserved::Start))
        }
        "reserved_smem_offset_end" => Constant(Special::ReservedSmem(Reserved::End)),
        "reserved_smem_offset_cap" => Constant(Special::ReservedSmem(Reserved::Size)),
        "current_graph_exec" => Constant64(Special::CurrentGraphExec),
        "clock" => Changing(Timer::Clock, false),
        "clock_hi" => Changing(Timer::ClockHi, false),
        "clock64" => Changing(Timer::Clock64, true),
        "globaltimer" => Changing(Timer::Globaltimer, true),
        "globaltimer_lo" => Changing(Timer::GlobaltimerLo, false),
        "globaltimer_hi" => Changing(Timer::GlobaltimerHi, false),
        _ => return None,
    })
}
