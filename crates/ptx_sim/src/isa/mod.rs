//! Meaning of instructions: chapters of functions from bits to bits, one row each in one table, independent of the
//! machine that executes them.

mod approximate;
#[cfg(test)]
mod bounds;
mod carry;
pub(crate) mod collective;
mod compare;
mod convert;
pub(crate) mod facts;
mod float;
#[cfg(test)]
mod golden;
mod half;
pub(crate) mod instructions;
mod integer;
pub(crate) mod lift;
mod logic;
pub(crate) mod matrix;
pub(crate) mod memory;
mod mixed;
mod moves;
mod set;
mod sign;
mod soft;
pub(crate) mod special;
pub(crate) mod spelling;
pub(crate) mod table;
pub(crate) mod targets;
#[cfg(test)]
mod testing;
pub(crate) mod texture;
pub(crate) mod video;
mod warp;

pub use facts::Fidelity;
pub use instructions::{Signature, signatures};
pub use lift::File;
pub(crate) use special::{Register, register};
