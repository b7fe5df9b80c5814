//! Segmented reduction: one value from each segment of a vector, by sum, maximum or minimum.
//!
//! Segment `k` has the elements `offsets[k]..offsets[k + 1]`. Elements before the first offset and after the last
//! belong to no segment. An empty segment gives the identity; the results of the others are those of
//! [`reduce`](mod@crate::reduce).
//!
//! - *Error bound*: that of [`reduce`](mod@crate::reduce), with [`Plan::depth`] of this module.
//! - *Determinism*: the same bits on every run on devices with the same number of multiprocessors.
//! - *Choice*: equal parts of elements and segment ends for all blocks, which suit any mix of lengths; a warp per
//!   segment where lengths are about the same and suit a warp; a block per piece of a segment where most are long; for
//!   up to 16 MiB, a warp or a block per segment unless one of the segments is much longer than the others.
//! - *Source*: D. Merrill and M. Garland, "Merge-Based Parallel Sparse Matrix-Vector Multiplication" (2016), for equal
//!   parts of elements and ends. The kernels are
//!   `kernels_gpu::segreduce::{best, best::pieces, best::whole, warp_per_segment}`.

use crate::backend::{DeviceInfo, Handle, Memory, Shape, View, ViewMut};
use crate::buffer::Buffer;
use crate::device::Device;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::launch::{Launch, MAX_GRID, Tuning};
use crate::ptx::library;
use crate::reduce::{Max, Min, Op, Sum};
use kernels_gpu::segreduce::best::{self, pieces, stretch, whole};
use kernels_gpu::segreduce::warp_per_segment;
use std::marker::PhantomData;
use way::{Pieces, Way};

mod way;

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
    scratch: Scratch<T, H>,
    operation: PhantomData<O>,
}

/// The memory of a kernel of the plan beside the operands.
enum Scratch<T, H: Handle> {
    /// Of equal parts; the ticket is 0 between launches.
    Parts {
        carries: Memory<T, H>,
        keys: Memory<u64, H>,
        ticket: Memory<u32, H>,
    },
    Warps,
    Whole,
    /// Of pieces; the tickets are 0 between launches.
    Pieces {
        cuts: Memory<u64, H>,
        segments: Memory<u32, H>,
        firsts: Memory<u32, H>,
        partials: Memory<T, H>,
        tickets: Memory<u32, H>,
    },
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
        let way = match tuning.blocks()? {
            Some(grid) => Way::Parts(grid),
            None => Way::choose::<T>(info, offsets),
        };
        let (grid, depth) = match &way {
            _ if segments == 0 => (0, 0),
            Way::Parts(grid) => (*grid, depth::<T>(*grid, inside, segments)),
            Way::Warps { longest } => {
                let grid = segments.div_ceil(u64::from(warp_per_segment::BLOCK / 32)).min(MAX_GRID) as u32;
                // A lane adds every 32nd element, and the lanes' results are a tree.
                (grid, longest.div_ceil(32) + 5)
            }
            // A block per segment, whose threads' results are a tree.
            Way::Whole { longest } => {
                let depth = stretch::depth(*longest, whole::BLOCK.into(), size_of::<T>()) + 10;
                (segments as u32, depth)
            }
            Way::Pieces(Pieces { segments, longest, most, .. }) => {
                let (block, trees) = (u64::from(pieces::BLOCK), 2 * 10);
                let depth = stretch::depth(*longest, block, size_of::<T>()) + most.div_ceil(block) + trees;
                (segments.len() as u32, depth)
            }
        };
        let scratch = match &way {
            Way::Parts(_) => Scratch::Parts {
                carries: Memory::uninit(device.clone(), grid as usize, "carries")?,
                keys: Memory::uninit(device.clone(), grid as usize, "keys")?,
                ticket: Memory::zeros(device.clone(), 1, "ticket")?,
            },
            Way::Warps { .. } => Scratch::Warps,
            Way::Whole { .. } => Scratch::Whole,
            Way::Pieces(pieces) => Scratch::Pieces {
                cuts: Memory::from_slice(device.clone(), &pieces.cuts, "pieces")?,
                segments: Memory::from_slice(device.clone(), &pieces.segments, "segments of pieces")?,
                firsts: Memory::from_slice(device.clone(), &pieces.firsts, "pieces of segments")?,
                partials: Memory::uninit(device.clone(), pieces.segments.len(), "partial results")?,
                tickets: Memory::zeros(device.clone(), segments as usize, "tickets")?,
            },
        };
        let offsets = Memory::from_slice(device.clone(), offsets, "offsets")?;
        Ok(Self { n, offsets, grid, depth, scratch, operation: PhantomData })
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
        let (device, values, results) = (self.offsets.device(), values.into(), results.into());
        values.require(device, self.n, "the vector")?;
        results.require_output(device, self.segments(), &[values.span()])?;
        let uses = [values.reads(), results.writes()];
        let (values, results) = (values.slice(self.n), results.ptr());
        let offsets = self.offsets.slice(self.offsets.len());
        match &self.scratch {
            Scratch::Parts { carries, keys, ticket } => {
                let call =
                    best::segreduce_best::<O, T>(values, offsets, results, carries.ptr(), keys.ptr(), ticket.ptr());
                // SAFETY: the kernel's block, offsets that ascend within the values, a carry and a key per block, and a
                // ticket that every launch leaves at 0.
                let launch = unsafe { Launch::new(call, Shape::linear(self.grid, best::BLOCK)) };
                let uses = launch.using(uses).using([self.offsets.reads()]);
                Ok(uses.using([carries.writes(), keys.writes(), ticket.writes()]))
            }
            Scratch::Warps => {
                let call = warp_per_segment::segreduce_warp_per_segment::<O, T>(values, offsets, results);
                // SAFETY: whole warps, and offsets that ascend within the values.
                let launch = unsafe { Launch::new(call, Shape::linear(self.grid, warp_per_segment::BLOCK)) };
                Ok(launch.using(uses).using([self.offsets.reads()]))
            }
            Scratch::Whole => {
                let call = whole::segreduce_best_whole::<O, T>(values, offsets, results);
                // SAFETY: whole warps, a block per segment, and offsets that ascend within the values.
                let launch = unsafe { Launch::new(call, Shape::linear(self.grid, whole::BLOCK)) };
                Ok(launch.using(uses).using([self.offsets.reads()]))
            }
            Scratch::Pieces { cuts, segments, firsts, partials, tickets } => {
                let reads = [cuts.reads(), segments.reads(), firsts.reads()];
                let writes = [partials.writes(), tickets.writes()];
                let (partials, tickets) = (partials.ptr(), tickets.ptr());
                let (cuts, segments) = (cuts.slice(cuts.len()), segments.slice(segments.len()));
                let firsts = firsts.slice(firsts.len());
                let call =
                    pieces::segreduce_best_pieces::<O, T>(values, cuts, segments, firsts, results, partials, tickets);
                // SAFETY: whole warps, a block and a partial result per piece, pieces that ascend within the values,
                // and tickets that every launch leaves at 0.
                let launch = unsafe { Launch::new(call, Shape::linear(self.grid, pieces::BLOCK)) };
                Ok(launch.using(uses).using(reads).using(writes))
            }
        }
    }
}

impl<O: Op<T>, T: Element> Plan<O, T> {
    /// Starts the reduction of the segments, which writes a result for each, in stream order.
    ///
    /// # Errors
    /// Those of [`Plan::prepare`], [`Error::NoPtx`] if the kernels are not built, and the errors of the device.
    pub fn launch<'a>(&self, values: impl Into<View<'a, T>>, results: impl Into<ViewMut<'a, T>>) -> Result<()> {
        let (values, results) = (values.into(), results.into());
        self.offsets.device().run(&library::SEGREDUCE, &self.prepare(values, results.as_view())?)
    }
}

/// Largest number of bytes that a [`Plan`] for `n` elements allocates beside its offsets, unless a tuning gives more
/// blocks.
pub fn scratch_bytes<T>(info: &DeviceInfo, n: usize) -> u64 {
    let parts = u64::from(most_blocks(info)) * (size_of::<T>() + size_of::<u64>()) as u64 + size_of::<u32>() as u64;
    parts.max(way::most_bytes::<T>(n as u64))
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
