//! Conversions between types. PTX ISA, "cvt".

mod between_floats;
mod integers;
mod limited;
mod narrow;
mod stochastic;
mod tiny;

use super::facts::{Facts, Fidelity, Latency, Undefined, Work, facts};
use super::soft::{F64, Format, Rounding};
use super::table::Table;

/// Facts of a conversion whose result is undefined if any bit of its source is.
const CONVERTED: Facts = facts(Undefined::Any, Work::None, Latency::Alu, Fidelity::Exact);

/// Facts of a conversion of two numbers to fields of `bits` bits, the first above the second.
const fn packed(bits: u8) -> Facts {
    facts(Undefined::Pack(bits), Work::None, Latency::Alu, Fidelity::Exact)
}

/// Adds this chapter's rows.
pub fn list(t: &mut Table) {
    integers::list(t);
    between_floats::list(t);
    narrow::list(t);
    limited::list(t);
    tiny::list(t);
    stochastic::list(t);
}

fn pack(format: Format, x: f64, rounding: Rounding) -> u64 {
    format.pack(F64.unpack(x.to_bits()), rounding)
}
