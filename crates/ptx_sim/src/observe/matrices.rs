//! Events about matrices in shared memory: boxes that tensor copies write, and factors that products read.

use super::Site;
use crate::isa::matrix::{Descriptor, Form, extent};
use crate::tensor::Tile;

/// A box of a tensor that a bulk copy has written to shared memory.
pub struct Boxed<'a> {
    /// The instruction that issued the copy.
    pub site: Site,
    /// Index of the warp of the thread that executed the instruction.
    pub warp: u32,
    /// Lane of that thread.
    pub lane: u32,
    /// Ticket of the block that owns the shared memory.
    pub owner: u64,
    /// The box, and its place.
    pub tile: &'a Tile,
}

/// A factor in shared memory of a product that all warps of a warpgroup have executed.
pub struct Factor {
    /// The `wgmma`.
    pub site: Site,
    /// Index of the last warp that executed it.
    pub warp: u32,
    /// Whether it is `b`, and not `a`.
    pub is_b: bool,
    /// Where it lies in the shared memory of the warps' block.
    pub descriptor: Descriptor,
    /// Order of its elements.
    pub form: Form,
    /// Number of its rows, or columns of `b`.
    pub lines: usize,
    /// Number of elements of each.
    pub depth: usize,
    /// Bytes of an element.
    pub bytes: usize,
}

impl Factor {
    /// Returns the numbers of chunks of 16 bytes: see [`Descriptor::chunk`].
    pub fn extent(&self) -> [u64; 2] {
        extent(self.form, self.lines, self.depth, self.bytes)
    }

    /// Returns the offset in shared memory of a chunk.
    pub fn chunk(&self, outer: u64, inner: u64) -> u64 {
        self.descriptor.chunk(self.form, outer, inner)
    }
}
