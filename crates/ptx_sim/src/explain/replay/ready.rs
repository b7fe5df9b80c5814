//! When a value is available.

use super::cause::Cause;
use super::memory::Arrival;

/// When a value is available, and what it waits for until then.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ready {
    pub arrival: Arrival,
    pub from: Source,
}

/// Where a value comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Source {
    #[default]
    Arithmetic,
    Memory,
    Shared,
    Atomic,
    Product,
    /// Another warp's arrival at an mbarrier.
    Arrival,
}

impl Ready {
    /// A value that arithmetic computes.
    pub fn at(at: f64) -> Self {
        Self { arrival: Arrival { at, ..Arrival::default() }, from: Source::Arithmetic }
    }

    /// What a warp that needs the value waits for, from the last cycles back, each with the most that it can be.
    pub fn causes(&self) -> [(Cause, f64); 3] {
        let Arrival { dram, cache, .. } = self.arrival;
        let own = match self.from {
            Source::Arithmetic => (Cause::Latency, f64::INFINITY),
            Source::Memory => (Cause::Cache, cache),
            Source::Shared => (Cause::Shared, cache),
            Source::Atomic => (Cause::Atomics, cache),
            Source::Product => (Cause::Arithmetic, f64::INFINITY),
            Source::Arrival => (Cause::Barriers, f64::INFINITY),
        };
        [(Cause::Memory, dram), own, (Cause::Latency, f64::INFINITY)]
    }
}
