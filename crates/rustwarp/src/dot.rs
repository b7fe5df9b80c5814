//! Dot product: the sum of `a[i] * b[i]`, of floats.
//!
//! NaN in, NaN out, and infinity times 0 is NaN. Vectors without elements give 0.
//!
//! - *Error bound*: `d * epsilon * sum of |a[i] * b[i]|`, where `d` is [`Plan::depth`], and half the smallest positive
//!   number of the type for each product that underflows.
//! - *Determinism*: bits fixed by length and grid: the same on every run on devices with the same number of
//!   multiprocessors, where the first elements have the same places between 16-byte boundaries.
//! - *Source*: those of [`reduce`](mod@crate::reduce). The kernel is `kernels_gpu::dot::best`.

use crate::backend::{DeviceInfo, Handle, Memory, View, ViewMut};
use crate::device::{Device, VALUE};
use crate::element::Element;
use crate::error::{Error, Result};
use crate::launch::{LastBlock, Launch, Tuned, Tuning};
use crate::pending::Pending;
use crate::ptx::library;
use kernels_gpu::dot::best;
use std::marker::PhantomData;

/// The types that have kernels.
pub use kernels_gpu::dot::Real;

/// Dot product of two vectors of equal length.
///
/// # Errors
/// [`Error::Mismatch`] for unequal lengths, [`Error::OtherDevice`] for buffers of two devices, [`Error::NoPtx`] if the
/// kernels are not built, and the errors of the device.
pub fn dot<'a, T: Element + Real>(a: impl Into<View<'a, T>>, b: impl Into<View<'a, T>>) -> Result<T> {
    let (a, b) = (a.into(), b.into());
    dot_on(a.device(), a, b)
}

/// Writes the product of two vectors of equal length to the output of one element, without waiting, in the stream of
/// the output's device.
///
/// # Errors
/// Those of [`dot()`].
pub fn dot_into<'a, T: Element + Real>(
    a: impl Into<View<'a, T>>,
    b: impl Into<View<'a, T>>,
    output: impl Into<ViewMut<'a, T>>,
) -> Result<()> {
    let (a, b, output) = (a.into(), b.into(), output.into());
    let (device, n) = (output.device(), a.len());
    b.require_on(device, "the second vector")?;
    if n != b.len() {
        return Err(Error::Mismatch(format!("a dot product takes two vectors of one length, not {n} and {}", b.len())));
    }
    Plan::<T>::new(device, n, Tuning::default())?.launch([a, b], output)
}

fn dot_on<T: Element + Real>(device: &Device, a: View<'_, T>, b: View<'_, T>) -> Result<T> {
    device.refuse_in_capture(VALUE)?;
    let mut output = device.uninit::<T>(1)?;
    dot_into(a, b, &mut output)?;
    Ok(output.read(1)?[0])
}

/// A dot product of vectors with a number of elements of `T`, with its launch configuration and scratch memory. It can
/// be launched any number of times, without further allocations.
pub struct Plan<T, H: Handle = Device> {
    n: usize,
    config: LastBlock,
    /// The [words](LastBlock::words) of the launch, which are 0 between launches.
    words: Memory<u64, H>,
    element: PhantomData<T>,
}

impl<T: Element + Real, H: Handle> Plan<T, H> {
    /// Plans a product of vectors of `n` elements.
    ///
    /// # Errors
    /// [`Error::Argument`] for a tuning that the kernel does not support, [`Error::OutOfMemory`] if the device has less
    /// memory free.
    pub fn new(device: &H, n: usize, tuning: Tuning) -> Result<Self> {
        let config = config::<T>(device.backend().info(), n, tuning)?;
        Ok(Self {
            n,
            config,
            words: Memory::zeros(device.clone(), config.words::<T>(), "records")?,
            element: PhantomData,
        })
    }

    /// Largest number of additions in a chain from a product to the result.
    pub fn depth(&self) -> u64 {
        self.config.depth
    }

    /// The launch that writes the product to the output, which has one element. Without elements it does nothing.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for memory of another length, [`Error::OtherDevice`] for memory of another device.
    pub fn prepare<'a>(
        &'a self,
        [a, b]: [impl Into<View<'a, T, H>>; 2],
        output: impl Into<View<'a, T, H>>,
    ) -> Result<Launch<'a>> {
        let (device, a, b, output) = (self.words.device(), a.into(), b.into(), output.into());
        a.require(device, self.n, "the first vector")?;
        b.require(device, self.n, "the second vector")?;
        output.require_output(device, 1, &[a.span(), b.span()])?;
        let call = best::dot_best::<T>(a.slice(self.n), b.slice(self.n), self.words.ptr(), output.ptr());
        // SAFETY: whole warps, and the words for these blocks, which are 0 and which every launch leaves at 0.
        let launch = unsafe { Launch::new(call, self.config.shape()) };
        Ok(launch.using([a.reads(), b.reads(), self.words.writes(), output.writes()]))
    }
}

impl<T: Element + Real> Plan<T> {
    /// Starts the product, which is written to the output of one element, in stream order.
    ///
    /// # Errors
    /// Those of [`Plan::prepare`], [`Error::NoPtx`] if the kernels are not built, and the errors of the device.
    pub fn launch<'a>(&self, vectors: [impl Into<View<'a, T>>; 2], output: impl Into<ViewMut<'a, T>>) -> Result<()> {
        let (vectors, mut output): ([View<'_, T>; 2], ViewMut<'_, T>) = (vectors.map(Into::into), output.into());
        let launch = self.prepare(vectors, output.as_view())?;
        match self.n {
            0 => output.copy_from(&self.words.device().upload(&[T::ZERO])?),
            _ => self.words.device().run(&library::DOT, &launch),
        }
    }
}

/// The configuration of a launch for vectors of `n` elements: a thread reads 16 bytes of each in a round.
fn config<T>(info: &DeviceInfo, n: usize, tuning: Tuning) -> Result<LastBlock> {
    let tuned = Tuned {
        block: best::BLOCK,
        blocks_per_sm: best::BLOCKS_PER_SM,
        alone: best::ALONE_BYTES / size_of::<T>() as u64,
    };
    LastBlock::new(info, n as u64, 16 / size_of::<T>() as u32, tuned, tuning)
}

impl Device {
    /// [`dot`] of buffers of this device.
    ///
    /// # Errors
    /// Those of [`dot()`].
    pub fn dot<'a, T: Element + Real>(&self, a: impl Into<View<'a, T>>, b: impl Into<View<'a, T>>) -> Result<T> {
        let (a, b) = (a.into(), b.into());
        a.require_on(self, "the first vector")?;
        dot_on(self, a, b)
    }

    /// Starts [`dot()`], whose result is awaited.
    ///
    /// # Errors
    /// Those of [`dot()`].
    pub fn dot_async<'a, T: Element + Real>(
        &self,
        a: impl Into<View<'a, T>>,
        b: impl Into<View<'a, T>>,
    ) -> Result<Pending<T>> {
        let (a, b): (View<'_, T>, View<'_, T>) = (a.into(), b.into());
        self.refuse_in_capture(VALUE)?;
        let mut output = self.uninit::<T>(1)?;
        dot_into(a, b, &mut output)?;
        self.fetch((&output).into(), |values| values[0])
    }
}
