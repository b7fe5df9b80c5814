//! Shape of a launch, and its limits.

use crate::level::Level;
use crate::profile::Profile;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

/// A kernel, its launch shape and its parameters.
#[derive(Clone, Copy, Debug, Default)]
pub struct Launch<'a> {
    /// Name of the `.entry`.
    pub entry: &'a str,
    /// Instance of the program, each of which has global variables of its own.
    pub instance: u64,
    /// Number of blocks in x, y, z.
    pub grid: [u32; 3],
    /// Number of threads of a block in x, y, z.
    pub block: [u32; 3],
    /// Dynamic shared memory of a block in bytes.
    pub dynamic_shared: u64,
    /// Little-endian bytes of each parameter, in order.
    pub params: &'a [Vec<u8>],
    /// Number of blocks of a cluster in x, y, z; `None` for the kernel's own requirement, or no clusters.
    pub cluster: Option<[u32; 3]>,
    /// Registers of a thread, as ptxas reports them for the kernel; `None` if registers do not limit the resident
    /// blocks.
    pub registers: Option<u32>,
    /// Whether all blocks are resident at once, so that they may wait for each other. The launch is rejected if the
    /// device has no room for them.
    pub cooperative: bool,
}

/// Returns the most host threads that a launch uses, with that setting (0 for all cores) and seed.
pub fn most_workers(setting: usize, seed: Option<u64>) -> usize {
    match setting {
        _ if seed.is_some() => 1,
        0 => std::thread::available_parallelism().map_or(1, |cores| cores.get()),
        workers => workers,
    }
}

/// Settings of the machine for a launch.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Level of the host's vector instructions.
    pub level: Level,
    /// Number of host threads; 0 for all cores of the host.
    pub workers: usize,
    /// Limits of the device.
    pub profile: Profile,
    /// Seed of the schedule; `None` for the default schedule.
    pub seed: Option<u64>,
    /// Limit on the warp instructions of the launch; `None` for no limit.
    pub fuel: Option<u64>,
    /// End of the time that the launch may take, and that time.
    pub deadline: Option<(Instant, Duration)>,
    /// Whether the launch goes on after a faulty access to memory.
    pub keep_going: bool,
    /// Limit on the host memory of the launch in bytes.
    pub host_bytes: u64,
    /// Counter of finished blocks.
    pub progress: Option<Arc<AtomicU64>>,
}
