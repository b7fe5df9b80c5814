//! The configuration of a machine, and the report of a launch.

use crate::accesses::Accesses;
use crate::check::Checks;
use crate::count::{Counters, InstructionCounters};
use crate::level::Level;
use crate::profile::Profile;
use crate::stop::Finding;
use crate::trace::{Trace, Traced};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

/// Configuration of a machine. `Config::default()` checks bounds and counts events, on all cores.
#[derive(Clone, Debug)]
pub struct Config {
    /// Checkers in addition to the checks of every run.
    pub checks: Checks,
    /// Whether events are counted: see [`Counters`]. Without counters a run takes about a quarter less time.
    pub counters: bool,
    /// Level of the host's vector instructions; it affects only the speed.
    pub level: Level,
    /// Number of host threads; 0 for all cores of the host. With one thread, the order of events is the same in every
    /// run.
    pub workers: usize,
    /// Limits of the device.
    pub profile: Profile,
    /// Seed of the schedule. Each seed determines another reproducible order of events: which blocks run together,
    /// which warps and diverged lanes run first and for how long, and when lanes that wait for each other are released.
    /// The launch runs on one worker. `None` for the default schedule.
    pub seed: Option<u64>,
    /// Limit on the warp instructions of a launch; `None` for no limit.
    pub fuel: Option<u64>,
    /// Whether a launch goes on after a faulty access to memory (out of bounds, freed, misaligned, in the wrong space,
    /// read-only): the fault is a finding, a load or an atomic gives 0, and a write has no effect. Such faults of
    /// textures, matrices, asynchronous copies and clusters, and all others, end the launch.
    pub keep_going: bool,
    /// Limit on the host memory in bytes that a launch may use for registers, stacks and shared memory of the resident
    /// blocks.
    pub host_bytes: u64,
    /// Lowest address of device memory, if it is above the usual one: the addresses of several machines can differ.
    pub first_address: u64,
    /// Number of addresses of device memory from the lowest one on; `None` for all up to 0x7e00_0000_0000. The host's
    /// allocations lie far apart there, and one that would be close to another fails.
    pub address_bytes: Option<u64>,
    /// Limit on the time that a launch takes; `None` for no limit.
    pub timeout: Option<Duration>,
    /// Whether to record a trace for [`explain`](crate::explain), at about half the speed. The checkers are off in such
    /// a run.
    pub trace: Option<Trace>,
    /// Whether to record which bytes of global memory a launch accesses: see [`Accesses`]. A trace does not include it.
    pub accesses: bool,
    /// Counter of finished blocks, updated while a launch runs.
    pub progress: Option<Arc<AtomicU64>>,
}

/// Result of a launch that ran to its end.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Report {
    /// Totals over all warps; zero when `Config::counters` is off.
    pub counters: Counters,
    /// Counters of each instruction that accessed memory or branched, in program order.
    pub instructions: Vec<InstructionCounters>,
    /// Findings of the checkers, one per place.
    pub findings: Vec<Finding>,
    /// The trace, if [`Config::trace`] is set.
    pub traced: Option<Traced>,
    /// The accesses, if [`Config::accesses`] is set.
    pub accesses: Option<Accesses>,
    /// Output of `vprintf`, ordered by block.
    pub printed: String,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            checks: Checks::default(),
            counters: true,
            level: Level::best(),
            workers: 0,
            profile: Profile::default(),
            seed: None,
            fuel: None,
            keep_going: false,
            host_bytes: 16 << 30,
            first_address: 0,
            address_bytes: None,
            timeout: None,
            trace: None,
            accesses: false,
            progress: None,
        }
    }
}
