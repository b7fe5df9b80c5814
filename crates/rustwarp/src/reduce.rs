//! Reduction: one value from many, by sum, maximum or minimum; and where the maximum or minimum is.
//!
//! Integer sums wrap. NaN in, NaN out, for every operation; the maximum of -0 and +0 is +0, the minimum -0. An empty
//! input gives the identity: 0, the type's lowest value (-inf), its highest value (+inf).
//!
//! - *Error bound*: a float sum differs from the exact one by at most `d * epsilon * sum of |x|`, where `d` is
//!   [`Plan::depth`], the longest chain of additions; maxima and minima are exact.
//! - *Determinism*: the same bits on every run on devices with the same number of multiprocessors.
//! - *Source*: M. Harris, "Optimizing Parallel Reduction in CUDA" (2007), for the tree; the last block finishes as in
//!   the sample `threadFenceReduction` of the CUDA toolkit. The kernels are `kernels_gpu::reduce::{best, arg}`.

use crate::backend::{self, Backend, DeviceInfo, Shape};
use crate::buffer::Buffer;
use crate::device::Device;
use crate::element::Element;
use crate::error::Result;
use crate::handle::Handle;
use crate::launch::Launch;
use cuda_std::launch::{PtrMut, Slice};
use kernels_gpu::reduce::arg::{NOWHERE, reduce_arg};
use kernels_gpu::reduce::{Max, Min, Op, Sum, best};

/// Number of elements that a thread reads in one round.
const PER_THREAD: u32 = 4;

/// Sum of all elements; 0 for an empty input.
///
/// # Errors
/// [`Error::NoPtx`](crate::Error::NoPtx) if the kernels are not built, and the errors of the device.
pub fn sum<T: Element>(input: &Buffer<T>) -> Result<T> {
    reduce::<Sum, T>(input)
}

/// Largest element; the type's lowest value for an empty input.
///
/// # Errors
/// Those of [`sum`].
pub fn max<T: Element>(input: &Buffer<T>) -> Result<T> {
    reduce::<Max, T>(input)
}

/// Smallest element; the type's highest value for an empty input.
///
/// # Errors
/// Those of [`sum`].
pub fn min<T: Element>(input: &Buffer<T>) -> Result<T> {
    reduce::<Min, T>(input)
}

/// Index of the first largest element; `None` for an empty input. The first NaN counts as the largest.
///
/// # Errors
/// Those of [`sum`].
pub fn argmax<T: Element>(input: &Buffer<T>) -> Result<Option<u64>> {
    arg::<Max, T>(input)
}

/// Index of the first smallest element; `None` for an empty input. The first NaN counts as the smallest.
///
/// # Errors
/// Those of [`sum`].
pub fn argmin<T: Element>(input: &Buffer<T>) -> Result<Option<u64>> {
    arg::<Min, T>(input)
}

fn reduce<O: Op<T>, T: Element>(input: &Buffer<T>) -> Result<T> {
    if input.is_empty() {
        return Ok(O::identity());
    }
    let device = input.device();
    let plan = Plan::new(device.info(), input.len() as u64, best::BLOCK, None);
    let scratch = Scratch::new(device.backend(), &plan)?;
    let output = device.uninit::<T>(1)?;
    scratch
        .launch::<O>(&plan, input.slice(input.len()), output.ptr())
        .run(device.backend(), device.family("reduce")?)?;
    Ok(output.read(1)?[0])
}

fn arg<O: Op<T>, T: Element>(input: &Buffer<T>) -> Result<Option<u64>> {
    if input.is_empty() {
        return Ok(None);
    }
    let device = input.device();
    let plan = Plan::new(device.info(), input.len() as u64, kernels_gpu::reduce::arg::BLOCK, None);
    let scratch = ArgScratch::new(device.backend(), &plan)?;
    let output = device.uninit::<u64>(1)?;
    scratch
        .launch::<O>(&plan, input.slice(input.len()), output.ptr())
        .run(device.backend(), device.family("reduce")?)?;
    let index = output.read(1)?[0];
    Ok((index != NOWHERE).then_some(index))
}

/// Grid of one reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Threads per block: a multiple of 32.
    pub block: u32,
    /// Number of blocks.
    pub grid: u32,
    /// Largest number of additions in a chain from an element to the result.
    pub depth: u64,
}

impl Plan {
    /// Plans a grid for `n` elements, which is not 0: enough blocks to fill the device, at most one for each tile, or
    /// `grid` blocks, which is not 0, if given.
    pub fn new(info: &DeviceInfo, n: u64, block: u32, grid: Option<u32>) -> Self {
        let round = u64::from(block) * u64::from(PER_THREAD);
        let fill = u64::from(info.multiprocessors * best::BLOCKS_PER_SM);
        let grid = grid.unwrap_or_else(|| n.div_ceil(round).min(fill) as u32);
        let tree = u64::from(block.next_power_of_two().ilog2());
        // A thread may read one element before the aligned part and one after it.
        let share = n.div_ceil(u64::from(grid) * round) * u64::from(PER_THREAD) + 2;
        Self { block, grid, depth: share + tree + u64::from(grid.div_ceil(block)) + tree }
    }
}

/// Device memory that a reduction needs beside its input and output.
pub struct Scratch<'d, T> {
    partials: backend::Buffer<'d, T>,
    /// The ticket, which is 0 between launches.
    ticket: backend::Buffer<'d, u32>,
}

impl<'d, T: Element> Scratch<'d, T> {
    /// Bytes that [`Scratch::new`] allocates.
    pub fn bytes(plan: &Plan) -> u64 {
        u64::from(plan.grid) * size_of::<T>() as u64 + size_of::<u32>() as u64
    }

    /// Allocates the memory that the plan needs.
    ///
    /// # Errors
    /// [`Error::Usage`](crate::Error::Usage) if the device has less memory free.
    pub fn new(device: &'d dyn Backend, plan: &Plan) -> Result<Self> {
        Ok(Self {
            partials: backend::Buffer::uninit(device, plan.grid as usize, "partial results")?,
            ticket: backend::Buffer::from_slice(device, &[0], "ticket")?,
        })
    }

    /// Writes the reduction of the input to the first element of the output.
    pub fn launch<'a, O: Op<T>>(&'a self, plan: &Plan, input: Slice<'a, T>, output: PtrMut<'a, T>) -> Launch<'a> {
        assert!(plan.grid as usize <= self.partials.len(), "the scratch memory belongs to a smaller plan");
        let call = best::reduce_best::<O, T>(input, self.partials.ptr(), self.ticket.ptr(), output);
        // SAFETY: whole warps, a partial result per block, and a ticket that is 0 and that every launch leaves at 0.
        unsafe { Launch::new(call, Shape::linear(plan.grid, plan.block)) }
    }
}

/// Device memory that a search for a maximum or minimum needs beside its input and output.
pub struct ArgScratch<'d, T> {
    values: backend::Buffer<'d, T>,
    indices: backend::Buffer<'d, u64>,
    /// The ticket, which is 0 between launches.
    ticket: backend::Buffer<'d, u32>,
}

impl<'d, T: Element> ArgScratch<'d, T> {
    /// Allocates the memory that the plan needs.
    ///
    /// # Errors
    /// [`Error::Usage`](crate::Error::Usage) if the device has less memory free.
    pub fn new(device: &'d dyn Backend, plan: &Plan) -> Result<Self> {
        Ok(Self {
            values: backend::Buffer::uninit(device, plan.grid as usize, "partial values")?,
            indices: backend::Buffer::uninit(device, plan.grid as usize, "partial indices")?,
            ticket: backend::Buffer::from_slice(device, &[0], "ticket")?,
        })
    }

    /// Writes the index of the first maximum or minimum, depending on `O`, to the first element of the output.
    pub fn launch<'a, O: Op<T>>(&'a self, plan: &Plan, input: Slice<'a, T>, output: PtrMut<'a, u64>) -> Launch<'a> {
        assert!(plan.grid as usize <= self.values.len(), "the scratch memory belongs to a smaller plan");
        let (values, indices) = (self.values.ptr(), self.indices.ptr());
        let call = reduce_arg::<O, T>(input, values, indices, self.ticket.ptr(), output);
        // SAFETY: whole warps, a value and an index per block, and a ticket that every launch leaves at 0.
        unsafe { Launch::new(call, Shape::linear(plan.grid, plan.block)) }
    }
}

impl Device {
    /// [`sum`] of a buffer of this device.
    ///
    /// # Errors
    /// [`Error::OtherDevice`](crate::Error::OtherDevice) for a buffer of another device, and those of [`sum`].
    pub fn sum<T: Element>(&self, input: &Buffer<T>) -> Result<T> {
        self.require(input, "the input")?;
        sum(input)
    }

    /// [`max`] of a buffer of this device.
    ///
    /// # Errors
    /// Those of [`Device::sum`].
    pub fn max<T: Element>(&self, input: &Buffer<T>) -> Result<T> {
        self.require(input, "the input")?;
        max(input)
    }

    /// [`min`] of a buffer of this device.
    ///
    /// # Errors
    /// Those of [`Device::sum`].
    pub fn min<T: Element>(&self, input: &Buffer<T>) -> Result<T> {
        self.require(input, "the input")?;
        min(input)
    }

    /// [`argmax`] of a buffer of this device.
    ///
    /// # Errors
    /// Those of [`Device::sum`].
    pub fn argmax<T: Element>(&self, input: &Buffer<T>) -> Result<Option<u64>> {
        self.require(input, "the input")?;
        argmax(input)
    }

    /// [`argmin`] of a buffer of this device.
    ///
    /// # Errors
    /// Those of [`Device::sum`].
    pub fn argmin<T: Element>(&self, input: &Buffer<T>) -> Result<Option<u64>> {
        self.require(input, "the input")?;
        argmin(input)
    }
}
