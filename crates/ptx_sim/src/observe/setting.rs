//! The constant parts of a launch that observers need.

use crate::memory::Memory;
use crate::program::{Layout, Program};
use crate::stop::Thread;
use std::sync::Arc;

/// A program, the memory it runs on, and the shape of its blocks.
#[derive(Debug)]
pub struct Setting<'a> {
    pub program: &'a Program,
    pub memory: &'a Memory,
    /// Shared memory of the entry.
    pub layout: Arc<Layout>,
    /// Bytes of shared memory of a block, static and dynamic.
    pub shared_bytes: u64,
    /// `%ntid`.
    pub block: [u32; 3],
}

impl Setting<'_> {
    /// Returns the thread of a lane, for reports.
    pub fn thread(&self, block: [u32; 3], warp: u32, lane: usize) -> Thread {
        Thread { block, thread: thread_id(self.block, warp, lane) }
    }
}

/// Returns the `%tid` of a lane.
pub fn thread_id(block: [u32; 3], warp: u32, lane: usize) -> [u32; 3] {
    let linear = warp * 32 + lane as u32;
    let [x, y, _] = block;
    [linear % x, linear / x % y, linear / x / y]
}
