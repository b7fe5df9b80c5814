//! Histograms: the number of elements in each bin, as 64-bit counts.
//!
//! The bin of a `u8` or `u32` is its value; letters have bins of four; floats are counted in the equal parts of a
//! half-open range. [`kernels_gpu::histogram::sample`] defines the bins exactly. Elements that belong to no bin are not
//! counted; an empty input gives zeros.
//!
//! - *Determinism*: counts are exact, and the same on every run and device.
//! - *Source*: privatised counters as in J. Gómez-Luna et al., "An optimized approach to histogram computation on GPU"
//!   (2013). The kernels are `kernels_gpu::histogram::best`.

use crate::backend::{self, Backend, DeviceInfo, Handle, Shape};
use crate::buffer::Buffer;
use crate::device::Device;
use crate::element::{Element, Scalar};
use crate::error::{Error, Result};
use crate::launch::Launch;
use cuda_std::launch::{Call, PtrMut, Slice};
use kernels_gpu::histogram::best::{LANE_BINS, lanes, windows};
use kernels_gpu::histogram::{Letter, Sample};
use std::ops::Range;

/// An integer whose bin is its value.
pub trait Key: Sample + Scalar {}
impl Key for u8 {}
impl Key for u32 {}

/// Number of occurrences of each value below `bins`.
///
/// # Errors
/// [`Error::Usage`] for 0 bins, [`Error::NoPtx`] if the kernels are not built, and the errors of the device.
pub fn of_keys<T: Key>(input: &Buffer<T>, bins: u32) -> Result<Buffer<u64>> {
    histogram::<T, T>(input, Bins { count: bins, range: [0.0; 3] })
}

/// Number of letters of a text in groups of four: a-d, e-h, …, y-z; a capital counts as its small letter.
///
/// # Errors
/// Those of [`of_keys`].
pub fn of_letters(text: &Buffer<u8>) -> Result<Buffer<u64>> {
    histogram::<Letter, u8>(text, Bins { count: Letter::GROUPS, range: [0.0; 3] })
}

/// Number of elements in each of `bins` equal parts of a half-open range.
///
/// # Errors
/// [`Error::Usage`] for a range that cannot be divided into `bins` parts in the elements' type, and those of
/// [`of_keys`].
pub fn of_range<T: Cut>(input: &Buffer<T>, bins: u32, range: Range<T>) -> Result<Buffer<u64>> {
    let range = T::cut(range.start, range.end, bins).ok_or_else(|| {
        let (low, high) = (range.start.value(), range.end.value());
        Error::Usage(format!(
            "the range {low}..{high} cannot be cut into {bins} bins of {}: its ends or their distance are beyond what \
             the type \
             can hold",
            T::DTYPE
        ))
    })?;
    histogram::<T, T>(input, Bins { count: bins, range })
}

/// A float type in which a range can be divided into bins.
pub trait Cut: Sample + Element {
    /// Low end, high end, and bins per unit, each exact in this type; `None` if one is not finite, or the range is
    /// empty.
    fn cut(low: Self, high: Self, bins: u32) -> Option<[f64; 3]>;
}

macro_rules! cut {
    ($($t:ident)*) => { $(
        impl Cut for $t {
            fn cut(low: Self, high: Self, bins: u32) -> Option<[f64; 3]> {
                let scale = f64::from(bins) as $t / (high - low);
                let all = [f64::from(low), f64::from(high), f64::from(scale)];
                (low < high && scale > 0.0 && all.iter().all(|x| x.is_finite())).then_some(all)
            }
        }
    )* };
}
cut!(f32 f64);

/// The bins of a histogram.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bins {
    /// Number of bins, which is not 0.
    pub count: u32,
    /// The result of [`Cut::cut`] for floats; zeros for other types.
    pub range: [f64; 3],
}

fn histogram<S: Sample, T: Scalar>(input: &Buffer<T>, bins: Bins) -> Result<Buffer<u64>> {
    if bins.count == 0 {
        return Err(Error::Usage("a histogram has at least one bin".to_owned()));
    }
    let (device, n) = (input.device(), input.len());
    let plan = Plan::new::<S>(device.info(), bins.count, n as u64, None, None)?;
    let scratch = Scratch::new(device.backend(), &plan, bins.count)?;
    // The kernels that count in windows add to the counts, and nothing is launched for an empty input.
    let counts = device.zeros::<u64>(bins.count as usize)?;
    assert!(size_of::<S>() == size_of::<T>(), "elements of the input");
    // SAFETY: the memory lives as long as the buffer, and `S` has the representation of `T`.
    let elements = unsafe { Slice::<S>::new(input.address(), n) };
    scratch.launch(&plan, elements, bins, counts.ptr()).run(device.backend(), device.family("histogram")?)?;
    // Scratch memory is released on return.
    device.synchronize()?;
    Ok(counts)
}

/// Kernel and grid of one histogram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Threads per block: a multiple of 32.
    pub block: u32,
    /// Number of blocks; 0 for an empty input.
    pub grid: u32,
    /// Number of bins that a block counts in shared memory at the same time.
    pub window: u32,
    /// Bytes of dynamic shared memory.
    pub shared: u32,
    /// Whether each lane has its own counters and the kernel overwrites the counts; otherwise it adds to them.
    pub by_lane: bool,
}

impl Plan {
    /// Whether bins are counted by lane.
    pub fn counts_by_lane(bins: u32) -> bool {
        bins <= LANE_BINS
    }

    /// Default number of threads per block for this number of bins.
    pub fn default_block(info: &DeviceInfo, bins: u32) -> u32 {
        if Self::counts_by_lane(bins) { lanes::BLOCK } else { windows::BLOCK.min(info.max_block) }
    }

    /// Plans the count of `n` elements in `bins` bins, both not 0, with `block` threads per block, a multiple of 32,
    /// and about `grid` blocks, if given.
    ///
    /// # Errors
    /// [`Error::Usage`] for more elements than a block's 32-bit counters can count.
    pub fn new<S: Sample>(info: &DeviceInfo, bins: u32, n: u64, block: Option<u32>, grid: Option<u32>) -> Result<Self> {
        let by_lane = Self::counts_by_lane(bins);
        let block = block.unwrap_or_else(|| Self::default_block(info, bins));
        let four = |bins: u32| bins * size_of::<u32>() as u32;
        // A group is the blocks that count the same elements, each for its own bins.
        let mut blocks_per_group = 1;
        let (window, shared, fill) = if by_lane {
            let shared = lanes::shared_bytes::<S>(bins);
            (bins, shared, (lanes::THREADS_PER_SM / block).min(info.max_shared / shared))
        } else {
            let fit = info.max_shared / four(1);
            blocks_per_group = bins.div_ceil(fit.max(1));
            if blocks_per_group > 1 {
                // Smaller windows are used if they leave fewer multiprocessors without a block.
                blocks_per_group = info.multiprocessors / (info.multiprocessors / blocks_per_group).max(1);
                blocks_per_group = blocks_per_group.max(bins.div_ceil(fit.max(1)));
            }
            let window = bins.div_ceil(blocks_per_group);
            (window, four(window), (windows::THREADS_PER_SM / block).min(info.max_shared / four(window)))
        };
        // The last windows may be empty.
        let blocks_per_group = if blocks_per_group > 1 { bins.div_ceil(window) } else { 1 };
        let most = u64::from(info.multiprocessors * fill.max(1) / blocks_per_group).max(1);
        let vector = 16 / size_of::<S>() as u64;
        let enough = match by_lane {
            true => n / (vector * u64::from(block) * lanes::UNROLL as u64),
            false => n / (u64::from(window) * windows::ELEMENTS_PER_BIN).max(vector * u64::from(block)),
        };
        let groups = match grid {
            Some(grid) => u64::from(grid / blocks_per_group).max(1),
            None => enough.clamp(1, most),
        };
        // A group's share is n / groups plus at most one round of its threads.
        let round = u64::from(block) * vector * windows::UNROLL as u64;
        if n.div_ceil(groups) + round > u64::from(u32::MAX) {
            return Err(Error::Usage(format!(
                "{n} elements in {groups} blocks are more than a block's 32-bit counters can count: count them in parts"
            )));
        }
        let grid = if n == 0 { 0 } else { groups as u32 * blocks_per_group };
        Ok(Self { block, grid, window, shared, by_lane })
    }
}

/// Device memory that a histogram needs beside its input and counts.
pub struct Scratch<'d> {
    /// These are 0 between launches.
    totals: backend::Buffer<'d, u64>,
    /// These are 0 between launches.
    ticket: backend::Buffer<'d, u32>,
}

impl<'d> Scratch<'d> {
    /// Allocates the memory that the plan needs.
    ///
    /// # Errors
    /// [`Error::Usage`] if the device has less memory free.
    pub fn new(device: &'d dyn Backend, plan: &Plan, bins: u32) -> Result<Self> {
        let totals = if plan.by_lane { bins as usize } else { 0 };
        Ok(Self {
            totals: backend::Buffer::from_slice(device, &vec![0; totals], "totals")?,
            ticket: backend::Buffer::from_slice(device, &[0], "ticket")?,
        })
    }

    /// Counts the elements of the input. The counts, one per bin, are 0 before every run unless the plan counts by
    /// lane.
    pub fn launch<'a, S: Sample>(
        &'a self,
        plan: &Plan,
        input: Slice<'a, S>,
        bins: Bins,
        counts: PtrMut<'a, u64>,
    ) -> Launch<'a> {
        let [by_lane, by_window] = calls(input, bins, plan.window, [self.totals.ptr(), counts], self.ticket.ptr());
        let call = if plan.by_lane { by_lane } else { by_window };
        // SAFETY: the plan gives whole warps, the shared memory for its window, a grid of whole groups, and no block
        // more elements than 32 bits can count; totals and ticket are 0 before the first launch, and the kernel leaves
        // them so.
        unsafe { Launch::new(call, Shape::linear(plan.grid, plan.block).with_shared(plan.shared)) }
    }
}

/// The two kernels: for few bins, and for many.
pub fn calls<'a, S: Sample>(
    input: Slice<'a, S>,
    bins: Bins,
    window: u32,
    [totals, counts]: [PtrMut<'a, u64>; 2],
    ticket: PtrMut<'a, u32>,
) -> [Call<'a>; 2] {
    let Bins { count, range } = bins;
    [
        lanes::histogram_best_lanes::<S>(input, count, range, totals, ticket, counts),
        windows::histogram_best_windows::<S>(input, count, range, window, counts),
    ]
}

impl Device {
    /// [`of_keys`] of a buffer of this device.
    ///
    /// # Errors
    /// [`Error::OtherDevice`] for a buffer of another device, and those of [`of_keys`].
    pub fn histogram<T: Key>(&self, input: &Buffer<T>, bins: u32) -> Result<Buffer<u64>> {
        input.require_on(self, "the input")?;
        of_keys(input, bins)
    }
}
