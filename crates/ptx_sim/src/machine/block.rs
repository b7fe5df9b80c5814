//! The state of a resident block: its warps, its shared memory, its barriers.

use super::barrier::Barrier;
use super::in_flight::InFlight;
use super::position::Who;
use super::warp::Warp;
use super::warpgroup::Groups;
use crate::observe::{BlockStates, Site};

/// Number of barriers of a block.
pub const BARRIERS: usize = 16;
/// A resident block.
#[derive(Debug)]
pub struct Block<B> {
    /// Position in launch order.
    pub ticket: u64,
    /// Index of its cluster; without clusters, its own index.
    pub cluster: u64,
    /// Whether every thread waits, and some threads for the cluster barrier.
    pub parked: bool,
    /// Number of completed phases of the cluster barrier.
    pub cluster_phase: u64,
    /// Copies in flight, and mbarriers.
    pub in_flight: InFlight,
    /// Addresses of the tensor maps in global memory that its threads changed by instructions for that, without a later
    /// fence of their proxy, and the thread that changed each.
    pub changed_maps: Vec<(u64, Who)>,
    /// Products of its warpgroups.
    pub groups: Groups,
    /// `%ctaid`.
    pub id: [u32; 3],
    /// The warps, in boxes so that the running warp can be taken out cheaply.
    #[expect(clippy::vec_box, reason = "they are moved all the time")]
    pub warps: Vec<Box<Warp>>,
    /// Shared memory.
    pub shared: Vec<u32>,
    pub barriers: [Barrier; BARRIERS],
    /// Mask of the warps that have not ended.
    pub live: u32,
    /// State of the observers.
    pub observed: B,
    pub printed: String,
    /// Initialisation state of its memory, while it is checked.
    pub states: BlockStates,
}

impl<B> Block<B> {
    /// Whether the barrier exists and is not waiting for a number of threads.
    #[inline]
    pub fn waits_for_all(&self, id: u32) -> bool {
        self.barriers.get(id as usize).is_some_and(|barrier| barrier.wanted == 0)
    }

    /// Returns a lane of one of its warps, at an instruction.
    #[inline(always)]
    pub fn who(&self, warp: &Warp, lane: usize, site: Site) -> Who {
        Who { block: self.ticket, warp: warp.index, lane, site }
    }

    /// Returns the ticket of the first block of its cluster, for clusters of `cluster_blocks` blocks.
    pub fn first_ticket(&self, cluster_blocks: u64) -> u64 {
        self.cluster * cluster_blocks
    }
}

/// Reason why a block stopped running for now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockTurn {
    /// All threads have ended.
    Done,
    /// Every thread waits, and some threads for the other blocks of the cluster.
    Parked,
    /// Other blocks should run: this block waits for them, or has used its share.
    Over,
}

/// Reason why a warp stopped running for now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarpTurn {
    /// All lanes have ended.
    Done,
    /// No lane can run before another warp acts.
    Blocked,
    /// The slice is used up; `waiting` if the warp seems to wait for another thread.
    Over { waiting: bool },
}

/// Returns a resident block: the running one, which has been taken out of the list, or one of the list.
pub fn pick<'b, B>(
    resident: &'b mut [Option<Box<Block<B>>>],
    running: &'b mut Block<B>,
    ticket: u64,
) -> Option<&'b mut Block<B>> {
    if running.ticket == ticket {
        return Some(running);
    }
    resident.iter_mut().flatten().map(|block| &mut **block).find(|block| block.ticket == ticket)
}

/// Iterates over the blocks of a cluster in a list of resident blocks.
pub fn peers<B>(resident: &[Option<Box<Block<B>>>], cluster: u64) -> impl Iterator<Item = &Block<B>> {
    resident.iter().flatten().map(|block| &**block).filter(move |block| block.cluster == cluster)
}
