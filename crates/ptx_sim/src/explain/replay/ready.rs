//! When a value is available.

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
}

impl Ready {
    /// A value that arithmetic computes.
    pub fn at(at: f64) -> Self {
        Self { arrival: Arrival { at, ..Arrival::default() }, from: Source::Arithmetic }
    }
}
