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

use crate::backend::{DeviceInfo, Handle, Memory, Shape, View, ViewMut};
use crate::buffer::Buffer;
use crate::device::Device;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::launch::{Launch, MAX_GRID, Tuning};
use crate::ptx::library;
use crate::reduce::{Max, Min, Op, Sum};
use kernels_gpu::segreduce::best;
use std::marker::PhantomData;

/// Sum of each segment; `offsets` has one more entry than there are segments.
///
/// # Errors
/// [`Error::Mismatch`] for an empty list of offsets, offsets that do not ascend, and offsets beyond the values;
/// [`Error::OtherDevice`] for buffers of two devices, [`Error::NoPtx`] if the kernels are not built, and the errors of
/// the device.
pub fn sum<'a, T: Element>(values: impl Into<View<'a, T>>, offsets: &[u64]) -> Result<Buffer<T>> {
    let values = values.into();
    segreduce::<Sum, T>(values.device(), values, offsets)
}

/// Largest element of each segment.
///
/// # Errors
/// Those of [`sum`].
pub fn max<'a, T: Element>(values: impl Into<View<'a, T>>, offsets: &[u64]) -> Result<Buffer<T>> {
    let values = values.into();
    segreduce::<Max, T>(values.device(), values, offsets)
}

/// Smallest element of each segment.
///
/// # Errors
/// Those of [`sum`].
pub fn min<'a, T: Element>(values: impl Into<View<'a, T>>, offsets: &[u64]) -> Result<Buffer<T>> {
    let values = values.into();
    segreduce::<Min, T>(values.device(), values, offsets)
}

/// Writes the [`sum`] of each segment to the results. This and the functions below run in the stream of the device of
/// the results, and wait only for the copy of the offsets.
///
/// # Errors
/// Those of [`Plan::new`] and [`Plan::launch`].
pub fn sum_into<'a, T: Element>(
    values: impl Into<View<'a, T>>,
    offsets: &[u64],
    results: impl Into<ViewMut<'a, T>>,
) -> Result<()> {
    segreduce_into::<Sum, T>(values.into(), offsets, results.into())
}

/// Writes the [`max`] of each segment to the results.
///
/// # Errors
/// Those of [`Plan::new`] and [`Plan::launch`].
pub fn max_into<'a, T: Element>(
    values: impl Into<View<'a, T>>,
    offsets: &[u64],
    results: impl Into<ViewMut<'a, T>>,
) -> Result<()> {
    segreduce_into::<Max, T>(values.into(), offsets, results.into())
}

/// Writes the [`min`] of each segment to the results.
///
/// # Errors
/// Those of [`Plan::new`] and [`Plan::launch`].
pub fn min_into<'a, T: Element>(
    values: impl Into<View<'a, T>>,
    offsets: &[u64],
    results: impl Into<ViewMut<'a, T>>,
) -> Result<()> {
    segreduce_into::<Min, T>(values.into(), offsets, results.into())
}

fn segreduce<O: Op<T>, T: Element>(device: &Device, values: View<'_, T>, offsets: &[u64]) -> Result<Buffer<T>> {
    require_offsets(offsets, values.len() as u64)?;
    let mut results = device.uninit::<T>(offsets.len() - 1)?;
    segreduce_into::<O, T>(values, offsets, (&mut results).into())?;
    Ok(results)
}

fn segreduce_into<O: Op<T>, T: Element>(values: View<'_, T>, offsets: &[u64], results: ViewMut<'_, T>) -> Result<()> {
    Plan::<O, T>::new(results.device(), values.len(), offsets, Tuning::default())?.launch(values, results)
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

/// A segmented reduction of a number of elements of `T` by the operation `O`, with its offsets, launch configuration
/// and scratch memory. It can be launched any number of times, without further allocations.
pub struct Plan<O, T, H: Handle = Device> {
    n: usize,
    offsets: Memory<u64, H>,
    grid: u32,
    depth: u64,
    carries: Memory<T, H>,
    keys: Memory<u64, H>,
    /// The ticket, which is 0 between launches.
    ticket: Memory<u32, H>,
    operation: PhantomData<O>,
}

impl<O: Op<T>, T: Element, H: Handle> Plan<O, T, H> {
    /// Plans a reduction of `n` elements in the segments that the offsets limit, and copies the offsets to the device:
    /// enough blocks to fill it, at most one for each tile, unless the tuning gives another number.
    ///
    /// # Errors
    /// Those of [`require_offsets`], and [`Error::Argument`] for a tuning that the kernel does not support,
    /// [`Error::OutOfMemory`] if the device has less memory free.
    pub fn new(device: &H, n: usize, offsets: &[u64], tuning: Tuning) -> Result<Self> {
        require_offsets(offsets, n as u64)?;
        let info = device.backend().info();
        let block = tuning.whole_warps(best::BLOCK, info)?;
        if block != best::BLOCK {
            return Err(Error::Argument(format!("segreduce has blocks of {} threads, not {block}", best::BLOCK)));
        }
        let (segments, inside) = (offsets.len() as u64 - 1, offsets[offsets.len() - 1] - offsets[0]);
        let grid = match tuning.blocks()? {
            _ if segments == 0 => 0,
            Some(grid) => grid,
            None => {
                let tiles = (inside + segments).div_ceil(best::tile(size_of::<T>()).into());
                tiles.min(u64::from(most_blocks(info))).min(MAX_GRID) as u32
            }
        };
        Ok(Self {
            n,
            offsets: Memory::from_slice(device.clone(), offsets, "offsets")?,
            grid,
            depth: depth::<T>(grid, inside, segments),
            carries: Memory::uninit(device.clone(), grid as usize, "carries")?,
            keys: Memory::uninit(device.clone(), grid as usize, "keys")?,
            ticket: Memory::zeros(device.clone(), 1, "ticket")?,
            operation: PhantomData,
        })
    }

    /// Number of segments.
    pub fn segments(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Largest number of additions in a chain from an element to its segment's result.
    pub fn depth(&self) -> u64 {
        self.depth
    }

    /// The launch that writes the result of each segment. Without segments it does nothing.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for memory of another length, [`Error::OtherDevice`] for memory of another device.
    pub fn prepare<'a>(
        &'a self,
        values: impl Into<View<'a, T, H>>,
        results: impl Into<View<'a, T, H>>,
    ) -> Result<Launch<'a>> {
        let (device, values, results) = (self.ticket.device(), values.into(), results.into());
        values.require(device, self.n, "the vector")?;
        results.require_output(device, self.segments(), &[values.span()])?;
        let uses = [values.reads(), self.offsets.reads(), results.writes()];
        let (values, offsets) = (values.slice(self.n), self.offsets.slice(self.offsets.len()));
        let (carries, keys, ticket) = (self.carries.ptr(), self.keys.ptr(), self.ticket.ptr());
        let call = best::segreduce_best::<O, T>(values, offsets, results.ptr(), carries, keys, ticket);
        // SAFETY: the kernel's block, offsets that ascend within the values, a carry and a key per block, and a ticket
        // that every launch leaves at 0.
        let launch = unsafe { Launch::new(call, Shape::linear(self.grid, best::BLOCK)) };
        Ok(launch.using(uses).using([self.carries.writes(), self.keys.writes(), self.ticket.writes()]))
    }
}

impl<O: Op<T>, T: Element> Plan<O, T> {
    /// Starts the reduction of the segments, which writes a result for each, in stream order.
    ///
    /// # Errors
    /// Those of [`Plan::prepare`], [`Error::NoPtx`] if the kernels are not built, and the errors of the device.
    pub fn launch<'a>(&self, values: impl Into<View<'a, T>>, results: impl Into<ViewMut<'a, T>>) -> Result<()> {
        let (values, results) = (values.into(), results.into());
        self.ticket.device().run(&library::SEGREDUCE, &self.prepare(values, results.as_view())?)
    }
}

/// Largest number of bytes that a [`Plan`] allocates beside its offsets, unless a tuning gives more blocks.
pub fn scratch_bytes<T>(info: &DeviceInfo) -> u64 {
    u64::from(most_blocks(info)) * (size_of::<T>() + size_of::<u64>()) as u64 + size_of::<u32>() as u64
}

fn most_blocks(info: &DeviceInfo) -> u32 {
    info.multiprocessors * best::BLOCKS_PER_SM
}

/// Largest number of additions in a chain from an element of `T` to its segment's result.
fn depth<T>(grid: u32, inside: u64, segments: u64) -> u64 {
    let (block, grid) = (u64::from(best::BLOCK), u64::from(grid).max(1));
    let tile = u64::from(best::tile(size_of::<T>()));
    let tiles = (inside + segments + 1).div_ceil(grid * tile);
    // A chain runs through a thread's elements and the scans of lanes and of warps three times: in the tile where the
    // segment begins, in the sum of tiles where none ends, and in the tile where it ends; then over the blocks'
    // carries.
    let scan = 6 + block / 32;
    3 * (tile / block + scan) + tiles + 1 + grid.div_ceil(block) * scan + 2
}

impl Device {
    /// [`sum`] of each segment of a buffer of this device.
    ///
    /// # Errors
    /// [`Error::OtherDevice`] for a buffer of another device, and those of [`sum`].
    pub fn segmented_sum<'a, T: Element>(&self, values: impl Into<View<'a, T>>, offsets: &[u64]) -> Result<Buffer<T>> {
        let values = values.into();
        values.require_on(self, "the vector")?;
        segreduce::<Sum, T>(self, values, offsets)
    }

    /// [`max`] of each segment of a buffer of this device.
    ///
    /// # Errors
    /// Those of [`Device::segmented_sum`].
    pub fn segmented_max<'a, T: Element>(&self, values: impl Into<View<'a, T>>, offsets: &[u64]) -> Result<Buffer<T>> {
        let values = values.into();
        values.require_on(self, "the vector")?;
        segreduce::<Max, T>(self, values, offsets)
    }

    /// [`min`] of each segment of a buffer of this device.
    ///
    /// # Errors
    /// Those of [`Device::segmented_sum`].
    pub fn segmented_min<'a, T: Element>(&self, values: impl Into<View<'a, T>>, offsets: &[u64]) -> Result<Buffer<T>> {
        let values = values.into();
        values.require_on(self, "the vector")?;
        segreduce::<Min, T>(self, values, offsets)
    }
}
