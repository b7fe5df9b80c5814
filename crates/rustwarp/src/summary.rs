//! Sum, mean, variance, minimum and maximum in one read of the elements, of any element type.
//!
//! The variance is that of the elements, the mean square distance from their mean; that of a population of which they
//! are a sample is estimated by `n / (n - 1)` times as much. NaN or an infinity among the elements gives NaN for the
//! sum, the mean and the variance; numbers of f64 whose distances or squares of distances exceed its range give NaN or
//! an infinity. The extremes are those of [`max`](crate::reduce::max) and [`min`](crate::reduce::min).
//!
//! - *Error bound*: let `d` be [`Plan::depth`], `epsilon` that of f64, and `s` the distance of the first element from
//!   the mean. The mean differs from the exact one by at most `epsilon * (|mean| + (d + 2) * (mean distance from the
//!   first element))`, the sum by `n` times as much plus `epsilon * n * |first element|`, the variance by at most
//!   `3 * (d + 3) * epsilon * (variance + s^2)`. Elements of i64 and u64 are rounded to f64 before, which changes each
//!   by at most `epsilon / 2` of itself; these errors come on top. The extremes are exact.
//! - *Determinism*: bits fixed by length and grid: the same on every run on devices with the same number of
//!   multiprocessors, where the first elements have the same places between 16-byte boundaries.
//! - *Source*: T. Chan, G. Golub, R. LeVeque, "Algorithms for Computing the Sample Variance" (1983), with sums of
//!   distances from the first element. The kernel is `kernels_gpu::reduce::summary`.

use crate::backend::{DeviceInfo, Handle, Memory, View, ViewMut};
use crate::device::{Device, VALUE};
use crate::element::Element;
use crate::error::{Error, Result};
use crate::launch::{LastBlock, Launch, Tuned, Tuning};
use crate::pending::Pending;
use crate::ptx::library;
use kernels_gpu::reduce::{best, summary as kernel};
use std::marker::PhantomData;

pub use kernel::Summary;

/// Sum, mean, variance, minimum and maximum of all elements; `None` for an empty input.
///
/// # Errors
/// [`Error::NoPtx`] if the kernels are not built, and the errors of the device.
pub fn summary<'a, T: Element>(input: impl Into<View<'a, T>>) -> Result<Option<Summary<T>>> {
    let input = input.into();
    on(input.device(), input)
}

/// Writes the summary to the output of one element, without waiting, in the stream of the output's device;
/// [`Summary::NONE`] for an empty input.
///
/// # Errors
/// [`Error::Mismatch`] for an output of another length,
/// [`Error::OtherDevice`] for an input of another device, and those of [`summary`].
pub fn summary_into<'a, T: Element>(
    input: impl Into<View<'a, T>>,
    output: impl Into<ViewMut<'a, Summary<T>>>,
) -> Result<()> {
    let (input, output) = (input.into(), output.into());
    Plan::<T>::new(output.device(), input.len(), Tuning::default())?.launch(input, output)
}

fn on<T: Element>(device: &Device, input: View<'_, T>) -> Result<Option<Summary<T>>> {
    device.refuse_in_capture(VALUE)?;
    let mut output = device.uninit::<Summary<T>>(1)?;
    summary_into(input, &mut output)?;
    Ok((!input.is_empty()).then_some(output.read(1)?[0]))
}

fn on_async<T: Element>(device: &Device, input: View<'_, T>) -> Result<Pending<Option<Summary<T>>>> {
    input.require_on(device, "the input")?;
    device.refuse_in_capture(VALUE)?;
    let (some, mut output) = (!input.is_empty(), device.uninit::<Summary<T>>(1)?);
    summary_into(input, &mut output)?;
    device.fetch((&output).into(), move |found| some.then_some(found[0]))
}

/// Bytes of memory that [`Plan::new`] takes.
///
/// # Errors
/// Those of [`Plan::new`].
pub fn scratch_bytes<T: Element>(info: &DeviceInfo, n: usize, tuning: Tuning) -> Result<u64> {
    Ok(config::<T>(info, n, tuning)?.scratch_bytes::<kernel::Partial<T>>())
}

fn config<T: Element>(info: &DeviceInfo, n: usize, tuning: Tuning) -> Result<LastBlock> {
    if let Some(block) = tuning.block.filter(|block| *block > kernel::MOST_THREADS) {
        let most = kernel::MOST_THREADS;
        return Err(Error::Argument(format!(
            "a block has registers for at most {most} threads of this kernel, not {block}"
        )));
    }
    let blocks_per_sm = kernel::blocks_per_sm(size_of::<T>(), T::DTYPE.is_float());
    let tuned = Tuned { block: kernel::BLOCK, blocks_per_sm, alone: 0 };
    LastBlock::new(info, n as u64, best::per_thread(size_of::<T>()), tuned, tuning)
}

/// The summary of a number of elements of `T`, with its launch configuration and scratch memory. It can be launched any
/// number of times, without further allocations.
pub struct Plan<T: Element, H: Handle = Device> {
    n: usize,
    config: LastBlock,
    /// The [words](LastBlock::words) of the launch, which are 0 between launches.
    words: Memory<u64, H>,
    element: PhantomData<T>,
}

impl<T: Element, H: Handle> Plan<T, H> {
    /// Plans the summary of `n` elements.
    ///
    /// # Errors
    /// [`Error::Argument`] for a tuning that the kernel does not support,
    /// [`Error::OutOfMemory`] if the device has less memory free.
    pub fn new(device: &H, n: usize, tuning: Tuning) -> Result<Self> {
        let config = config::<T>(device.backend().info(), n, tuning)?;
        Ok(Self {
            n,
            config,
            words: Memory::zeros(device.clone(), config.words::<kernel::Partial<T>>(), "records")?,
            element: PhantomData,
        })
    }

    /// Largest number of additions in a chain from an element to the result.
    pub fn depth(&self) -> u64 {
        self.config.depth
    }

    /// The launch that writes the summary of the input to the output, which has one element. Without elements it does
    /// nothing.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for memory of another length,
    /// [`Error::OtherDevice`] for memory of another device.
    pub fn prepare<'a>(
        &'a self,
        input: impl Into<View<'a, T, H>>,
        output: impl Into<View<'a, Summary<T>, H>>,
    ) -> Result<Launch<'a>> {
        let (device, input, output) = (self.words.device(), input.into(), output.into());
        input.require(device, self.n, "the input")?;
        output.require_output(device, 1, &[input.span()])?;
        let call = kernel::reduce_summary::<T>(input.slice(self.n), self.words.ptr(), output.ptr());
        // SAFETY: whole warps, which are none without elements, and the words for these blocks, which are 0 and which
        // every launch leaves at 0.
        let launch = unsafe { Launch::new(call, self.config.shape()) };
        Ok(launch.using([input.reads(), self.words.writes(), output.writes()]))
    }
}

impl<T: Element> Plan<T> {
    /// Starts the reduction, which writes to the output, in stream order; [`Summary::NONE`] without elements.
    ///
    /// # Errors
    /// Those of [`Plan::prepare`], [`Error::NoPtx`] if the kernels are not built, and the errors
    /// of the device.
    pub fn launch<'a>(&self, input: impl Into<View<'a, T>>, output: impl Into<ViewMut<'a, Summary<T>>>) -> Result<()> {
        let (input, mut output) = (input.into(), output.into());
        let launch = self.prepare(input, output.as_view())?;
        match self.n {
            0 => output.copy_from(&self.words.device().upload(&[Summary::NONE])?),
            _ => self.words.device().run(&library::REDUCE, &launch),
        }
    }
}

impl Device {
    /// [`summary`] of a buffer of this device.
    ///
    /// # Errors
    /// [`Error::OtherDevice`] for a buffer of another device, and those of [`summary`].
    pub fn summary<'a, T: Element>(&self, input: impl Into<View<'a, T>>) -> Result<Option<Summary<T>>> {
        let input = input.into();
        input.require_on(self, "the input")?;
        on(self, input)
    }

    /// Starts [`summary`], whose result is awaited.
    ///
    /// # Errors
    /// Those of [`Device::summary`].
    pub fn summary_async<'a, T: Element>(&self, input: impl Into<View<'a, T>>) -> Result<Pending<Option<Summary<T>>>> {
        on_async(self, input.into())
    }
}
