//! Convolution of signals: `out[i] = sum of in[i + j - K/2] * mask[j]`, with the length of the signal.
//!
//! A signal is samples, or samples x channels (row-major), each channel filtered separately; the mask has 1 to
//! [`MAX_MASK`] taps, which are finite.
//!
//! - *Error bound*: `(K + 1) * epsilon * sum of |in * mask|`.
//! - *Determinism*: the same bits on every run on every device.
//! - *Source*: windows in registers for short masks; else outputs in registers that share their inputs, and tiles in
//!   shared memory. The kernels are `kernels_gpu::conv1d::best`.

use crate::backend::{Handle, Shape, View, ViewMut};
use crate::buffer::Buffer;
use crate::device::Device;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::filter::{Border, MAX_AXIS};
use crate::launch::Launch;
use crate::ptx::library;
use cuda_std::launch::{Call, PtrMut, Slice};
use kernels_gpu::conv1d::best::interleaved::{Split, conv1d_best_interleaved};
use kernels_gpu::conv1d::best::short::{self, conv1d_best_short};
use kernels_gpu::conv1d::best::{self, conv1d_best};
use kernels_gpu::conv1d::{BLOCK, MAX_CHANNELS};
use kernels_gpu::filter::Sample;
use std::marker::PhantomData;

/// Sizes of a signal and a mask, and the border, as kernels take them: see [`frame`].
pub use kernels_gpu::conv1d::Frame;

/// Largest number of taps of a mask.
pub use kernels_gpu::conv1d::MAX_MASK;

/// Filters the signal by the mask; `channels` is 1 for a plain vector.
///
/// # Errors
/// [`Error::Mismatch`] if the signal is not a whole number of samples, [`Error::Argument`] for sizes beyond the limits,
/// [`Error::OtherDevice`] for buffers of two devices, [`Error::NoPtx`] if the kernels are not built, and the errors of
/// the device.
pub fn conv1d<'a, T: Element + Sample>(
    signal: impl Into<View<'a, T>>,
    channels: usize,
    mask: impl Into<View<'a, T>>,
    border: Border,
) -> Result<Buffer<T>> {
    let (signal, mask) = (signal.into(), mask.into());
    conv1d_on(signal.device(), signal, channels, mask, border)
}

/// Writes the filtered signal to the output, which is as long, without waiting, in the stream of the output's device.
///
/// # Errors
/// Those of [`conv1d()`].
pub fn conv1d_into<'a, T: Element + Sample>(
    signal: impl Into<View<'a, T>>,
    channels: usize,
    mask: impl Into<View<'a, T>>,
    border: Border,
    output: impl Into<ViewMut<'a, T>>,
) -> Result<()> {
    let (signal, mask, output) = (signal.into(), mask.into(), output.into());
    let (device, n) = (output.device(), signal.len());
    mask.require_on(device, "the mask")?;
    if channels == 0 || !n.is_multiple_of(channels) {
        return Err(Error::Mismatch(format!("{n} elements are not a whole number of samples of {channels} channels")));
    }
    let frame = frame([n / channels, channels, mask.len()], border)?;
    Plan::new(device, frame)?.launch([signal, mask], output)
}

fn conv1d_on<T: Element + Sample>(
    device: &Device,
    signal: View<'_, T>,
    channels: usize,
    mask: View<'_, T>,
    border: Border,
) -> Result<Buffer<T>> {
    let mut output = device.uninit::<T>(signal.len())?;
    conv1d_into(signal, channels, mask, border, &mut output)?;
    Ok(output)
}

/// Converts numbers of samples, channels and taps to the sizes that kernels take.
///
/// # Errors
/// [`Error::Argument`] with an alternative, for sizes without a kernel.
pub fn frame(sizes: [usize; 3], border: Border) -> Result<Frame> {
    require(sizes)?;
    let [samples, channels, taps] = sizes.map(|n| n as u32);
    Ok(Frame { samples, channels, taps, border: border.for_kernels() })
}

/// Checks that there is a kernel for numbers of samples, channels and taps.
///
/// # Errors
/// Those of [`frame`].
fn require([samples, channels, taps]: [usize; 3]) -> Result<()> {
    if !(1..=MAX_MASK as usize).contains(&taps) {
        return Err(Error::Argument(format!(
            "conv1d takes masks of 1 to {MAX_MASK} taps, not {taps}: beyond that a Fourier transform does less work"
        )));
    }
    if channels > MAX_CHANNELS as usize {
        return Err(Error::Argument(format!(
            "conv1d takes signals of up to {MAX_CHANNELS} channels, not {channels}: filter some of them at a time; a \
             signal of one \
             channel is a vector, or samples x 1"
        )));
    }
    if samples.saturating_mul(channels) > MAX_AXIS {
        return Err(Error::Argument(format!(
            "conv1d takes signals of up to 2^30 elements, not {samples} samples of {channels} channels: filter it in \
             parts"
        )));
    }
    Ok(())
}

/// A filter of signals of one size by masks of one size, with its kernel and launch configuration. It can be launched
/// any number of times.
pub struct Plan<T, H: Handle = Device> {
    device: H,
    frame: Frame,
    element: PhantomData<T>,
}

impl<T: Element + Sample, H: Handle> Plan<T, H> {
    /// Plans the filter of a signal of a frame's sizes.
    ///
    /// # Errors
    /// Those of [`frame`], which this function checks again, since a frame's fields are public.
    pub fn new(device: &H, frame: Frame) -> Result<Self> {
        require([frame.samples, frame.channels, frame.taps].map(|n| n as usize))?;
        Ok(Self { device: device.clone(), frame, element: PhantomData })
    }

    /// The launch that writes the filtered signal to the output. Without elements it does nothing.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for memory of another length, [`Error::OtherDevice`] for memory of another device.
    pub fn prepare<'a>(
        &'a self,
        [signal, mask]: [impl Into<View<'a, T, H>>; 2],
        output: impl Into<View<'a, T, H>>,
    ) -> Result<Launch<'a>> {
        let (signal, mask, output) = (signal.into(), mask.into(), output.into());
        let (frame, n) = (self.frame, self.frame.samples as usize * self.frame.channels as usize);
        signal.require(&self.device, n, "the signal")?;
        mask.require(&self.device, frame.taps as usize, "the mask")?;
        output.require_output(&self.device, n, &[signal.span(), mask.span()])?;
        let (call, shape) = call(frame, [signal.slice(n), mask.slice(mask.len())], output.ptr());
        // SAFETY: signal and mask have the sizes of the frame, the output is as long as the signal, the block is the
        // kernel's, and grid and shared memory suffice for the whole signal.
        let launch = unsafe { Launch::new(call, shape) };
        Ok(launch.using([signal.reads(), mask.reads(), output.writes()]))
    }
}

impl<T: Element + Sample> Plan<T> {
    /// Starts the filter of the signal by the mask, in stream order.
    ///
    /// # Errors
    /// Those of [`Plan::prepare`], [`Error::NoPtx`] if the kernels are not built, and the errors of the device.
    pub fn launch<'a>(
        &'a self,
        operands: [impl Into<View<'a, T>>; 2],
        output: impl Into<ViewMut<'a, T>>,
    ) -> Result<()> {
        let (operands, output): ([View<'_, T>; 2], ViewMut<'_, T>) = (operands.map(Into::into), output.into());
        self.device.run(&library::CONV1D, &self.prepare(operands, output.as_view())?)
    }
}

impl Device {
    /// [`conv1d`] of buffers of this device.
    ///
    /// # Errors
    /// [`Error::OtherDevice`] for buffers of another device, and those of [`conv1d()`].
    pub fn conv1d<'a, T: Element + Sample>(
        &self,
        signal: impl Into<View<'a, T>>,
        channels: usize,
        mask: impl Into<View<'a, T>>,
        border: Border,
    ) -> Result<Buffer<T>> {
        let (signal, mask) = (signal.into(), mask.into());
        signal.require_on(self, "the signal")?;
        conv1d_on(self, signal, channels, mask, border)
    }
}

/// The kernel for a frame, and its shape; without blocks for a signal without elements. It is public for the ladders,
/// which list its entry.
#[doc(hidden)]
pub fn call<'a, T: Element + Sample>(
    frame: Frame,
    [signal, mask]: [Slice<'a, T>; 2],
    output: PtrMut<'a, T>,
) -> (Call<'a>, Shape) {
    let (Frame { samples, channels, taps, border }, bytes) = (frame, size_of::<T>());
    if channels > 2 {
        let split = Split::new(channels, bytes);
        let grid = [samples.div_ceil(split.samples(bytes)), channels.div_ceil(split.channels), 1];
        let call = conv1d_best_interleaved::<T>(signal, mask, frame, split, output);
        return (call, Shape::new(grid, [BLOCK, 1, 1]).with_shared(split.shared_bytes(taps, bytes)));
    }
    let n = samples * channels;
    if taps <= short::most_taps(bytes) && (signal.address() | output.address()).is_multiple_of(16) {
        let call = match channels {
            1 => conv1d_best_short::<T, 1>(signal, mask, border, output),
            _ => conv1d_best_short::<T, 2>(signal, mask, border, output),
        };
        return (call, Shape::linear(n.div_ceil(short::outputs_per_block(bytes)), short::BLOCK));
    }
    let call = match channels {
        1 => conv1d_best::<T, 1>(signal, mask, border, output),
        _ => conv1d_best::<T, 2>(signal, mask, border, output),
    };
    let blocks = n.div_ceil(best::outputs_per_block(bytes));
    (call, Shape::linear(blocks, best::BLOCK).with_shared(best::shared_bytes(taps, channels, bytes)))
}
