//! What instructions mean: chapters of functions from bits to bits, one row each in one table.

mod approximate;
#[cfg(test)]
mod bounds;
mod carry;
mod compare;
mod convert;
mod float;
#[cfg(test)]
mod golden;
mod half;
mod integer;
pub(crate) mod lift;
mod logic;
pub(crate) mod matrix;
pub mod memory;
mod moves;
mod set;
mod soft;
mod special;
pub(crate) mod table;
#[cfg(test)]
mod testing;
pub(crate) mod texture;
pub mod warp;

pub(crate) use convert::known_elsewhere as convert_known_elsewhere;
pub use lift::File;
pub(crate) use special::{Register, register};
pub use table::{Signature, signatures};

/// All chapters.
fn list(t: &mut table::Table) {
    integer::list(t);
    carry::list(t);
    logic::list(t);
    compare::list(t);
    set::list(t);
    float::list(t);
    approximate::list(t);
    half::list(t);
    convert::list(t);
    moves::list(t);
}
