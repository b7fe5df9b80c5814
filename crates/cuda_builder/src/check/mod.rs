//! Examines PTX: its instructions, and its resources after `ptxas`.

mod assemble;
mod report;

pub use assemble::{Usage, assemble, disassemble, usage_of};
pub use report::{Function, PtxReport};
