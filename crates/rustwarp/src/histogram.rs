//! Histograms: the number of elements in each bin, as 64-bit counts.
//!
//! The bin of a `u8` or `u32` is its value; letters have bins of four; floats are counted in the equal parts of a
//! half-open range. [`kernels_gpu::histogram::sample`] defines the bins exactly. Elements that belong to no bin are not
//! counted; an empty input gives zeros.
//!
//! - *Determinism*: counts are exact, and the same on every run and device.
//! - *Source*: privatised counters as in J. Gómez-Luna et al., "An optimized approach to histogram computation on GPU"
//!   (2013). The kernels are `kernels_gpu::histogram::best`.

use crate::backend::{DeviceInfo, Handle, Memory, Shape, View, ViewMut};
use crate::buffer::Buffer;
use crate::device::Device;
use crate::element::{Element, Scalar};
use crate::error::{Error, Result};
use crate::launch::{Launch, Tuning};
use crate::ptx::library;
use cuda_std::launch::{Call, PtrMut, Slice};
use kernels_gpu::histogram::Sample;
use kernels_gpu::histogram::best::{LANE_BINS, lanes, windows};
use std::marker::PhantomData;
use std::ops::Range;

/// The rule that counts letters in groups of four.
pub use kernels_gpu::histogram::Letter;

/// An integer whose bin is its value.
pub trait Key: Counted<Element = Self> + Scalar {}
impl Key for u8 {}
impl Key for u32 {}

/// Number of occurrences of each value below `bins`.
///
/// # Errors
/// [`Error::Argument`] for 0 bins, [`Error::NoPtx`] if the kernels are not built, and the errors of the device.
pub fn of_keys<'a, T: Key>(input: impl Into<View<'a, T>>, bins: u32) -> Result<Buffer<u64>> {
    let input = input.into();
    histogram(input.device(), input, Bins::<T>::keys(bins))
}

/// Number of letters of a text in groups of four: a-d, e-h, …, y-z; a capital counts as its small letter.
///
/// # Errors
/// Those of [`of_keys`].
pub fn of_letters<'a>(text: impl Into<View<'a, u8>>) -> Result<Buffer<u64>> {
    let text = text.into();
    histogram(text.device(), text, Bins::letters())
}

/// Number of elements in each of `bins` equal parts of a half-open range.
///
/// # Errors
/// [`Error::Argument`] for a range that cannot be divided into `bins` parts in the elements' type, and those of
/// [`of_keys`].
pub fn of_range<'a, T: Cut>(input: impl Into<View<'a, T>>, bins: u32, range: Range<T>) -> Result<Buffer<u64>> {
    let input = input.into();
    histogram(input.device(), input, cut(range, bins)?)
}

/// The equal parts of a range.
pub(crate) fn cut<T: Cut>(range: Range<T>, bins: u32) -> Result<Bins<T>> {
    let (low, high) = (range.start.value(), range.end.value());
    Bins::parts(range, bins).ok_or_else(|| {
        Error::Argument(format!(
            "the range {low}..{high} cannot be cut into {bins} bins of {}: its ends or their distance are beyond what \
             the type can hold",
            T::DTYPE
        ))
    })
}

/// A float type in which a range can be divided into bins.
pub trait Cut: Counted<Element = Self> + Element {
    /// Low end, high end, and bins per unit, each exact in this type; `None` if one is not finite, or the range is
    /// empty.
    fn cut(low: Self, high: Self, bins: u32) -> Option<[f64; 3]>;
}

macro_rules! cuts {
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
cuts!(f32 f64);

/// The bins of a histogram by the rule `S`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bins<S> {
    count: u32,
    /// The result of [`Cut::cut`] for floats; zeros for other types.
    range: [f64; 3],
    rule: PhantomData<S>,
}

impl<T: Key> Bins<T> {
    /// A bin for each value below `count`.
    pub fn keys(count: u32) -> Self {
        Self { count, range: [0.0; 3], rule: PhantomData }
    }
}

impl Bins<Letter> {
    /// The groups of four letters.
    pub fn letters() -> Self {
        Self { count: Letter::GROUPS, range: [0.0; 3], rule: PhantomData }
    }
}

impl<T: Cut> Bins<T> {
    /// `count` equal parts of a half-open range; `None` if it cannot be divided into them in the elements' type.
    pub fn parts(range: Range<T>, count: u32) -> Option<Self> {
        let range = T::cut(range.start, range.end, count)?;
        Some(Self { count, range, rule: PhantomData })
    }
}

impl<S> Bins<S> {
    /// Creates bins from their parts. It is public for the ladders, which resolve the rule at run time.
    ///
    /// # Safety
    /// The bins are those of [`Bins::keys`], [`Bins::letters`] or [`Bins::parts`] for the rule: `range` is the result
    /// of [`Cut::cut`] for floats and `count` bins, and zeros for other types.
    #[doc(hidden)]
    pub unsafe fn from_parts(count: u32, range: [f64; 3]) -> Self {
        Self { count, range, rule: PhantomData }
    }

    /// Number of bins, and the result of [`Cut::cut`] for floats.
    pub(crate) fn numbers(&self) -> (u32, [f64; 3]) {
        (self.count, self.range)
    }

    /// Number of bins.
    pub fn count(&self) -> u32 {
        self.count
    }
}

/// A rule that assigns elements to bins.
///
/// # Safety
/// The type has the representation of its elements.
pub unsafe trait Counted: Sample {
    /// The elements in memory.
    type Element: Scalar;
}

macro_rules! counted {
    ($($rule:ident: $element:ident),*) => { $(
        // SAFETY: the types are the same, or the rule is a transparent structure of its element.
        unsafe impl Counted for $rule {
            type Element = $element;
        }
    )* };
}
counted!(u8: u8, Letter: u8, u32: u32, f32: f32, f64: f64);

/// Writes the counts to an output with an element for each bin, without waiting, in the stream of the output's device.
///
/// # Errors
/// Those of [`Plan::new`] and [`Plan::launch`].
pub fn count_into<'a, S: Counted>(
    input: impl Into<View<'a, S::Element>>,
    bins: Bins<S>,
    counts: impl Into<ViewMut<'a, u64>>,
) -> Result<()> {
    let (input, counts) = (input.into(), counts.into());
    Plan::<S>::new(counts.device(), input.len(), bins, Tuning::default())?.launch(input, counts)
}

fn histogram<S: Counted>(device: &Device, input: View<'_, S::Element>, bins: Bins<S>) -> Result<Buffer<u64>> {
    let mut counts = device.uninit::<u64>(bins.count as usize)?;
    count_into(input, bins, &mut counts)?;
    Ok(counts)
}

/// A histogram of a number of elements by the rule `S`, with its kernel, launch configuration and scratch memory. It
/// can be launched any number of times, without further allocations.
pub struct Plan<S, H: Handle = Device> {
    n: usize,
    bins: Bins<S>,
    config: Config,
    /// These are 0 between launches.
    totals: Memory<u64, H>,
    /// The ticket, which is 0 between launches.
    ticket: Memory<u32, H>,
}

impl<S: Counted, H: Handle> Plan<S, H> {
    /// Plans the count of `n` elements; the number of blocks of the tuning is rounded to whole groups of blocks that
    /// count the same elements.
    ///
    /// # Errors
    /// [`Error::Argument`] for 0 bins, for more elements than a block's 32-bit counters can count, for a tuning that
    /// the kernel does not support, [`Error::OutOfMemory`] if the device has less memory free.
    pub fn new(device: &H, n: usize, bins: Bins<S>, tuning: Tuning) -> Result<Self> {
        if bins.count == 0 {
            return Err(Error::Argument("a histogram has at least one bin".to_owned()));
        }
        let config = Config::new::<S>(device.backend().info(), bins.count, n as u64, tuning)?;
        let totals = if config.by_lane { bins.count as usize } else { 0 };
        Ok(Self {
            n,
            bins,
            config,
            totals: Memory::zeros(device.clone(), totals, "totals")?,
            ticket: Memory::zeros(device.clone(), 1, "ticket")?,
        })
    }

    /// Whether the counts must be 0 before the launch of [`Plan::prepare`], which adds to them.
    pub fn adds(&self) -> bool {
        !self.config.by_lane || self.n == 0
    }

    /// The launch that counts the elements of the input. Without elements it does nothing.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for memory of another length, [`Error::OtherDevice`] for memory of another device.
    pub fn prepare<'a>(
        &'a self,
        input: impl Into<View<'a, S::Element, H>>,
        counts: impl Into<View<'a, u64, H>>,
    ) -> Result<Launch<'a>> {
        let (device, input, counts) = (self.ticket.device(), input.into(), counts.into());
        input.require(device, self.n, "the input")?;
        counts.require_output(device, self.bins.count as usize, &[input.span()])?;
        let Config { block, grid, window, shared, by_lane } = self.config;
        let uses = [input.reads(), self.totals.writes(), self.ticket.writes(), counts.writes()];
        // SAFETY: the memory lives as long as the buffer, and `S` has the representation of its elements.
        let input = unsafe { Slice::<S>::new(input.address(), self.n) };
        let totals = [self.totals.ptr(), counts.ptr()];
        let [lanes, windows] = calls(input, (self.bins.count, self.bins.range), window, totals, self.ticket.ptr());
        let call = if by_lane { lanes } else { windows };
        // SAFETY: the configuration has whole warps, the shared memory for its window, a grid of whole groups, and no
        // block more elements than 32 bits can count; totals and ticket are 0 before the first launch, and the kernel
        // leaves them so.
        let launch = unsafe { Launch::new(call, Shape::linear(grid, block).with_shared(shared)) };
        Ok(launch.using(uses))
    }
}

impl<S: Counted> Plan<S> {
    /// Starts the count of the input's elements, which overwrites the counts, in stream order.
    ///
    /// # Errors
    /// Those of [`Plan::prepare`], [`Error::NoPtx`] if the kernels are not built, and the errors of the device.
    pub fn launch<'a>(
        &self,
        input: impl Into<View<'a, S::Element>>,
        counts: impl Into<ViewMut<'a, u64>>,
    ) -> Result<()> {
        let (input, mut counts) = (input.into(), counts.into());
        // The operands are checked before anything is written.
        self.prepare(input, counts.as_view())?;
        if self.adds() {
            counts.fill(0)?;
        }
        self.ticket.device().run(&library::HISTOGRAM, &self.prepare(input, counts.as_view())?)
    }
}

/// Default number of threads per block for this number of bins.
pub fn default_block(info: &DeviceInfo, bins: u32) -> u32 {
    if bins <= LANE_BINS { lanes::BLOCK } else { windows::BLOCK.min(info.max_block) }
}

/// Kernel and configuration of the launch of one histogram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Config {
    /// Threads per block: a multiple of 32.
    block: u32,
    /// Number of blocks; 0 for an empty input.
    grid: u32,
    /// Number of bins that a block counts in shared memory at the same time.
    window: u32,
    /// Bytes of dynamic shared memory.
    shared: u32,
    /// Whether each lane has its own counters and the kernel overwrites the counts; otherwise it adds to them.
    by_lane: bool,
}

impl Config {
    /// Chooses kernel and configuration for `n` elements in `bins` bins, which are not 0.
    fn new<S: Sample>(info: &DeviceInfo, bins: u32, n: u64, tuning: Tuning) -> Result<Self> {
        let by_lane = bins <= LANE_BINS;
        let block = tuning.whole_warps(default_block(info, bins), info)?;
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
        let groups = match tuning.blocks()? {
            Some(grid) => u64::from(grid / blocks_per_group).max(1),
            None => enough.clamp(1, most),
        };
        // A group's share is n / groups plus at most one round of its threads.
        let round = u64::from(block) * vector * windows::UNROLL as u64;
        if n.div_ceil(groups) + round > u64::from(u32::MAX) {
            return Err(Error::Argument(format!(
                "{n} elements in {groups} blocks are more than a block's 32-bit counters can count: count them in parts"
            )));
        }
        let grid = if n == 0 { 0 } else { groups as u32 * blocks_per_group };
        Ok(Self { block, grid, window, shared, by_lane })
    }
}

/// The two kernels: for few bins, and for many. It is public for the ladders, which list their entries.
#[doc(hidden)]
pub fn calls<'a, S: Sample>(
    input: Slice<'a, S>,
    (count, range): (u32, [f64; 3]),
    window: u32,
    [totals, counts]: [PtrMut<'a, u64>; 2],
    ticket: PtrMut<'a, u32>,
) -> [Call<'a>; 2] {
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
    pub fn histogram<'a, T: Key>(&self, input: impl Into<View<'a, T>>, bins: u32) -> Result<Buffer<u64>> {
        let input = input.into();
        input.require_on(self, "the input")?;
        histogram(self, input, Bins::<T>::keys(bins))
    }

    /// [`of_letters`] of a text in a buffer of this device.
    ///
    /// # Errors
    /// Those of [`Device::histogram`].
    pub fn histogram_of_letters<'a>(&self, text: impl Into<View<'a, u8>>) -> Result<Buffer<u64>> {
        let text = text.into();
        text.require_on(self, "the text")?;
        histogram(self, text, Bins::letters())
    }

    /// [`of_range`] of a buffer of this device.
    ///
    /// # Errors
    /// [`Error::OtherDevice`] for a buffer of another device, and those of [`of_range`].
    pub fn histogram_of_range<'a, T: Cut>(
        &self,
        input: impl Into<View<'a, T>>,
        bins: u32,
        range: Range<T>,
    ) -> Result<Buffer<u64>> {
        let input = input.into();
        input.require_on(self, "the input")?;
        histogram(self, input, cut(range, bins)?)
    }
}
