//! Looks at the result: what the PTX contains, and what `ptxas` makes of it.

mod assemble;
mod report;

pub use assemble::{Usage, assemble, disassemble};
pub use report::{Function, PtxReport};
