//! Positions of warps and threads in the code.

use crate::observe::Site;

/// Position of execution: the instruction and the frame that executes it.
#[derive(Clone, Copy, Debug)]
pub struct At {
    pub site: Site,
    pub frame: u32,
}

/// A thread, and the instruction that it executes or executed.
#[derive(Clone, Copy, Debug)]
pub struct Who {
    /// Ticket of the block.
    pub block: u64,
    pub warp: u32,
    pub lane: usize,
    pub site: Site,
}
