//! The highest and the lowest bit that is set in any of many integers.
//!
//! Bits are numbered from 0, the lowest one. Negative numbers are two's complements: their highest bit is the sign.
//! Where no bit is set, because there are no elements or all are 0, there is no result: `None`, and [`NONE`] in memory.
//!
//! - *Determinism*: exact, in any order.
//! - *Source*: the elements are read once and combined by OR, as in [`reduce`](mod@crate::reduce). The kernel is
//!   `kernels_gpu::reduce::bits`.

use crate::backend::{DeviceInfo, Handle, Memory, View, ViewMut};
use crate::device::{Device, VALUE};
use crate::element::Element;
use crate::error::Result;
use crate::launch::{LastBlock, Launch, Tuned, Tuning};
use crate::ptx::library;
use kernels_gpu::reduce::{best, bits};
use std::marker::PhantomData;

/// The types that have kernels, and the bits.
pub use kernels_gpu::reduce::bits::{Bit, Bits, Highest, Lowest, NONE};

/// Number of the highest bit that is set in any element; `None` if there is none.
///
/// # Errors
/// [`Error::NoPtx`](crate::Error::NoPtx) if the kernels are not built, and the errors of the device.
pub fn highest<'a, T: Element + Bits>(input: impl Into<View<'a, T>>) -> Result<Option<u32>> {
    let input = input.into();
    on::<Highest, T>(input.device(), input)
}

/// Number of the lowest bit that is set in any element; `None` if there is none.
///
/// # Errors
/// Those of [`highest`].
pub fn lowest<'a, T: Element + Bits>(input: impl Into<View<'a, T>>) -> Result<Option<u32>> {
    let input = input.into();
    on::<Lowest, T>(input.device(), input)
}

/// Writes the number of [`highest`] to the output of one element, without waiting, in the stream of the output's
/// device; [`NONE`] if no bit is set.
///
/// # Errors
/// Those of [`Plan::launch`].
pub fn highest_into<'a, T: Element + Bits>(
    input: impl Into<View<'a, T>>,
    output: impl Into<ViewMut<'a, u32>>,
) -> Result<()> {
    into::<Highest, T>(input.into(), output.into())
}

/// Writes the number of [`lowest`] to the output of one element, without waiting; [`NONE`] if no bit is set.
///
/// # Errors
/// Those of [`Plan::launch`].
pub fn lowest_into<'a, T: Element + Bits>(
    input: impl Into<View<'a, T>>,
    output: impl Into<ViewMut<'a, u32>>,
) -> Result<()> {
    into::<Lowest, T>(input.into(), output.into())
}

fn on<B: Bit, T: Element + Bits>(device: &Device, input: View<'_, T>) -> Result<Option<u32>> {
    device.refuse_in_capture(VALUE)?;
    let mut output = device.uninit::<u32>(1)?;
    into::<B, T>(input, (&mut output).into())?;
    let bit = output.read(1)?[0];
    Ok((bit != NONE).then_some(bit))
}

fn into<B: Bit, T: Element + Bits>(input: View<'_, T>, output: ViewMut<'_, u32>) -> Result<()> {
    Plan::<B, T>::new(output.device(), input.len(), Tuning::default())?.launch(input, output)
}

/// A search for a bit, [`Highest`] or [`Lowest`], among a number of elements of `T`, with its launch configuration and
/// scratch memory. It can be launched any number of times, without further allocations.
pub struct Plan<B, T, H: Handle = Device> {
    n: usize,
    config: LastBlock,
    /// The [words](LastBlock::words) of the launch, which are 0 between launches.
    words: Memory<u64, H>,
    bit: PhantomData<(B, T)>,
}

impl<B: Bit, T: Element + Bits, H: Handle> Plan<B, T, H> {
    /// Plans a search among `n` elements.
    ///
    /// # Errors
    /// [`Error::Argument`](crate::Error::Argument) for a tuning that the kernel does not support,
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) if the device has less memory free.
    pub fn new(device: &H, n: usize, tuning: Tuning) -> Result<Self> {
        let config = config::<T>(device.backend().info(), n, tuning)?;
        Ok(Self { n, config, words: Memory::zeros(device.clone(), config.words::<T>(), "records")?, bit: PhantomData })
    }

    /// The launch that writes the number of the bit to the output, which has one element. Without elements it does
    /// nothing.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) for memory of another length,
    /// [`Error::OtherDevice`](crate::Error::OtherDevice) for memory of another device.
    pub fn prepare<'a>(
        &'a self,
        input: impl Into<View<'a, T, H>>,
        output: impl Into<View<'a, u32, H>>,
    ) -> Result<Launch<'a>> {
        let (device, input, output) = (self.words.device(), input.into(), output.into());
        input.require(device, self.n, "the input")?;
        output.require_output(device, 1, &[input.span()])?;
        let call = bits::reduce_bit::<B, T>(input.slice(self.n), self.words.ptr(), output.ptr());
        // SAFETY: whole warps, and the words for these blocks, which are 0 and which every launch leaves at 0.
        let launch = unsafe { Launch::new(call, self.config.shape()) };
        Ok(launch.using([input.reads(), self.words.writes(), output.writes()]))
    }
}

impl<B: Bit, T: Element + Bits> Plan<B, T> {
    /// Starts the search, which writes the number of the bit to the output, in stream order; [`NONE`] if no bit is set.
    ///
    /// # Errors
    /// Those of [`Plan::prepare`], [`Error::NoPtx`](crate::Error::NoPtx) if the kernels are not built, and the errors
    /// of the device.
    pub fn launch<'a>(&self, input: impl Into<View<'a, T>>, output: impl Into<ViewMut<'a, u32>>) -> Result<()> {
        let (input, mut output) = (input.into(), output.into());
        let launch = self.prepare(input, output.as_view())?;
        match self.n {
            0 => output.copy_from(&self.words.device().upload(&[NONE])?),
            _ => self.words.device().run(&library::REDUCE, &launch),
        }
    }
}

/// Bytes of scratch memory of a [`Plan`] for `n` elements of `T`.
///
/// # Errors
/// [`Error::Argument`](crate::Error::Argument) for a tuning that the kernel does not support.
pub fn scratch_bytes<T>(info: &DeviceInfo, n: usize, tuning: Tuning) -> Result<u64> {
    Ok(config::<T>(info, n, tuning)?.scratch_bytes::<T>())
}

/// The configuration of a launch for `n` elements.
fn config<T>(info: &DeviceInfo, n: usize, tuning: Tuning) -> Result<LastBlock> {
    let tuned = Tuned { block: bits::BLOCK, blocks_per_sm: bits::BLOCKS_PER_SM, alone: 0 };
    LastBlock::new(info, n as u64, best::per_thread(size_of::<T>()), tuned, tuning)
}

impl Device {
    /// [`bits::highest`](highest) of a buffer of this device.
    ///
    /// # Errors
    /// [`Error::OtherDevice`](crate::Error::OtherDevice) for a buffer of another device, and those of [`highest`].
    pub fn highest_bit<'a, T: Element + Bits>(&self, input: impl Into<View<'a, T>>) -> Result<Option<u32>> {
        let input = input.into();
        input.require_on(self, "the input")?;
        on::<Highest, T>(self, input)
    }

    /// [`bits::lowest`](lowest) of a buffer of this device.
    ///
    /// # Errors
    /// Those of [`Device::highest_bit`].
    pub fn lowest_bit<'a, T: Element + Bits>(&self, input: impl Into<View<'a, T>>) -> Result<Option<u32>> {
        let input = input.into();
        input.require_on(self, "the input")?;
        on::<Lowest, T>(self, input)
    }
}
