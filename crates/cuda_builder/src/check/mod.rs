//! Examines PTX: its instructions, its resources after `ptxas`, what a driver would refuse, and what is slow or
//! fragile.

mod assemble;
mod divergence;
mod flow;
pub(crate) mod limits;
pub(crate) mod lints;
mod listing;
mod report;

pub use assemble::{Usage, assemble, disassemble, usage_of, usages};
pub use lints::{Lint, Place, Warning, lint};
pub use report::{Function, PtxReport};
