//! Histograms: the number of elements in each bin, as 64-bit counts.
//!
//! The bin of a `u8` or `u32` is its value; letters have bins of four; floats are counted in the equal parts of a
//! half-open range. [`kernels_gpu::histogram::sample`] defines the bins exactly. Elements that belong to no bin are not
//! counted; an empty input gives zeros. Bytes may be those of interleaved [`Channels`], each with bins of its own.
//!
//! - *Determinism*: counts are exact, and the same on every run and device.
//! - *Source*: privatised counters as in J. Gómez-Luna et al., "An optimized approach to histogram computation on GPU"
//!   (2013). The kernels are `kernels_gpu::histogram::best`.

use crate::backend::{Handle, Memory, Shape, View, ViewMut};
use crate::buffer::Buffer;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::launch::{Launch, Tuning};
use crate::ptx::library;
use config::{Config, Kernel};
use cuda_std::launch::{Call, PtrMut, Slice};
use kernels_gpu::histogram::Sample;
use kernels_gpu::histogram::best::{lanes, windows};
use std::ops::Range;

mod bins;
#[doc(hidden)]
pub mod channels;
mod config;

pub(crate) use bins::cut;
pub use bins::{Bins, Counted, Cut, Key};
pub use channels::Channels;
#[doc(hidden)]
pub use config::default_block;
/// The rule that counts letters in groups of four.
pub use kernels_gpu::histogram::Letter;

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

/// Number of occurrences of each value below `bins` in each counted channel of interleaved ones, such as the colours of
/// pixels. The counts are those of the first channel, then those of the second, and so on: row-major, with a row of
/// `bins` for each counted channel. The last pixel may be incomplete; the channels that it has are counted.
///
/// ```no_run
/// use rustwarp::histogram::{self, Channels};
///
/// let device = rustwarp::Device::default()?;
/// let pixels = device.upload(&[255_u8, 0, 0, /* the next pixel */ 255, 1, 0])?;
/// let counts = histogram::of_channels(&pixels, Channels::RGB, 256)?.download()?;
/// assert_eq!((counts[255], counts[256], counts[256 + 1], counts[512]), (2, 1, 1, 2));
/// # Ok::<(), rustwarp::Error>(())
/// ```
///
/// # Errors
/// [`Error::Argument`] if the device's shared memory is too small for the counters, and those of [`of_keys`].
pub fn of_channels<'a>(input: impl Into<View<'a, u8>>, channels: Channels, bins: u32) -> Result<Buffer<u64>> {
    let input = input.into();
    histogram(input.device(), input, Bins::of_channels(channels, bins))
}

/// Writes the counts to an output with [`Bins::counts`] elements, without waiting, in the stream of the output's
/// device.
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
    let mut counts = device.uninit::<u64>(bins.counts())?;
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
    /// the kernel does not support, for channels whose counters do not fit in shared memory; [`Error::OutOfMemory`] if
    /// the device has less memory free.
    pub fn new(device: &H, n: usize, bins: Bins<S>, tuning: Tuning) -> Result<Self> {
        if bins.count == 0 {
            return Err(Error::Argument("a histogram has at least one bin".to_owned()));
        }
        if u32::try_from(bins.counts()).is_err() {
            return Err(Error::Argument(format!("a histogram has at most {} counts, not {}", u32::MAX, bins.counts())));
        }
        let config = Config::new(device.backend().info(), &bins, n as u64, tuning)?;
        let totals = if config.kernel == Kernel::Windows { 0 } else { bins.counts() };
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
        self.config.kernel == Kernel::Windows || self.n == 0
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
        counts.require_output(device, self.bins.counts(), &[input.span()])?;
        let Config { block, grid, window, shared, kernel } = self.config;
        let uses = [input.reads(), self.totals.writes(), self.ticket.writes(), counts.writes()];
        let (totals, ticket) = ([self.totals.ptr(), counts.ptr()], self.ticket.ptr());
        let call = if let Kernel::Channels { columns } = kernel {
            // SAFETY: the memory lives as long as the buffer, and only bins of bytes have several channels.
            let input = unsafe { Slice::<u8>::new(input.address(), self.n) };
            channels::call(input, (self.bins.channels, columns), self.bins.count, totals, ticket)
        } else {
            // SAFETY: the memory lives as long as the buffer, and `S` has the representation of its elements.
            let input = unsafe { Slice::<S>::new(input.address(), self.n) };
            let [lanes, windows] = calls(input, (self.bins.count, self.bins.range), window, totals, ticket);
            if kernel == Kernel::Lanes { lanes } else { windows }
        };
        // SAFETY: the configuration has whole warps, the shared memory for its counters, a grid of whole groups, and no
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

/// The kernels for one channel: for few bins, and for many. It is public for the ladders, which list their entries.
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

    /// [`of_channels`] of a buffer of this device.
    ///
    /// # Errors
    /// [`Error::OtherDevice`] for a buffer of another device, and those of [`of_channels`].
    pub fn histogram_of_channels<'a>(
        &self,
        input: impl Into<View<'a, u8>>,
        channels: Channels,
        bins: u32,
    ) -> Result<Buffer<u64>> {
        let input = input.into();
        input.require_on(self, "the input")?;
        histogram(self, input, Bins::of_channels(channels, bins))
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
