//! The configuration of a machine, and the report of a launch.

use crate::check::Checks;
use crate::count::{Counters, InstructionCounters};
use crate::level::Level;
use crate::profile::Profile;
use crate::stop::Finding;
use crate::trace::{Trace, Traced};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// How a machine runs programs. `Config::default()` checks bounds and counts, on all cores.
#[derive(Clone, Debug)]
pub struct Config {
    /// What is looked for beyond what every run checks.
    pub checks: Checks,
    /// Counts events: see [`Counters`]. Off saves about a quarter of the time.
    pub counters: bool,
    /// Which of the host's vector instructions to use; only the speed depends on it.
    pub level: Level,
    /// Host threads; 0 for as many as the host offers. One gives the same order of events every time.
    pub workers: usize,
    /// The device's limits.
    pub profile: Profile,
    /// `Some`: another order of events for each seed, the same one every time: which blocks run together, which warps
    /// and which lanes that parted run first, for how long, and where lanes that wait for each other stop waiting. The
    /// launch runs on one worker.
    pub seed: Option<u64>,
    /// Warp instructions after which a launch is stopped; `None` for no limit.
    pub fuel: Option<u64>,
    /// Host memory that a launch may take for registers, stacks and shared memory of the blocks that are resident, in
    /// bytes.
    pub host_bytes: u64,
    /// Records what [`explain`](crate::explain) needs, at about half the speed. The checks that cost time are off in
    /// such a run.
    pub trace: Option<Trace>,
    /// Counts finished blocks while a launch runs.
    pub progress: Option<Arc<AtomicU64>>,
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
    /// What was recorded, if [`Config::trace`] asked for it.
    pub traced: Option<Traced>,
    /// Output of `vprintf`, block by block.
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
            host_bytes: 16 << 30,
            trace: None,
            progress: None,
        }
    }
}
