//! Checkers: observers that look for bugs. Each publishes what it misses.
//!
//! Bounds, alignment, state spaces, barriers and `*.sync` masks are checked by the machine itself, in every run.

pub(crate) mod leaks;
pub(crate) mod overflow;
pub(crate) mod race;
pub(crate) mod uninit;
