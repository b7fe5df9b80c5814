//! The access being checked, with the state that its check needs.

use super::clock::Block;
use super::records::Record;
use crate::observe::Touch;
use std::collections::HashMap;

/// The access being checked.
pub(super) struct Now<'a> {
    pub block: &'a Block,
    pub clusters: &'a HashMap<u32, u64>,
    pub touch: &'a Touch<'a>,
    pub record: Record,
    /// See [`Block::floor`].
    pub floor: u32,
    /// Whether the access is an `ld.global.nc`, or may violate an earlier one.
    pub may_violate_nc: bool,
    /// Whether a copy or a product makes the access, and not a thread.
    pub asynchronous: bool,
}
