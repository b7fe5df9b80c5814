//! A variant: its identity, and its properties that are available without running it.

use super::block::BlockRule;
use super::entry::Entry;
use serde::Serialize;

/// The properties of a variant that are available without running it.
#[derive(Clone, Debug, Serialize)]
pub struct VariantInfo {
    /// Name on the command line.
    #[serde(rename = "variant")]
    pub name: &'static str,
    /// The idea that distinguishes it from the other variants.
    pub idea: &'static str,
    /// Block sizes with which it can be launched.
    pub block: BlockRule,
    /// Every `.entry` of the variant in the PTX.
    pub entries: Vec<Entry>,
}

/// Name of the variant of a family that is recommended for use, where the family has one.
pub const BEST: &str = "best";

/// The part of a row's subject in a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A variant that shows one idea.
    Rung,
    /// The variant that is recommended for use.
    Best,
    /// Another library.
    Library,
}

impl Role {
    /// The role of a family's own variant.
    pub fn of_variant(name: &str) -> Self {
        if name == BEST { Self::Best } else { Self::Rung }
    }
}

/// A variant of a family, as a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RungId {
    /// Row of the family's table.
    pub(crate) row: usize,
    /// Name on the command line.
    pub name: &'static str,
}
