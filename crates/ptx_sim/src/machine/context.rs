//! State that all workers of a launch share.

use super::budget::Budget;
use super::launch::{Launch, Setup, most_workers};
use super::module::Module;
use super::stillness::Stillness;
use super::validate::Placed;
use crate::lanes;
use crate::memory::Memory;
use crate::observe::{Findings, Setting, thread_id};
use crate::program::flow::Flow;
use crate::program::{Layout, Program};
use crate::registers::LANES;
use crate::stop::Stop;
use std::ops::{Deref, Range};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

/// State that all workers of a launch share.
pub struct Context<'a> {
    pub setting: Setting<'a>,
    /// Addresses of shared memory that belong to nothing: see [`Layout::unused`] and [`Layout::gap`].
    pub gaps: [Range<u64>; 2],
    /// The largest end of these.
    pub gaps_end: u64,
    /// Whether variables of a function's frame lie apart.
    pub apart: bool,
    /// Index of the program among those that the machine has loaded.
    pub module: usize,
    pub entry: u32,
    pub flows: Arc<[Flow]>,
    pub addresses: Arc<[u64]>,
    pub setup: &'a Setup,
    pub grid: [u32; 3],
    /// Number of threads of a block.
    pub threads: u32,
    /// `%tid` by warp, axis and lane.
    pub thread_ids: Vec<[[u32; LANES]; 3]>,
    /// Dynamic shared memory of a block in bytes.
    pub dynamic_bytes: u64,
    /// The kernel's parameters, as words.
    pub params: Vec<u32>,
    pub param_bytes: u64,
    pub blocks: u64,
    pub next: Apart<AtomicU64>,
    pub stopped: AtomicBool,
    pub executed: Apart<AtomicU64>,
    pub stillness: Apart<Stillness>,
    /// Number of blocks that fit on the device at one time.
    pub resident: u64,
    /// Number of blocks of a cluster in x, y, z: all of them start together, on one worker.
    pub cluster: [u32; 3],
    /// Whether the launch or the kernel requests clusters.
    pub explicit_cluster: bool,
    /// Whether shared addresses may refer to other blocks.
    pub clusters: bool,
    /// Number of blocks of a cluster; 1 without clusters.
    pub cluster_blocks: u64,
    pub budget: Budget,
    /// Number of bytes printed so far.
    pub printed: AtomicU64,
    /// Address of the workspace of a cooperative launch; otherwise 0.
    pub workspace: u64,
    pub outcome: Mutex<Outcome>,
}

impl<'a> Deref for Context<'a> {
    type Target = Setting<'a>;
    #[inline(always)]
    fn deref(&self) -> &Setting<'a> {
        &self.setting
    }
}

/// A value that all workers write, on cache lines of its own (two, because processors fetch them in pairs): its
/// neighbours are read in every instruction.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Apart<T>(T);

impl<T> Deref for Apart<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

/// Results of the workers.
#[derive(Default)]
pub struct Outcome {
    /// Stop of the earliest block that stopped, with its ticket.
    pub stop: Option<(u64, Stop)>,
    pub printed: Vec<(u64, String)>,
    pub findings: Findings,
}

/// A kernel of a loaded program.
pub struct Kernel<'a> {
    pub program: &'a Program,
    pub entry: u32,
    pub module: &'a Module,
    /// Its shared memory.
    pub layout: Arc<Layout>,
}

impl<'a> Context<'a> {
    /// Creates the context of a launch that was validated, on a memory.
    pub fn new(kernel: Kernel<'a>, launch: &Launch<'_>, placed: Placed, memory: &'a Memory, setup: &'a Setup) -> Self {
        let Kernel { program, entry, module, layout } = kernel;
        let function = &program.functions[entry as usize];
        let end = function.params.iter().map(|param| param.offset + param.size).max().unwrap_or(0);
        let mut bytes = vec![0; end.next_multiple_of(8) as usize];
        for (param, value) in function.params.iter().zip(launch.params) {
            let start = param.offset as usize;
            bytes[start..start + value.len()].copy_from_slice(value);
        }
        let words = bytes.chunks_exact(4).map(|word| word.iter().rev().fold(0, |v, byte| v << 8 | u32::from(*byte)));
        let threads: u32 = launch.block.iter().product();
        let thread_ids = (0..threads.div_ceil(32)).map(|warp| {
            let id = |lane| thread_id(launch.block, warp, lane);
            std::array::from_fn(|axis| std::array::from_fn(|lane| id(lane)[axis]))
        });
        let gaps = [layout.unused(), layout.gap()];
        let gaps_end = gaps.iter().map(|gap| gap.end).max().unwrap_or(0);
        Self {
            setting: Setting {
                program,
                memory,
                shared_bytes: layout.dynamic_start + launch.dynamic_shared,
                layout,
                block: launch.block,
            },
            gaps,
            gaps_end,
            apart: program.apart,
            module: module.number,
            entry,
            flows: module.flows.clone(),
            addresses: module.addresses.clone(),
            dynamic_bytes: launch.dynamic_shared,
            setup,
            grid: launch.grid,
            threads,
            thread_ids: thread_ids.collect(),
            params: words.collect(),
            param_bytes: end,
            blocks: launch.grid.iter().map(|&n| u64::from(n)).product(),
            next: Apart::default(),
            stopped: AtomicBool::new(false),
            executed: Apart::default(),
            stillness: Apart::default(),
            resident: placed.resident,
            cluster: placed.cluster,
            explicit_cluster: launch.cluster.is_some() || function.required_cluster.is_some(),
            clusters: module.maps_addresses,
            cluster_blocks: placed.cluster.iter().map(|&n| u64::from(n)).product(),
            budget: Budget::new(setup.host_bytes),
            printed: AtomicU64::new(0),
            workspace: 0,
            outcome: Mutex::default(),
        }
    }

    /// Returns the `%cluster_ctarank` of a block.
    pub fn rank_of(&self, block: [u32; 3]) -> u64 {
        let [x, y, z] = std::array::from_fn(|axis| u64::from(block[axis] % self.cluster[axis]));
        x + u64::from(self.cluster[0]) * (y + u64::from(self.cluster[1]) * z)
    }

    /// Returns the `%ctaid` of the block that starts at `ticket`.
    pub fn block_id(&self, ticket: u64) -> [u32; 3] {
        let [cx, cy, _] = self.cluster.map(u64::from);
        let [x, y] = [u64::from(self.grid[0]) / cx, u64::from(self.grid[1]) / cy];
        let (cluster, rank) = (ticket / self.cluster_blocks, ticket % self.cluster_blocks);
        let first = [cluster % x, cluster / x % y, cluster / x / y];
        let within = [rank % cx, rank / cx % cy, rank / cx / cy];
        std::array::from_fn(|axis| (first[axis] * u64::from(self.cluster[axis]) + within[axis]) as u32)
    }

    /// Returns the bytes of shared memory of a block as limits and registers count it, without the gap.
    pub fn counted_shared(&self) -> u64 {
        self.layout.static_bytes + self.dynamic_bytes
    }

    /// Returns the first lane whose bytes lie in a gap of shared memory, at least in part.
    #[cold]
    pub fn in_gap(&self, addresses: &[u64; LANES], mask: u32, bytes: u64) -> Option<usize> {
        let within = |gap: &Range<u64>, start: u64| start < gap.end && start.saturating_add(bytes) > gap.start;
        let touches = |start: u64| self.gaps.iter().any(|gap| within(gap, start));
        let lanes = lanes::select(mask, |lane| touches(addresses[lane]));
        (lanes != 0).then(|| lanes::first(lanes))
    }

    /// Returns the number of host threads that the launch uses.
    pub fn workers(&self) -> u64 {
        let wanted = most_workers(self.setup.workers, self.setup.seed);
        (wanted as u64).min(self.blocks / self.cluster_blocks).max(1)
    }

    /// Takes the ticket of the first block of the next cluster; without clusters, of the next block.
    pub fn ticket(&self) -> Option<u64> {
        // `fetch_add` would let idle workers count past the end.
        let next = |next| (next < self.blocks).then_some(next + self.cluster_blocks);
        self.next.fetch_update(Relaxed, Relaxed, next).ok()
    }
}
