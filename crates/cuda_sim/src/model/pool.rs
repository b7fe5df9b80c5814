//! Memory pools.

use std::collections::{BTreeMap, BTreeSet};

/// A memory pool.
#[derive(Default)]
pub struct Pool {
    /// Number of its device.
    pub device: usize,
    /// Attributes that the program has set, and that nothing reads but it.
    pub set: BTreeMap<u32, u64>,
    /// Other devices whose kernels may access its memory.
    pub access: BTreeSet<usize>,
    /// Bytes in use, and the greatest number of them since the program has reset it.
    pub used: u64,
    pub high: u64,
}
