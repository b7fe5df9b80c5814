//! Contexts.

use super::clock::Clock;
use super::handle::Handle;
use crate::code::Code;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The default stream of a thread.
#[derive(Clone, Copy, Debug)]
pub struct OfThread {
    pub stream: Handle,
    /// The system's number of the thread, which another one may have when it has ended.
    pub system: i32,
}

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
    /// Default streams of threads, by the number of the thread.
    pub per_thread: HashMap<usize, OfThread>,
    /// Devices whose memory its kernels may access.
    pub peers: BTreeSet<usize>,
    /// The work of streams that are gone, for which the host has not waited.
    pub gone: Clock,
}
