//! Vector addition: `out[i] = a[i] + b[i]`.
//!
//! Integers wrap. Floats are rounded once, so the results have the same bits on every run and every device. The kernel
//! is `kernels_gpu::vecadd::best`.

use crate::backend::{Handle, Shape, View, ViewMut};
use crate::buffer::Buffer;
use crate::device::Device;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::launch::{Launch, MAX_GRID, Tuning};
use crate::ptx::library;
use kernels_gpu::vecadd::best;
use std::marker::PhantomData;

/// Sum of two vectors of equal length, element by element.
///
/// # Errors
/// [`Error::Mismatch`] for unequal lengths, [`Error::OtherDevice`] for buffers of two devices, [`Error::NoPtx`] if the
/// kernels are not built, and the errors of the device.
pub fn add<'a, T: Element>(a: impl Into<View<'a, T>>, b: impl Into<View<'a, T>>) -> Result<Buffer<T>> {
    let (a, b) = (a.into(), b.into());
    add_on(a.device(), a, b)
}

/// Writes the sum of two vectors of equal length to the output, without waiting, in the stream of the output's device.
///
/// # Errors
/// Those of [`add`].
pub fn add_into<'a, T: Element>(
    a: impl Into<View<'a, T>>,
    b: impl Into<View<'a, T>>,
    output: impl Into<ViewMut<'a, T>>,
) -> Result<()> {
    let (a, b, output) = (a.into(), b.into(), output.into());
    let (device, n) = (output.device(), a.len());
    b.require_on(device, "the second vector")?;
    if n != b.len() {
        return Err(Error::Mismatch(format!("a sum takes two vectors of one length, not {n} and {}", b.len())));
    }
    Plan::<T>::new(device, n, Tuning::default())?.launch([a, b], output)
}

fn add_on<T: Element>(device: &Device, a: View<'_, T>, b: View<'_, T>) -> Result<Buffer<T>> {
    let mut output = device.uninit::<T>(a.len())?;
    add_into(a, b, &mut output)?;
    Ok(output)
}

/// An addition of vectors with a number of elements of `T`, with its launch configuration. It can be launched any
/// number of times.
pub struct Plan<T, H: Handle = Device> {
    device: H,
    n: usize,
    shape: Shape,
    element: PhantomData<T>,
}

impl<T: Element, H: Handle> Plan<T, H> {
    /// Plans an addition of vectors of `n` elements: a block for each tile, unless the tuning gives another number.
    ///
    /// # Errors
    /// [`Error::Argument`] for a tuning that the kernel does not support.
    pub fn new(device: &H, n: usize, tuning: Tuning) -> Result<Self> {
        let block = tuning.whole_warps(best::BLOCK, device.backend().info())?;
        let tile = best::EACH * 16 / size_of::<T>() * block as usize;
        // The kernel continues with further tiles if the grid has fewer blocks.
        let grid = tuning.blocks()?.unwrap_or_else(|| n.div_ceil(tile).min(MAX_GRID as usize) as u32);
        let shape = Shape::linear(if n == 0 { 0 } else { grid }, block);
        Ok(Self { device: device.clone(), n, shape, element: PhantomData })
    }

    /// The launch that writes `a + b` to the output. Without elements it does nothing.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for memory of another length, [`Error::OtherDevice`] for memory of another device.
    pub fn prepare<'a>(
        &'a self,
        [a, b]: [impl Into<View<'a, T, H>>; 2],
        output: impl Into<View<'a, T, H>>,
    ) -> Result<Launch<'a>> {
        let (a, b, output) = (a.into(), b.into(), output.into());
        a.require(&self.device, self.n, "the first vector")?;
        b.require(&self.device, self.n, "the second vector")?;
        output.require_output(&self.device, self.n, &[a.span(), b.span()])?;
        let call = best::vecadd_best::<T>(a.slice(self.n), b.slice(self.n), output.ptr());
        // SAFETY: the block has whole warps; all three vectors have the same length.
        let launch = unsafe { Launch::new(call, self.shape) };
        Ok(launch.using([a.reads(), b.reads(), output.writes()]))
    }
}

impl<T: Element> Plan<T> {
    /// Starts the addition, in stream order.
    ///
    /// # Errors
    /// Those of [`Plan::prepare`], [`Error::NoPtx`] if the kernels are not built, and the errors of the device.
    pub fn launch<'a>(&self, vectors: [impl Into<View<'a, T>>; 2], output: impl Into<ViewMut<'a, T>>) -> Result<()> {
        let (vectors, output): ([View<'_, T>; 2], ViewMut<'_, T>) = (vectors.map(Into::into), output.into());
        self.device.run(&library::VECADD, &self.prepare(vectors, output.as_view())?)
    }
}

impl Device {
    /// [`add`] of buffers of this device.
    ///
    /// # Errors
    /// Those of [`add`].
    pub fn add<'a, T: Element>(&self, a: impl Into<View<'a, T>>, b: impl Into<View<'a, T>>) -> Result<Buffer<T>> {
        let (a, b) = (a.into(), b.into());
        a.require_on(self, "the first vector")?;
        add_on(self, a, b)
    }
}
