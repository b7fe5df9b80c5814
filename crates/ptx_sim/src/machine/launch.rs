//! The shape of a launch, and the limits that it runs under.

use crate::level::Level;
use crate::profile::Profile;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// A kernel and the shape it runs in.
#[derive(Clone, Copy, Debug, Default)]
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
    /// Blocks of a cluster in x, y, z; `None` for what the kernel itself requires, or else no clusters.
    pub cluster: Option<[u32; 3]>,
    /// Registers of a thread, as ptxas counts them for the kernel; `None`: they don't limit how many blocks are
    /// resident.
    pub registers: Option<u32>,
    /// All blocks are resident at once, so that they may wait for each other: refused when the device has no room for
    /// them.
    pub cooperative: bool,
}

/// How the machine runs a launch.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Vector instructions of the host.
    pub level: Level,
    /// Host threads; 0 for as many as the host offers.
    pub workers: usize,
    /// The device's limits.
    pub profile: Profile,
    /// Chooses the order of events.
    pub seed: Option<u64>,
    /// Warp instructions after which the launch is stopped.
    pub fuel: Option<u64>,
    /// Host memory that the launch may take.
    pub host_bytes: u64,
    /// Counts finished blocks.
    pub progress: Option<Arc<AtomicU64>>,
}
