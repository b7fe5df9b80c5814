//! Conversions between types. PTX ISA, "cvt".

mod between_floats;
mod integers;
mod narrow;

use super::soft::{F64, Format, Rounding};
use super::table::Table;

/// Adds this chapter's rows.
pub fn list(t: &mut Table) {
    integers::list(t);
    between_floats::list(t);
    narrow::list(t);
}

fn pack(format: Format, x: f64, rounding: Rounding) -> u64 {
    format.pack(F64.unpack(x.to_bits()), rounding)
}

/// Conversions whose rows exist only for registers wider than the types.
pub fn known_elsewhere(opcode: &str) -> bool {
    super::table::find(&format!("{opcode}.r32.r32")).is_some()
}
