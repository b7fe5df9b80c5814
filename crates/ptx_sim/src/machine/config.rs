//! What a machine is like, what a launch asks for, and what it reports.

use crate::count::{Counters, InstructionCounters};
use crate::stop::Finding;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// How a machine runs programs. `Config::default()` checks bounds and counts, on all cores.
#[derive(Clone, Debug)]
pub struct Config {
    /// What is looked for beyond what every run checks.
    pub checks: Checks,
    /// Counts events: see [`Counters`]. Off saves about a quarter of the time.
    pub counters: bool,
    /// Host threads; 0 for as many as the host offers. One gives the same order of events every time.
    pub workers: usize,
    /// The device's limits.
    pub profile: Profile,
    /// Warp instructions after which a launch is stopped; `None` for no limit.
    pub fuel: Option<u64>,
    /// Counts finished blocks while a launch runs.
    pub progress: Option<Arc<AtomicU64>>,
}

/// Checks that cost time. Bounds, alignment, state spaces, barriers and `*.sync` masks are checked in every run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checks {
    /// Data races on shared memory.
    pub race: bool,
}

/// Limits of the simulated device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// For messages.
    pub name: String,
    /// Bytes of shared memory that one block can have.
    pub shared_bytes: u64,
    /// Blocks that are resident at once; further ones start when earlier ones have ended.
    pub resident_blocks: u64,
    /// `%nsmid`.
    pub multiprocessors: u32,
    /// Bytes of stack per thread.
    pub stack_bytes: u64,
}

/// A kernel and the shape it runs in.
#[derive(Clone, Copy, Debug)]
pub struct Launch<'a> {
    /// Name of the `.entry`.
    pub entry: &'a str,
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y, z.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u64,
    /// Little-endian bytes of each parameter, in order.
    pub params: &'a [Vec<u8>],
}

/// What a launch that ran to its end has to say.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Totals over all warps; zero when `Config::counters` is off.
    pub counters: Counters,
    /// The same by instruction, for those that accessed memory or branched; in program order.
    pub instructions: Vec<InstructionCounters>,
    /// What the checkers found, one per place.
    pub findings: Vec<Finding>,
    /// Output of `vprintf`, block by block.
    pub printed: String,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            checks: Checks::default(),
            counters: true,
            workers: 0,
            profile: Profile::default(),
            fuel: None,
            progress: None,
        }
    }
}

impl Default for Profile {
    /// An H200.
    fn default() -> Self {
        Self {
            name: "H200".to_owned(),
            shared_bytes: 227 * 1024,
            resident_blocks: 132 * 32,
            multiprocessors: 132,
            stack_bytes: 512 * 1024,
        }
    }
}
