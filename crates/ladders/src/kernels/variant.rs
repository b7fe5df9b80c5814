//! A variant: which one it is, and what is known about it without running it.

use super::block::BlockRule;
use super::entry::Entry;
use serde::Serialize;

/// What is known about a variant without running it.
#[derive(Clone, Debug, Serialize)]
pub struct VariantInfo {
    /// As on the command line.
    #[serde(rename = "variant")]
    pub name: &'static str,
    /// The one idea that sets it apart.
    pub idea: &'static str,
    /// Block sizes that it can be launched with.
    pub block: BlockRule,
    /// Every `.entry` in the PTX that belongs to it.
    pub entries: Vec<Entry>,
}

/// A variant of a family, as a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RungId {
    /// Row of the family's table.
    pub(crate) row: usize,
    /// As on the command line.
    pub name: &'static str,
}
