//! Conversions between types. PTX ISA, "cvt".

mod between_floats;
mod integers;
mod narrow;

use super::facts::{Facts, Fidelity, Latency, Undefined, Work, facts};
use super::soft::{F64, Format, Rounding};
use super::table::Table;

/// A number of another type, which any undefined bit makes undefined.
const CONVERTED: Facts = facts(Undefined::Any, Work::None, Latency::Alu, Fidelity::Exact);

/// Two numbers that become fields of `bits` bits, the first above the second.
const fn packed(bits: u8) -> Facts {
    facts(Undefined::Pack(bits), Work::None, Latency::Alu, Fidelity::Exact)
}

/// Adds this chapter's rows.
pub fn list(t: &mut Table) {
    integers::list(t);
    between_floats::list(t);
    narrow::list(t);
}

fn pack(format: Format, x: f64, rounding: Rounding) -> u64 {
    format.pack(F64.unpack(x.to_bits()), rounding)
}
