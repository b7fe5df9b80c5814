//! Products by warpgroups whose depth is divided, because their tiles would not fill the device: memory in which the
//! blocks of a tile give their sums to each other.

use super::problem::Problem;
use super::tile;
use crate::backend::{Handle, Memory};
use crate::error::{Error, Result};
use crate::matmul::elements;
use kernels_gpu::tensor::mixed::{parts::room, product::Size};

/// The parts.
pub struct Divided<H: Handle> {
    /// Elements of the depth of a part.
    pub part: u32,
    /// Their number.
    pub count: u32,
    /// Sums of each part of each tile.
    pub sums: Memory<u32, H>,
    /// A word for each tile, by which its blocks wait for each other.
    pub words: Memory<u32, H>,
}

impl<H: Handle> Divided<H> {
    /// Memory for the parts of a product in tiles of this size; `None` if it is not divided.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if the device has too little, [`Error::Argument`] for more parts than run at the same
    /// time.
    pub fn new(device: &H, problem: &Problem, size: Size, part: u32) -> Result<Option<Self>> {
        if part == 0 || problem.elements() == 0 {
            return Ok(None);
        }
        let (count, tiles) = (problem.depth.div_ceil(part), tile::count(problem, size));
        let (blocks, most) = (tiles * u64::from(count), u64::from(device.backend().info().multiprocessors));
        if blocks > most {
            return Err(Error::Argument(format!(
                "{count} parts of {tiles} tiles are {blocks} blocks, which wait for each other, and {most} run at the \
                 same time: choose longer parts"
            )));
        }
        let sums = elements(blocks as usize, room(size.columns) as usize)?;
        let sums = Memory::uninit(device.clone(), sums, "sums of the parts of a product")?;
        let words = Memory::zeros(device.clone(), tiles as usize, "words of the tiles of a product")?;
        Ok(Some(Self { part, count, sums, words }))
    }
}
