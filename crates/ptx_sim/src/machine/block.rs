//! The state of a resident block: its warps, its shared memory, its barriers.

use super::barrier::Barrier;
use super::in_flight::InFlight;
use super::warp::Warp;
use crate::observe::BlockStates;

/// Barriers that a block has.
pub const BARRIERS: usize = 16;
/// A resident block.
#[derive(Debug)]
pub struct Block<B> {
    /// Position in the order in which blocks start.
    pub ticket: u64,
    /// The number of its cluster; without clusters its own.
    pub cluster: u64,
    /// Every thread waits, and some for the cluster's barrier.
    pub parked: bool,
    /// Completed phases of the barrier of its cluster.
    pub cluster_phase: u64,
    /// Copies on their way, and mbarriers.
    pub in_flight: InFlight,
    /// `%ctaid`.
    pub id: [u32; 3],
    /// In boxes, so that it is quick to take out the one that runs.
    #[expect(clippy::vec_box, reason = "they are moved all the time")]
    pub warps: Vec<Box<Warp>>,
    /// Shared memory.
    pub shared: Vec<u32>,
    pub barriers: [Barrier; BARRIERS],
    /// Bit per warp that has not ended.
    pub live: u32,
    /// What the observers keep.
    pub observed: B,
    pub printed: String,
    /// Which of its memory is written, while that is checked.
    pub states: BlockStates,
}

impl<B> Block<B> {
    /// Does the barrier exist, and is nobody there who waits for a number of threads?
    #[inline]
    pub fn waits_for_all(&self, id: u32) -> bool {
        self.barriers.get(id as usize).is_some_and(|barrier| barrier.wanted == 0)
    }

    /// The ticket of the first block of its cluster, when clusters have so many.
    pub fn first_ticket(&self, cluster_blocks: u64) -> u64 {
        self.cluster * cluster_blocks
    }
}

/// Why a block stopped running for now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockTurn {
    /// All threads have ended.
    Done,
    /// Every thread waits, and some for the other blocks of the cluster.
    Parked,
    /// Others should run: this block waits for them, or has had its share.
    Over,
}

/// Why a warp stopped running for now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarpTurn {
    /// All lanes have ended.
    Done,
    /// Nothing can run before another warp does something.
    Blocked,
    /// The slice is used up; `waiting`: it looks as if it waited for somebody.
    Over { waiting: bool },
}

/// A resident block: the running one, which has been taken out of the list, or one of the list.
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
