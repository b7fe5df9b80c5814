//! Reduction: one value from many, by sum, maximum or minimum; and where the maximum or minimum is.
//!
//! Integer sums wrap. NaN in, NaN out, for every operation; the maximum of -0 and +0 is +0, the minimum -0. An empty
//! input gives the identity: 0, the type's lowest value (-inf), its highest value (+inf). Elements of f16 and bf16 are
//! added and compared as f32, and the result is an f32: epsilon below is that of f32.
//!
//! - *Error bound*: a float sum differs from the exact one by at most `d * epsilon * sum of |x|`, where `d` is
//!   [`Plan::depth`], the longest chain of additions; maxima and minima are exact.
//! - *Determinism*: the class of float sums is “bits fixed by length and grid”, and the first element's place between
//!   16-byte boundaries counts, too: the same bits on every run on devices with the same number of multiprocessors.
//!   [`reproducible`](crate::reproducible) has sums with bits fixed by length only.
//! - *Source*: M. Harris, "Optimizing Parallel Reduction in CUDA" (2007), for the tree; D. Merrill and M. Garland,
//!   "Single-pass Parallel Prefix Scan with Decoupled Look-back" (2016), for records of blocks. The kernels are
//!   `kernels_gpu::reduce::{best, arg}`.

use crate::backend::{DeviceInfo, Handle, Memory, View, ViewMut};
use crate::device::{Device, VALUE};
use crate::element::{Summand, require_layout};
use crate::error::Result;
use crate::launch::{LastBlock, Launch, Tuned, Tuning};
use crate::pending::Pending;
use crate::ptx::library;
use cuda_std::launch::Slice;
use kernels_gpu::reduce::best;
use std::marker::PhantomData;

mod arg;

pub use arg::{ArgPlan, argmax, argmax_into, argmin, argmin_into};
/// The operations of plans.
pub use kernels_gpu::reduce::{Max, Min, Op, Sum};

/// Smallest number of elements that a thread reads in one round; types of 16 bits have more.
const PER_THREAD: u32 = 4;

/// Sum of all elements; 0 for an empty input.
///
/// # Errors
/// [`Error::NoPtx`](crate::Error::NoPtx) if the kernels are not built, and the errors of the device.
pub fn sum<'a, T: Summand>(input: impl Into<View<'a, T>>) -> Result<T::Sum> {
    let input = input.into();
    reduce::<Sum, T>(input.device(), input)
}

/// Largest element; the type's lowest value for an empty input.
///
/// # Errors
/// Those of [`sum`].
pub fn max<'a, T: Summand>(input: impl Into<View<'a, T>>) -> Result<T::Sum> {
    let input = input.into();
    reduce::<Max, T>(input.device(), input)
}

/// Smallest element; the type's highest value for an empty input.
///
/// # Errors
/// Those of [`sum`].
pub fn min<'a, T: Summand>(input: impl Into<View<'a, T>>) -> Result<T::Sum> {
    let input = input.into();
    reduce::<Min, T>(input.device(), input)
}

/// Writes the [`sum`] to the output of one element, without waiting. This and the functions below run in the stream of
/// the output's device.
///
/// # Errors
/// Those of [`Plan::launch`].
pub fn sum_into<'a, T: Summand>(input: impl Into<View<'a, T>>, output: impl Into<ViewMut<'a, T::Sum>>) -> Result<()> {
    reduce_into::<Sum, T>(input.into(), output.into())
}

/// Writes the [`max`] to the output of one element, without waiting.
///
/// # Errors
/// Those of [`Plan::launch`].
pub fn max_into<'a, T: Summand>(input: impl Into<View<'a, T>>, output: impl Into<ViewMut<'a, T::Sum>>) -> Result<()> {
    reduce_into::<Max, T>(input.into(), output.into())
}

/// Writes the [`min`] to the output of one element, without waiting.
///
/// # Errors
/// Those of [`Plan::launch`].
pub fn min_into<'a, T: Summand>(input: impl Into<View<'a, T>>, output: impl Into<ViewMut<'a, T::Sum>>) -> Result<()> {
    reduce_into::<Min, T>(input.into(), output.into())
}

fn reduce<O: Op<T::Sum>, T: Summand>(device: &Device, input: View<'_, T>) -> Result<T::Sum> {
    device.refuse_in_capture(VALUE)?;
    let mut output = device.uninit::<T::Sum>(1)?;
    reduce_into::<O, T>(input, (&mut output).into())?;
    Ok(output.read(1)?[0])
}

fn reduce_async<O: Op<T::Sum>, T: Summand>(device: &Device, input: View<'_, T>) -> Result<Pending<T::Sum>> {
    input.require_on(device, "the input")?;
    device.refuse_in_capture(VALUE)?;
    let mut output = device.uninit::<T::Sum>(1)?;
    reduce_into::<O, T>(input, (&mut output).into())?;
    device.fetch((&output).into(), |values| values[0])
}

fn reduce_into<O: Op<T::Sum>, T: Summand>(input: View<'_, T>, output: ViewMut<'_, T::Sum>) -> Result<()> {
    Plan::<O, T>::new(output.device(), input.len(), Tuning::default())?.launch(input, output)
}

/// A reduction of a number of elements of `T` by the operation `O`, with its launch configuration and scratch memory.
/// It can be launched any number of times, without further allocations.
pub struct Plan<O, T: Summand, H: Handle = Device> {
    n: usize,
    config: LastBlock,
    /// The [words](LastBlock::words) of the launch, which are 0 between launches.
    words: Memory<u64, H>,
    operation: PhantomData<fn(T) -> O>,
}

impl<O: Op<T::Sum>, T: Summand, H: Handle> Plan<O, T, H> {
    /// Plans a reduction of `n` elements.
    ///
    /// # Errors
    /// [`Error::Argument`](crate::Error::Argument) for a tuning that the kernel does not support,
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) if the device has less memory free.
    pub fn new(device: &H, n: usize, tuning: Tuning) -> Result<Self> {
        let config = config::<T>(device.backend().info(), n, tuned::<T>(), tuning)?;
        Ok(Self {
            n,
            config,
            words: Memory::zeros(device.clone(), config.words::<T::Sum>(), "records")?,
            operation: PhantomData,
        })
    }

    /// Largest number of additions in a chain from an element to the result.
    pub fn depth(&self) -> u64 {
        self.config.depth
    }

    /// The launch that writes the reduction of the input to the output, which has one element. Without elements it does
    /// nothing.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) for memory of another length,
    /// [`Error::OtherDevice`](crate::Error::OtherDevice) for memory of another device.
    pub fn prepare<'a>(
        &'a self,
        input: impl Into<View<'a, T, H>>,
        output: impl Into<View<'a, T::Sum, H>>,
    ) -> Result<Launch<'a>> {
        let (device, input, output) = (self.words.device(), input.into(), output.into());
        input.require(device, self.n, "the input")?;
        output.require_output(device, 1, &[input.span()])?;
        const { require_layout::<T, <T::Entry as kernels_gpu::number::Entry>::Bits>() };
        // SAFETY: the memory lives as long as the view, which the launch borrows; elements of 16 bits are taken as
        // integers of the same layout.
        let elements = unsafe { Slice::new(input.address(), self.n) };
        let call = best::reduce_best::<O, T::Entry>(elements, self.words.ptr(), output.ptr());
        // SAFETY: whole warps, and the words for these blocks, which are 0 and which every launch leaves at 0.
        let launch = unsafe { Launch::new(call, self.config.shape()) };
        Ok(launch.using([input.reads(), self.words.writes(), output.writes()]))
    }
}

impl<O: Op<T::Sum>, T: Summand> Plan<O, T> {
    /// Starts the reduction of the input into the output, which has one element, in stream order.
    ///
    /// # Errors
    /// Those of [`Plan::prepare`], [`Error::NoPtx`](crate::Error::NoPtx) if the kernels are not built, and the errors
    /// of the device.
    pub fn launch<'a>(&self, input: impl Into<View<'a, T>>, output: impl Into<ViewMut<'a, T::Sum>>) -> Result<()> {
        let (input, mut output) = (input.into(), output.into());
        let launch = self.prepare(input, output.as_view())?;
        match self.n {
            0 => output.copy_from(&self.words.device().upload(&[O::identity()])?),
            _ => self.words.device().run(&library::REDUCE, &launch),
        }
    }
}

/// Bytes of scratch memory of a [`Plan`] for `n` elements of `T`.
///
/// # Errors
/// [`Error::Argument`](crate::Error::Argument) for a tuning that the kernel does not support.
pub fn scratch_bytes<T: Summand>(info: &DeviceInfo, n: usize, tuning: Tuning) -> Result<u64> {
    Ok(config::<T>(info, n, tuned::<T>(), tuning)?.scratch_bytes::<T::Sum>())
}

/// The configuration without overrides, for elements of `T`.
fn tuned<T>() -> Tuned {
    let alone = best::ALONE_BYTES / size_of::<T>() as u64;
    Tuned { block: best::BLOCK, blocks_per_sm: best::BLOCKS_PER_SM, alone }
}

/// The configuration of a launch for `n` elements; see [`Plan`].
fn config<T>(info: &DeviceInfo, n: usize, tuned: Tuned, tuning: Tuning) -> Result<LastBlock> {
    LastBlock::new(info, n as u64, best::per_thread(size_of::<T>()).max(PER_THREAD), tuned, tuning)
}

impl Device {
    /// [`sum`] of a buffer of this device.
    ///
    /// # Errors
    /// [`Error::OtherDevice`](crate::Error::OtherDevice) for a buffer of another device, and those of [`sum`].
    pub fn sum<'a, T: Summand>(&self, input: impl Into<View<'a, T>>) -> Result<T::Sum> {
        let input = input.into();
        input.require_on(self, "the input")?;
        reduce::<Sum, T>(self, input)
    }

    /// Starts [`sum`], whose result is awaited.
    ///
    /// # Errors
    /// Those of [`Device::sum`].
    pub fn sum_async<'a, T: Summand>(&self, input: impl Into<View<'a, T>>) -> Result<Pending<T::Sum>> {
        reduce_async::<Sum, T>(self, input.into())
    }

    /// [`max`] of a buffer of this device.
    ///
    /// # Errors
    /// Those of [`Device::sum`].
    pub fn max<'a, T: Summand>(&self, input: impl Into<View<'a, T>>) -> Result<T::Sum> {
        let input = input.into();
        input.require_on(self, "the input")?;
        reduce::<Max, T>(self, input)
    }

    /// Starts [`max`], whose result is awaited.
    ///
    /// # Errors
    /// Those of [`Device::sum`].
    pub fn max_async<'a, T: Summand>(&self, input: impl Into<View<'a, T>>) -> Result<Pending<T::Sum>> {
        reduce_async::<Max, T>(self, input.into())
    }

    /// [`min`] of a buffer of this device.
    ///
    /// # Errors
    /// Those of [`Device::sum`].
    pub fn min<'a, T: Summand>(&self, input: impl Into<View<'a, T>>) -> Result<T::Sum> {
        let input = input.into();
        input.require_on(self, "the input")?;
        reduce::<Min, T>(self, input)
    }

    /// Starts [`min`], whose result is awaited.
    ///
    /// # Errors
    /// Those of [`Device::sum`].
    pub fn min_async<'a, T: Summand>(&self, input: impl Into<View<'a, T>>) -> Result<Pending<T::Sum>> {
        reduce_async::<Min, T>(self, input.into())
    }
}
