//! Vector addition: `out[i] = a[i] + b[i]`.
//!
//! Integers wrap. Floats are rounded once, so the results have the same bits on every run and every device. The kernel
//! is `kernels_gpu::vecadd::best`.

use crate::backend::Shape;
use crate::buffer::Buffer;
use crate::device::Device;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::handle::Handle;
use crate::launch::{Launch, MAX_GRID};
use cuda_std::launch::{PtrMut, Slice};
use kernels_gpu::vecadd::best;

/// Sum of two vectors of equal length, element by element.
///
/// # Errors
/// [`Error::Mismatch`] for unequal lengths, [`Error::OtherDevice`] for buffers of two devices, [`Error::NoPtx`] if the
/// kernels are not built, and the errors of the device.
pub fn add<T: Element>(a: &Buffer<T>, b: &Buffer<T>) -> Result<Buffer<T>> {
    let (device, n) = (a.device(), a.len());
    device.require(b, "the second vector")?;
    if n != b.len() {
        return Err(Error::Mismatch(format!("a sum takes two vectors of one length, not {n} and {}", b.len())));
    }
    let output = device.uninit::<T>(n)?;
    let plan = Plan::new::<T>(n as u64, best::BLOCK, None)?;
    launch(&plan, [a.slice(n), b.slice(n)], output.ptr()).run(device.backend(), device.family("vecadd")?)?;
    Ok(output)
}

/// Grid of one addition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Threads per block: a multiple of 32.
    pub block: u32,
    /// Number of blocks; 0 for empty vectors.
    pub grid: u32,
}

impl Plan {
    /// Plans a grid for `n` elements: a block for each tile, or `grid` blocks, which is not 0, if given.
    ///
    /// # Errors
    /// [`Error::Usage`] for more blocks than a grid can have.
    pub fn new<T>(n: u64, block: u32, grid: Option<u32>) -> Result<Self> {
        let tile = (best::EACH * 16 / size_of::<T>()) as u64 * u64::from(block);
        let blocks = if n == 0 { 0 } else { grid.map_or(n.div_ceil(tile).min(MAX_GRID), u64::from) };
        match u32::try_from(blocks) {
            Ok(grid) if blocks <= MAX_GRID => Ok(Self { block, grid }),
            _ => Err(Error::Usage(format!("a grid has at most {MAX_GRID} blocks, not {blocks}"))),
        }
    }
}

/// Writes `a + b` to the output; all three have the same length.
pub fn launch<'a, T: Element>(plan: &Plan, [a, b]: [Slice<'a, T>; 2], output: PtrMut<'a, T>) -> Launch<'a> {
    // SAFETY: the block has whole warps; the kernel continues with further tiles if the grid has fewer blocks.
    unsafe { Launch::new(best::vecadd_best::<T>(a, b, output), Shape::linear(plan.grid, plan.block)) }
}

impl Device {
    /// [`add`] of buffers of this device.
    ///
    /// # Errors
    /// Those of [`add`].
    pub fn add<T: Element>(&self, a: &Buffer<T>, b: &Buffer<T>) -> Result<Buffer<T>> {
        self.require(a, "the first vector")?;
        add(a, b)
    }
}
