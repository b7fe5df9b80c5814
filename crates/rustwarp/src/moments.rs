//! Mean and variance in one pass over the elements, of any element type, in f64.
//!
//! The variance is that of the elements, the mean square distance from their mean; that of a population of which they
//! are a sample is estimated by `n / (n - 1)` times as much. NaN or an infinity among the elements gives NaN for both.
//!
//! - *Error bound*: let `d` be [`Plan::depth`], `epsilon` that of f64, and `s` the distance of the first element from
//!   the mean. The mean differs from the exact one by at most `epsilon * (|mean| + (d + 2) * (mean distance from the
//!   first element))`, the variance by at most `3 * (d + 3) * epsilon * (variance + s^2)`. Elements of i64 and u64 are
//!   rounded to f64 first.
//! - *Determinism*: bits fixed by length and grid: the same on every run on devices with the same number of
//!   multiprocessors, where the first elements have the same places between 16-byte boundaries.
//! - *Source*: T. Chan, G. Golub, R. LeVeque, "Algorithms for Computing the Sample Variance" (1983), with sums of
//!   distances from the first element. The kernel is `kernels_gpu::reduce::moments`.

use crate::backend::{Handle, Memory, View, ViewMut};
use crate::device::{Device, VALUE};
use crate::element::Element;
use crate::error::Result;
use crate::launch::{LastBlock, Launch, Tuned, Tuning};
use crate::pending::Pending;
use crate::ptx::library;
use kernels_gpu::reduce::{best, moments};
use std::marker::PhantomData;

/// Mean and variance of some elements.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct MeanVariance {
    /// The mean.
    pub mean: f64,
    /// The mean square distance from the mean.
    pub variance: f64,
}

/// Mean and variance of all elements; `None` for an empty input.
///
/// # Errors
/// [`Error::NoPtx`](crate::Error::NoPtx) if the kernels are not built, and the errors of the device.
pub fn mean_variance<'a, T: Element>(input: impl Into<View<'a, T>>) -> Result<Option<MeanVariance>> {
    let input = input.into();
    on(input.device(), input)
}

/// Writes the mean and the variance to the output of two elements, without waiting, in the stream of the output's
/// device; NaN for an empty input.
///
/// # Errors
/// [`Error::Mismatch`](crate::Error::Mismatch) for an output of another length,
/// [`Error::OtherDevice`](crate::Error::OtherDevice) for an input of another device, and those of [`mean_variance`].
pub fn mean_variance_into<'a, T: Element>(
    input: impl Into<View<'a, T>>,
    output: impl Into<ViewMut<'a, f64>>,
) -> Result<()> {
    let (input, output) = (input.into(), output.into());
    Plan::<T>::new(output.device(), input.len(), Tuning::default())?.launch(input, output)
}

fn on<T: Element>(device: &Device, input: View<'_, T>) -> Result<Option<MeanVariance>> {
    device.refuse_in_capture(VALUE)?;
    let mut output = device.uninit::<f64>(2)?;
    mean_variance_into(input, &mut output)?;
    Ok(found(input.len(), &output.read(2)?))
}

fn on_async<T: Element>(device: &Device, input: View<'_, T>) -> Result<Pending<Option<MeanVariance>>> {
    input.require_on(device, "the input")?;
    device.refuse_in_capture(VALUE)?;
    let (n, mut output) = (input.len(), device.uninit::<f64>(2)?);
    mean_variance_into(input, &mut output)?;
    device.fetch((&output).into(), move |values| found(n, values))
}

/// The result for `n` elements.
fn found(n: usize, values: &[f64]) -> Option<MeanVariance> {
    (n > 0).then(|| MeanVariance { mean: values[0], variance: values[1] })
}

/// The mean and variance of a number of elements of `T`, with its launch configuration and scratch memory. It can be
/// launched any number of times, without further allocations.
pub struct Plan<T, H: Handle = Device> {
    n: usize,
    config: LastBlock,
    partials: Memory<moments::Sums, H>,
    /// The ticket, which is 0 between launches.
    ticket: Memory<u32, H>,
    element: PhantomData<T>,
}

impl<T: Element, H: Handle> Plan<T, H> {
    /// Plans the mean and variance of `n` elements.
    ///
    /// # Errors
    /// [`Error::Argument`](crate::Error::Argument) for a tuning that the kernel does not support,
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) if the device has less memory free.
    pub fn new(device: &H, n: usize, tuning: Tuning) -> Result<Self> {
        let tuned = Tuned { block: moments::BLOCK, blocks_per_sm: moments::BLOCKS_PER_SM, alone: 0 };
        let per_thread = best::per_thread(size_of::<T>());
        let config = LastBlock::new(device.backend().info(), n as u64, per_thread, tuned, tuning)?;
        Ok(Self {
            n,
            config,
            partials: Memory::uninit(device.clone(), config.grid as usize, "partial sums")?,
            ticket: Memory::zeros(device.clone(), 1, "ticket")?,
            element: PhantomData,
        })
    }

    /// Largest number of additions in a chain from an element to the result.
    pub fn depth(&self) -> u64 {
        self.config.depth
    }

    /// The launch that writes the mean and the variance of the input to the output, which has two elements. Without
    /// elements it does nothing.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) for memory of another length,
    /// [`Error::OtherDevice`](crate::Error::OtherDevice) for memory of another device.
    pub fn prepare<'a>(
        &'a self,
        input: impl Into<View<'a, T, H>>,
        output: impl Into<View<'a, f64, H>>,
    ) -> Result<Launch<'a>> {
        let (device, input, output) = (self.ticket.device(), input.into(), output.into());
        input.require(device, self.n, "the input")?;
        output.require_output(device, 2, &[input.span()])?;
        let (partials, ticket) = (self.partials.ptr(), self.ticket.ptr());
        let call = moments::reduce_mean_variance::<T>(input.slice(self.n), partials, ticket, output.ptr());
        // SAFETY: whole warps, which are none without elements; a partial result per block, and a ticket that is 0 and
        // that every launch leaves at 0.
        let launch = unsafe { Launch::new(call, self.config.shape()) };
        Ok(launch.using([input.reads(), self.partials.writes(), self.ticket.writes(), output.writes()]))
    }
}

impl<T: Element> Plan<T> {
    /// Starts the reduction, which writes the mean and the variance to the output of two elements, in stream order; NaN
    /// without elements.
    ///
    /// # Errors
    /// Those of [`Plan::prepare`], [`Error::NoPtx`](crate::Error::NoPtx) if the kernels are not built, and the errors
    /// of the device.
    pub fn launch<'a>(&self, input: impl Into<View<'a, T>>, output: impl Into<ViewMut<'a, f64>>) -> Result<()> {
        let (input, mut output) = (input.into(), output.into());
        let launch = self.prepare(input, output.as_view())?;
        match self.n {
            0 => output.copy_from(&self.ticket.device().upload(&[f64::NAN; 2])?),
            _ => self.ticket.device().run(&library::REDUCE, &launch),
        }
    }
}

impl Device {
    /// [`mean_variance`] of a buffer of this device.
    ///
    /// # Errors
    /// [`Error::OtherDevice`](crate::Error::OtherDevice) for a buffer of another device, and those of
    /// [`mean_variance`].
    pub fn mean_variance<'a, T: Element>(&self, input: impl Into<View<'a, T>>) -> Result<Option<MeanVariance>> {
        let input = input.into();
        input.require_on(self, "the input")?;
        on(self, input)
    }

    /// Starts [`mean_variance`], whose result is awaited.
    ///
    /// # Errors
    /// Those of [`Device::mean_variance`].
    pub fn mean_variance_async<'a, T: Element>(
        &self,
        input: impl Into<View<'a, T>>,
    ) -> Result<Pending<Option<MeanVariance>>> {
        on_async(self, input.into())
    }
}
