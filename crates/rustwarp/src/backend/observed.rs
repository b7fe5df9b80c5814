//! Observations of a simulated run besides its results: counters, findings, explanations of launches.

use crate::diagnostic::Diagnostic;
pub use ptx_sim::Counters;
pub use ptx_sim::explain::{Analysis, Line as SourceLine};

/// How closely an opcode's results on the simulator match those of a GPU.
#[derive(Clone, Debug, serde::Serialize)]
#[non_exhaustive]
pub struct Fidelity {
    /// The opcode as it is written in the PTX.
    pub opcode: String,
    /// `exact`, `approximate`, `unspecified` or `unsupported`.
    pub fidelity: &'static str,
    /// Bound of the difference from the exact result, or the reason why a GPU's results differ between runs.
    pub bound: Option<&'static str>,
    /// Number of executions by warps.
    pub executions: u64,
    /// Lines of the PTX that contain it, in the functions that ran.
    pub lines: Vec<u32>,
}

/// Observations of the simulator since the last call of [`Backend::observed`](super::Backend::observed).
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Observed {
    /// Sums over the launches.
    pub counters: Counters,
    /// Findings in the order of the launches, including those of a launch that ended in a fault.
    pub findings: Vec<Diagnostic>,
    /// Opcodes of the last launch that completed.
    pub fidelity: Vec<Fidelity>,
    /// Explanations of the launches, on a device that [`explaining`](super::explaining) opened.
    pub launches: Vec<Analysis>,
    /// What happened between the launches.
    pub between: Between,
}

/// Steps between the launches of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Between {
    /// Number of copies within device memory.
    pub copies: u32,
    /// Bytes of each copy to the host after a launch that a copy from the host follows: results from which the host
    /// computes something that it hands back.
    pub host: Vec<u64>,
}

/// The properties of a device that estimates of time use.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Device {
    /// Name of the profile.
    pub name: String,
    /// Number of streaming multiprocessors.
    pub multiprocessors: u32,
    /// Nominal bandwidth of its memory in GB/s.
    pub memory_gbps: f64,
    /// Nominal peak on `f32`, without tensor cores, in GFLOP/s.
    pub fp32_gflops: f64,
    /// Nominal peak on `f64`, without tensor cores, in GFLOP/s.
    pub fp64_gflops: f64,
}

/// An entry of a PTX file, as declared in its text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entry {
    /// Name of the entry.
    pub name: String,
    /// Name and size in bytes of each parameter, in order.
    pub params: Vec<(String, u64)>,
}
