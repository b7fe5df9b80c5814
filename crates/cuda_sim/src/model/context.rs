//! Contexts.

use super::handle::Handle;
use crate::code::Code;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A context of a device.
pub struct Context {
    /// Number of its device.
    pub device: usize,
    pub flags: u32,
    /// The error of a kernel, which every later call returns.
    pub fault: Option<Code>,
    /// Limits that the program has set, by number.
    pub limits: BTreeMap<u32, usize>,
    /// Stream 0.
    pub legacy: Handle,
    /// Default streams of threads.
    pub per_thread: HashMap<usize, Handle>,
    /// Devices whose memory its kernels may access.
    pub peers: BTreeSet<usize>,
}
