//! Segmented reduction: one value from each segment of a vector, by sum, maximum or minimum.
//!
//! Segment `k` has the elements `offsets[k]..offsets[k + 1]`. Elements before the first offset and after the last
//! belong to no segment. An empty segment gives the identity; the results of the others are those of
//! [`reduce`](mod@crate::reduce).
//!
//! - *Error bound*: that of [`reduce`](mod@crate::reduce), with [`Plan::depth`] of this module.
//! - *Determinism*: the same bits on every run on devices with the same number of multiprocessors.
//! - *Choice*: equal parts of elements and segment ends for all blocks, which suit any mix of lengths; a warp per
//!   segment where lengths are about the same and suit a warp.
//! - *Source*: D. Merrill and M. Garland, "Merge-Based Parallel Sparse Matrix-Vector Multiplication" (2016), for equal
//!   parts of elements and ends. The kernels are
//!   `kernels_gpu::segreduce::{best, warp_per_segment}`.

use crate::backend::{DeviceInfo, Handle, Memory, Shape, View, ViewMut};
use crate::buffer::Buffer;
use crate::device::Device;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::launch::{Launch, MAX_GRID, Tuning};
use crate::ptx::library;
use crate::reduce::{Max, Min, Op, Sum};
use kernels_gpu::segreduce::{best, warp_per_segment};
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
    /// Whether each segment has a warp, which suits segments of about the same length.
    warps: bool,
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
        let longest = offsets.windows(2).map(|ends| ends[1] - ends[0]).max().unwrap_or(0);
        let warps = tuning.grid.is_none() && warps_suit::<T>(info, inside, segments, longest);
        let grid = match tuning.blocks()? {
            _ if segments == 0 => 0,
            Some(grid) => grid,
            None if warps => segments.div_ceil(u64::from(warp_per_segment::BLOCK / 32)).min(MAX_GRID) as u32,
            None => {
                let tiles = (inside + segments).div_ceil(best::tile(size_of::<T>()).into());
                tiles.min(u64::from(most_blocks(info))).min(MAX_GRID) as u32
            }
        };
        Ok(Self {
            n,
            offsets: Memory::from_slice(device.clone(), offsets, "offsets")?,
            warps,
            grid,
            // A lane adds every 32nd element, and the lanes' results are a tree.
            depth: if warps { longest.div_ceil(32) + 5 } else { depth::<T>(grid, inside, segments) },
            carries: Memory::uninit(device.clone(), if warps { 0 } else { grid as usize }, "carries")?,
            keys: Memory::uninit(device.clone(), if warps { 0 } else { grid as usize }, "keys")?,
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
        if self.warps {
            let call = warp_per_segment::segreduce_warp_per_segment::<O, T>(values, offsets, results.ptr());
            // SAFETY: whole warps, and offsets that ascend within the values.
            let launch = unsafe { Launch::new(call, Shape::linear(self.grid, warp_per_segment::BLOCK)) };
            return Ok(launch.using(uses));
        }
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

/// Mean length of segments, in bytes, from which a warp per segment is faster than equal parts. (H200, f32: 2^28
/// elements in segments of 128 take 374 us, in parts 395; in segments of 16 they take 2.5 ms, in parts 458 us. 2^22 in
/// segments of 0 to 255 take 13.1 us, in parts 19.5.)
const WARP_BYTES: u64 = 448;

/// Warps per multiprocessor that a warp per segment occupies.
const RESIDENT_WARPS: u64 = 64;

/// Whether a warp per segment is faster: the mean segment keeps its lanes busy, and the longest is at most the share of
/// one of the warps that run at the same time, so that none of them works alone at the end.
fn warps_suit<T>(info: &DeviceInfo, inside: u64, segments: u64, longest: u64) -> bool {
    let mean_suits = segments > 0 && inside * size_of::<T>() as u64 >= segments.saturating_mul(WARP_BYTES);
    mean_suits && longest <= inside / (u64::from(info.multiprocessors) * RESIDENT_WARPS)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::simulator;

    #[test]
    fn segments_of_about_the_same_length_have_a_warp_each() {
        let info = DeviceInfo { multiprocessors: 132, ..simulator() };
        let suit = |inside: u64, segments, longest| warps_suit::<f32>(&info, inside, segments, longest);
        assert!(suit(1 << 22, 32_864, 255), "uniform lengths of 0 to 255");
        assert!(suit(1 << 28, 1 << 21, 128) && suit(1 << 28, 1 << 16, 4096), "equal lengths");
        assert!(!suit(1 << 28, 1 << 24, 16), "short ones");
        assert!(!suit(1 << 28, 1 << 8, 1 << 20), "a million elements each");
        assert!(!suit(1 << 28, 1 << 21, 1 << 22), "a power law");
        assert!(!suit(0, 0, 0) && !suit(100, 1, 100), "too few");
    }
}
