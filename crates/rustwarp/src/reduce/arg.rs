//! Where the maximum or minimum is.

use super::{Max, Min, Op, config};
#[cfg(doc)]
use super::{Plan, sum};
use crate::backend::{Handle, Memory, View, ViewMut};
use crate::device::{Device, VALUE};
use crate::element::Element;
use crate::error::Result;
use crate::launch::{LastBlock, Launch, Tuned, Tuning};
use crate::pending::Pending;
use crate::ptx::library;
use kernels_gpu::reduce::arg::{Arg, BLOCK, NOWHERE, reduce_arg};
use kernels_gpu::reduce::best;
use std::marker::PhantomData;

/// Index of the first largest element; `None` for an empty input. The first NaN counts as the largest.
///
/// # Errors
/// Those of [`sum`].
pub fn argmax<'a, T: Element>(input: impl Into<View<'a, T>>) -> Result<Option<u64>> {
    let input = input.into();
    arg::<Max, T>(input.device(), input)
}

/// Index of the first smallest element; `None` for an empty input. The first NaN counts as the smallest.
///
/// # Errors
/// Those of [`sum`].
pub fn argmin<'a, T: Element>(input: impl Into<View<'a, T>>) -> Result<Option<u64>> {
    let input = input.into();
    arg::<Min, T>(input.device(), input)
}

/// Writes the index of [`argmax`] to the output of one element, without waiting; 2^64 - 1 for an empty input.
///
/// # Errors
/// Those of [`Plan::launch`].
pub fn argmax_into<'a, T: Element>(input: impl Into<View<'a, T>>, output: impl Into<ViewMut<'a, u64>>) -> Result<()> {
    arg_into::<Max, T>(input.into(), output.into())
}

/// Writes the index of [`argmin`] to the output of one element, without waiting; 2^64 - 1 for an empty input.
///
/// # Errors
/// Those of [`Plan::launch`].
pub fn argmin_into<'a, T: Element>(input: impl Into<View<'a, T>>, output: impl Into<ViewMut<'a, u64>>) -> Result<()> {
    arg_into::<Min, T>(input.into(), output.into())
}

fn arg<O: Op<T>, T: Element>(device: &Device, input: View<'_, T>) -> Result<Option<u64>> {
    device.refuse_in_capture(VALUE)?;
    let mut output = device.uninit::<u64>(1)?;
    arg_into::<O, T>(input, (&mut output).into())?;
    let index = output.read(1)?[0];
    Ok((index != NOWHERE).then_some(index))
}

fn arg_async<O: Op<T>, T: Element>(device: &Device, input: View<'_, T>) -> Result<Pending<Option<u64>>> {
    input.require_on(device, "the input")?;
    device.refuse_in_capture(VALUE)?;
    let mut output = device.uninit::<u64>(1)?;
    arg_into::<O, T>(input, (&mut output).into())?;
    device.fetch((&output).into(), |index| (index[0] != NOWHERE).then_some(index[0]))
}

fn arg_into<O: Op<T>, T: Element>(input: View<'_, T>, output: ViewMut<'_, u64>) -> Result<()> {
    ArgPlan::<O, T>::new(output.device(), input.len(), Tuning::default())?.launch(input, output)
}

/// A search for the first maximum or minimum, depending on `O`, among a number of elements of `T`, with its launch
/// configuration and scratch memory. It can be launched any number of times, without further allocations.
pub struct ArgPlan<O, T, H: Handle = Device> {
    n: usize,
    config: LastBlock,
    /// The [words](LastBlock::words) of the launch, which are 0 between launches.
    words: Memory<u64, H>,
    operation: PhantomData<(O, T)>,
}

impl<O: Op<T>, T: Element, H: Handle> ArgPlan<O, T, H> {
    /// Plans a search among `n` elements.
    ///
    /// # Errors
    /// Those of [`Plan::new`].
    pub fn new(device: &H, n: usize, tuning: Tuning) -> Result<Self> {
        let tuned = Tuned { block: BLOCK, blocks_per_sm: best::BLOCKS_PER_SM, alone: 0 };
        let config = config::<T>(device.backend().info(), n, tuned, tuning)?;
        let words = config.words::<Arg<T>>();
        Ok(Self { n, config, words: Memory::zeros(device.clone(), words, "records")?, operation: PhantomData })
    }

    /// The launch that writes the index to the output, which has one element. Without elements it does nothing.
    ///
    /// # Errors
    /// Those of [`Plan::prepare`].
    pub fn prepare<'a>(
        &'a self,
        input: impl Into<View<'a, T, H>>,
        output: impl Into<View<'a, u64, H>>,
    ) -> Result<Launch<'a>> {
        let (device, input, output) = (self.words.device(), input.into(), output.into());
        input.require(device, self.n, "the input")?;
        output.require_output(device, 1, &[input.span()])?;
        let call = reduce_arg::<O, T>(input.slice(self.n), self.words.ptr(), output.ptr());
        // SAFETY: whole warps, and the words for these blocks, which are 0 and which every launch leaves at 0.
        let launch = unsafe { Launch::new(call, self.config.shape()) };
        Ok(launch.using([input.reads(), self.words.writes(), output.writes()]))
    }
}

impl<O: Op<T>, T: Element> ArgPlan<O, T> {
    /// Starts the search, which writes the index to the output, in stream order; 2^64 - 1 without elements.
    ///
    /// # Errors
    /// Those of [`Plan::launch`].
    pub fn launch<'a>(&self, input: impl Into<View<'a, T>>, output: impl Into<ViewMut<'a, u64>>) -> Result<()> {
        let (input, mut output) = (input.into(), output.into());
        let launch = self.prepare(input, output.as_view())?;
        match self.n {
            0 => output.copy_from(&self.words.device().upload(&[NOWHERE])?),
            _ => self.words.device().run(&library::REDUCE, &launch),
        }
    }
}

impl Device {
    /// [`argmax`] of a buffer of this device.
    ///
    /// # Errors
    /// Those of [`Device::sum`].
    pub fn argmax<'a, T: Element>(&self, input: impl Into<View<'a, T>>) -> Result<Option<u64>> {
        let input = input.into();
        input.require_on(self, "the input")?;
        arg::<Max, T>(self, input)
    }

    /// Starts [`argmax`], whose result is awaited.
    ///
    /// # Errors
    /// Those of [`Device::sum`].
    pub fn argmax_async<'a, T: Element>(&self, input: impl Into<View<'a, T>>) -> Result<Pending<Option<u64>>> {
        arg_async::<Max, T>(self, input.into())
    }

    /// [`argmin`] of a buffer of this device.
    ///
    /// # Errors
    /// Those of [`Device::sum`].
    pub fn argmin<'a, T: Element>(&self, input: impl Into<View<'a, T>>) -> Result<Option<u64>> {
        let input = input.into();
        input.require_on(self, "the input")?;
        arg::<Min, T>(self, input)
    }

    /// Starts [`argmin`], whose result is awaited.
    ///
    /// # Errors
    /// Those of [`Device::sum`].
    pub fn argmin_async<'a, T: Element>(&self, input: impl Into<View<'a, T>>) -> Result<Pending<Option<u64>>> {
        arg_async::<Min, T>(self, input.into())
    }
}
