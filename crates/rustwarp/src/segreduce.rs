//! Segmented reduction: one value from each segment of a vector, by sum, maximum or minimum.
//!
//! Segment `k` has the elements `offsets[k]..offsets[k + 1]`. Elements before the first offset and after the last
//! belong to no segment. An empty segment gives the identity; the results of the others are those of
//! [`reduce`](mod@crate::reduce).
//!
//! - *Error bound*: that of [`reduce`](mod@crate::reduce), with [`Plan::depth`] of this module.
//! - *Determinism*: the same bits on every run on devices with the same number of multiprocessors.
//! - *Source*: D. Merrill and M. Garland, "Merge-Based Parallel Sparse Matrix-Vector Multiplication" (2016), for equal
//!   parts of elements and ends. The kernel is `kernels_gpu::segreduce::best`.

use crate::backend::{self, Backend, DeviceInfo, Handle, Shape};
use crate::buffer::Buffer;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::launch::{Launch, MAX_GRID};
use cuda_std::launch::{PtrMut, Slice};
use kernels_gpu::reduce::{Max, Min, Op, Sum};
use kernels_gpu::segreduce::best;

/// Sum of each segment; `offsets` has one more entry than there are segments.
///
/// # Errors
/// [`Error::Mismatch`] for an empty list of offsets, offsets that do not ascend, and offsets beyond the values;
/// [`Error::OtherDevice`] for buffers of two devices, [`Error::NoPtx`] if the kernels are not built, and the errors of
/// the device.
pub fn sum<T: Element>(values: &Buffer<T>, offsets: &[u64]) -> Result<Buffer<T>> {
    segreduce::<Sum, T>(values, offsets)
}

/// Largest element of each segment.
///
/// # Errors
/// Those of [`sum`].
pub fn max<T: Element>(values: &Buffer<T>, offsets: &[u64]) -> Result<Buffer<T>> {
    segreduce::<Max, T>(values, offsets)
}

/// Smallest element of each segment.
///
/// # Errors
/// Those of [`sum`].
pub fn min<T: Element>(values: &Buffer<T>, offsets: &[u64]) -> Result<Buffer<T>> {
    segreduce::<Min, T>(values, offsets)
}

fn segreduce<O: Op<T>, T: Element>(values: &Buffer<T>, offsets: &[u64]) -> Result<Buffer<T>> {
    require_offsets(offsets, values.len() as u64)?;
    let device = values.device();
    let segments = offsets.len() - 1;
    let results = device.uninit::<T>(segments)?;
    if segments == 0 {
        return Ok(results);
    }
    let inside = offsets[segments] - offsets[0];
    let plan = Plan::new::<T>(device.info(), inside, segments as u64, None);
    let scratch = Scratch::new(device.backend(), &plan)?;
    let device_offsets = device.upload(offsets)?;
    let operands = (values.slice(values.len()), device_offsets.slice(offsets.len()));
    scratch.launch::<O>(&plan, operands, results.ptr()).run(device.backend(), device.family("segreduce")?)?;
    // Scratch memory and offsets are released on return.
    device.synchronize()?;
    Ok(results)
}

/// Checks that the offsets are the limits of segments of `len` values.
///
/// # Errors
/// [`Error::Mismatch`] with the first offset that is wrong.
pub fn require_offsets(offsets: &[u64], len: u64) -> Result<()> {
    let Some(&last) = offsets.last() else {
        let text = "segreduce needs one offset more than there are segments, but the list is \
         empty: pass one offset of 0 for no segments";
        return Err(Error::Mismatch(text.to_owned()));
    };
    if let Some(k) = offsets.windows(2).position(|pair| pair[0] > pair[1]) {
        let (before, after) = (offsets[k], offsets[k + 1]);
        let at = k + 1;
        return Err(Error::Mismatch(format!(
            "the offsets of segreduce must ascend, and offset {at} is {after}, after {before}: segment {k} would end \
             before it begins"
        )));
    }
    if last > len {
        return Err(Error::Mismatch(format!("the last offset of segreduce is {last}, and there are {len} values")));
    }
    Ok(())
}

/// Grid of one segmented reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Number of blocks; 0 if there is no segment.
    pub grid: u32,
}

impl Plan {
    /// Plans a grid for `inside` elements in `segments` segments: enough blocks to fill the device, at most one for
    /// each tile, or `grid` blocks, which is not 0, if given.
    pub fn new<T>(info: &DeviceInfo, inside: u64, segments: u64, grid: Option<u32>) -> Self {
        let tiles = (inside + segments).div_ceil(u64::from(best::tile(size_of::<T>())));
        let blocks = tiles.min(u64::from(info.multiprocessors * best::BLOCKS_PER_SM)).min(MAX_GRID) as u32;
        Self { grid: if segments == 0 { 0 } else { grid.unwrap_or(blocks) } }
    }

    /// Threads per block.
    pub fn block(&self) -> u32 {
        best::BLOCK
    }

    /// Largest number of additions in a chain from an element of `T` to its segment's result.
    pub fn depth<T>(&self, inside: u64, segments: u64) -> u64 {
        let (block, grid) = (u64::from(best::BLOCK), u64::from(self.grid).max(1));
        let tile = u64::from(best::tile(size_of::<T>()));
        let tiles = (inside + segments + 1).div_ceil(grid * tile);
        // A chain runs through a thread's elements and the scans of lanes and of warps three times: in the tile where
        // the segment begins, in the sum of tiles where none ends, and in the tile where it ends; then over the blocks'
        // carries.
        let scan = 6 + block / 32;
        3 * (tile / block + scan) + tiles + 1 + grid.div_ceil(block) * scan + 2
    }
}

/// Device memory that a segmented reduction needs beside its operands and results.
pub struct Scratch<'d, T> {
    carries: backend::Buffer<'d, T>,
    keys: backend::Buffer<'d, u64>,
    /// The ticket, which is 0 between launches.
    ticket: backend::Buffer<'d, u32>,
}

impl<'d, T: Element> Scratch<'d, T> {
    /// Allocates the memory that the plan needs.
    ///
    /// # Errors
    /// [`Error::Usage`] if the device has less memory free.
    pub fn new(device: &'d dyn Backend, plan: &Plan) -> Result<Self> {
        Ok(Self {
            carries: backend::Buffer::uninit(device, plan.grid as usize, "carries")?,
            keys: backend::Buffer::uninit(device, plan.grid as usize, "keys")?,
            ticket: backend::Buffer::from_slice(device, &[0], "ticket")?,
        })
    }

    /// Writes the result of each segment. [`require_offsets`] has accepted the offsets, and there is one result for
    /// each segment.
    pub fn launch<'a, O: Op<T>>(
        &'a self,
        plan: &Plan,
        (values, offsets): (Slice<'a, T>, Slice<'a, u64>),
        results: PtrMut<'a, T>,
    ) -> Launch<'a> {
        assert!(plan.grid as usize <= self.carries.len(), "the scratch memory belongs to a smaller plan");
        let (carries, keys) = (self.carries.ptr(), self.keys.ptr());
        let call = best::segreduce_best::<O, T>(values, offsets, results, carries, keys, self.ticket.ptr());
        // SAFETY: the kernel's block, a carry and a key per block, and a ticket that every launch leaves at 0.
        unsafe { Launch::new(call, Shape::linear(plan.grid, best::BLOCK)) }
    }
}
