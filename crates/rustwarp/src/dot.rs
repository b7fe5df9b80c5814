//! Dot product: the sum of `a[i] * b[i]`, of floats.
//!
//! NaN in, NaN out, and infinity times 0 is NaN. Vectors without elements give 0.
//!
//! - *Error bound*: `d * epsilon * sum of |a[i] * b[i]|`, where `d` is [`Plan::depth`], and half the smallest positive
//!   number of the type for each product that underflows.
//! - *Determinism*: the same bits on every run on devices with the same number of multiprocessors.
//! - *Source*: those of [`reduce`](mod@crate::reduce). The kernel is `kernels_gpu::dot::best`.

use crate::backend::{self, Backend, DeviceInfo, Shape};
use crate::buffer::Buffer;
use crate::device::Device;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::handle::Handle;
use crate::launch::Launch;
use cuda_std::launch::{PtrMut, Slice};
use kernels_gpu::dot::{Real, best};

/// Dot product of two vectors of equal length.
///
/// # Errors
/// [`Error::Mismatch`] for unequal lengths, [`Error::OtherDevice`] for buffers of two devices, [`Error::NoPtx`] if the
/// kernels are not built, and the errors of the device.
pub fn dot<T: Element + Real>(a: &Buffer<T>, b: &Buffer<T>) -> Result<T> {
    let (device, n) = (a.device(), a.len());
    device.require(b, "the second vector")?;
    if n != b.len() {
        return Err(Error::Mismatch(format!("a dot product takes two vectors of one length, not {n} and {}", b.len())));
    }
    if n == 0 {
        return Ok(T::ZERO);
    }
    let plan = Plan::new::<T>(device.info(), n as u64, best::BLOCK, None);
    let scratch = Scratch::new(device.backend(), &plan)?;
    let output = device.uninit::<T>(1)?;
    let launch = scratch.launch(&plan, [a.slice(n), b.slice(n)], output.ptr());
    launch.run(device.backend(), device.family("dot")?)?;
    Ok(output.read(1)?[0])
}

/// Grid of one dot product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Threads per block: a multiple of 32.
    pub block: u32,
    /// Number of blocks.
    pub grid: u32,
    /// Largest number of additions in a chain from a product to the result.
    pub depth: u64,
}

impl Plan {
    /// Plans a grid for `n` elements, which is not 0: enough blocks to fill the device, at most one for each tile, or
    /// `grid` blocks, which is not 0, if given.
    pub fn new<T>(info: &DeviceInfo, n: u64, block: u32, grid: Option<u32>) -> Self {
        let per_thread = 16 / size_of::<T>() as u64;
        let round = u64::from(block) * per_thread;
        let fill = u64::from(info.multiprocessors * best::BLOCKS_PER_SM);
        let grid = grid.unwrap_or_else(|| n.div_ceil(round).min(fill) as u32);
        let tree = u64::from(block.next_power_of_two().ilog2());
        // A thread may read one element before the aligned part and one after it.
        let share = n.div_ceil(u64::from(grid) * round) * per_thread + 2;
        Self { block, grid, depth: share + tree + u64::from(grid.div_ceil(block)) + tree }
    }
}

/// Device memory that a dot product needs beside its vectors and output.
pub struct Scratch<'d, T> {
    partials: backend::Buffer<'d, T>,
    /// The ticket, which is 0 between launches.
    ticket: backend::Buffer<'d, u32>,
}

impl<'d, T: Element + Real> Scratch<'d, T> {
    /// Allocates the memory that the plan needs.
    ///
    /// # Errors
    /// [`Error::Usage`] if the device has less memory free.
    pub fn new(device: &'d dyn Backend, plan: &Plan) -> Result<Self> {
        Ok(Self {
            partials: backend::Buffer::uninit(device, plan.grid as usize, "partial sums")?,
            ticket: backend::Buffer::from_slice(device, &[0], "ticket")?,
        })
    }

    /// Writes the dot product to the first element of the output.
    pub fn launch<'a>(&'a self, plan: &Plan, [a, b]: [Slice<'a, T>; 2], output: PtrMut<'a, T>) -> Launch<'a> {
        assert!(plan.grid as usize <= self.partials.len(), "the scratch memory belongs to a smaller plan");
        let call = best::dot_best::<T>(a, b, self.partials.ptr(), self.ticket.ptr(), output);
        // SAFETY: whole warps, a partial sum per block, and a ticket that is 0 and that every launch leaves at 0.
        unsafe { Launch::new(call, Shape::linear(plan.grid, plan.block)) }
    }
}

impl Device {
    /// [`dot`] of buffers of this device.
    ///
    /// # Errors
    /// Those of [`dot()`].
    pub fn dot<T: Element + Real>(&self, a: &Buffer<T>, b: &Buffer<T>) -> Result<T> {
        self.require(a, "the first vector")?;
        dot(a, b)
    }
}
