//! Blocks of pinned memory, which are reused once no copy uses them.

use super::queue::Queue;
use crate::error::Result;
use crate::sync::lock;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex};

/// Most bytes of pinned memory that are kept for reuse.
const KEPT: usize = 64 << 20;

/// Pinned memory, all of it initialised.
pub(crate) struct Block {
    memory: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the block is the only reference to its memory.
unsafe impl Send for Block {}
// SAFETY: a shared block gives access to its address alone.
unsafe impl Sync for Block {}

impl Block {
    /// The first byte.
    pub fn memory(&self) -> NonNull<u8> {
        self.memory
    }

    /// Number of bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

/// Pinned memory of a device that is not in use: its allocation takes as long as a large copy.
pub(crate) struct Pool {
    queue: Arc<Queue>,
    idle: Mutex<Vec<Block>>,
    /// Blocks that a copy may still use, with the event behind it.
    busy: Mutex<Vec<(Block, u64)>>,
}

impl Pool {
    /// A pool without memory.
    pub fn new(queue: Arc<Queue>) -> Self {
        Self { queue, idle: Mutex::default(), busy: Mutex::default() }
    }

    /// A block of at least this many bytes, with any values.
    pub fn take(&self, bytes: usize) -> Result<Block> {
        let bytes = capacity(bytes);
        self.collect();
        match self.idle_block(bytes) {
            Some(block) => Ok(block),
            None => self.new_block(bytes),
        }
    }

    /// A block of at least this many bytes, all 0.
    pub fn zeros(&self, bytes: usize) -> Result<Block> {
        let bytes = capacity(bytes);
        self.collect();
        let Some(block) = self.idle_block(bytes) else { return self.new_block(bytes) };
        // SAFETY: the block has this size, and nothing else uses it.
        unsafe { block.memory.write_bytes(0, block.bytes) };
        Ok(block)
    }

    fn idle_block(&self, bytes: usize) -> Option<Block> {
        let mut idle = lock(&self.idle);
        let found = idle.iter().position(|block| block.bytes == bytes)?;
        Some(idle.swap_remove(found))
    }

    fn new_block(&self, bytes: usize) -> Result<Block> {
        let memory = self.queue.streams()?.pinned(bytes)?;
        // SAFETY: the memory was allocated above with this size.
        unsafe { memory.write_bytes(0, bytes) };
        Ok(Block { memory, bytes })
    }

    /// Takes back a block that no copy uses.
    pub fn give(&self, block: Block) {
        let mut idle = lock(&self.idle);
        let kept: usize = idle.iter().map(|block| block.bytes).sum();
        if kept + block.bytes <= KEPT {
            idle.push(block);
        } else if let Ok(streams) = self.queue.streams() {
            // SAFETY: the pool allocated the block, and nothing uses it.
            unsafe { streams.free_pinned(block.memory, block.bytes) };
        }
    }

    /// Takes back a block that a copy uses until the event, which is freed here.
    pub fn give_after(&self, block: Block, event: u64) {
        lock(&self.busy).push((block, event));
    }

    /// Moves blocks whose copies have ended to the others.
    fn collect(&self) {
        let Ok(streams) = self.queue.streams() else { return };
        // SAFETY: the event exists until it is freed below. After an error no copy is under way.
        let ended = |event: u64| unsafe { streams.is_reached(event) }.unwrap_or(true);
        let blocks: Vec<_> = lock(&self.busy).extract_if(.., |(_, event)| ended(*event)).collect();
        for (block, event) in blocks {
            // SAFETY: the event is not used again.
            unsafe { streams.free_event(event) };
            self.give(block);
        }
    }
}

/// Size of the block for as many bytes. Blocks that are kept for reuse have few sizes.
fn capacity(bytes: usize) -> usize {
    if bytes <= KEPT { bytes.next_power_of_two() } else { bytes }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let Ok(streams) = self.queue.streams() else { return };
        for (block, event) in lock(&self.busy).drain(..) {
            // SAFETY: the event exists, and is freed once; the block is not used by a copy after it.
            unsafe {
                let _ = streams.await_event(event);
                streams.free_event(event);
                streams.free_pinned(block.memory, block.bytes);
            }
        }
        for block in lock(&self.idle).drain(..) {
            // SAFETY: the pool allocated the block, and nothing uses it.
            unsafe { streams.free_pinned(block.memory, block.bytes) };
        }
    }
}
