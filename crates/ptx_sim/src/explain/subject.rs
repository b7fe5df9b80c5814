//! The launch whose time is estimated.

use super::costs::Costs;
use crate::count::Counters;
use crate::occupancy::Occupancy;
use crate::profile::Profile;
use crate::program::Program;
use crate::trace::{Pairs, Traced};

/// The inputs of the model.
pub struct Subject<'a> {
    /// The program.
    pub program: &'a Program,
    /// The device.
    pub profile: &'a Profile,
    /// Blocks of the grid.
    pub blocks: u64,
    /// Occupancy of a multiprocessor.
    pub occupancy: &'a Occupancy,
    /// Bytes of shared memory of a block.
    pub shared_bytes: u64,
    /// Counters of the whole launch.
    pub counters: &'a Counters,
    /// What the trace recorded.
    pub traced: &'a Traced,
    /// How many times as much data the launch moves that this one stands for.
    pub stands_for: f64,
}

impl Subject<'_> {
    /// Clock cycles per nanosecond.
    pub fn clock(&self) -> f64 {
        f64::from(self.profile.clock_mhz.max(1)) / 1e3
    }

    /// Number of multiprocessors.
    pub fn multiprocessors(&self) -> u64 {
        u64::from(self.profile.multiprocessors.max(1))
    }

    /// Bandwidth of device memory that a kernel reaches, in GB/s.
    pub fn bandwidth(&self, costs: &Costs) -> f64 {
        (self.profile.memory_gbps * costs.stream).max(1.0)
    }

    /// Bytes of device memory's time for each byte of the sectors that are read, and of those that are written.
    pub fn moves(&self, costs: &Costs) -> [f64; 2] {
        let traced = self.traced;
        let time = |pairs: Pairs, lone: f64| 64.0 * (pairs.beside as f64 + lone * pairs.lone as f64);
        let written = time(traced.written, costs.lone_write) + time(traced.filled, costs.lone_write);
        let of = |moved: f64, bytes: u64| if bytes > 0 { moved / bytes as f64 } else { 1.0 };
        [of(time(traced.read, costs.lone_read), traced.read_bytes), of(written, traced.written_bytes)]
    }

    /// Time of the units that perform atomics on global memory, in nanoseconds.
    pub fn atomics_ns(&self, costs: &Costs) -> f64 {
        let contention = &self.traced.atomics;
        let at_once = (contention.lines.max(1) as f64).powf(costs.atomic_spread);
        (contention.hottest as f64).max(contention.all as f64 / at_once) * costs.atomic_step_ns
    }
}
