//! Vector addition: `out[i] = a[i] + b[i]`.
//!
//! Integers wrap. Floats are rounded once, so the results have the same bits on every run and every device.
//!
//! - *Choice*: vectors that the device adds with a thread for every 16 bytes, all of which run at the same time, go to
//!   `kernels_gpu::vecadd::vectorised`; longer ones, and those that do not start on a 16-byte boundary, to
//!   `kernels_gpu::vecadd::best`.

use crate::backend::{Handle, Shape, View, ViewMut};
use crate::buffer::Buffer;
use crate::device::Device;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::launch::{Launch, MAX_GRID, Tuning};
use crate::ptx::library;
use kernels_gpu::vecadd::{best, vectorised};
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

/// Number of threads that run at the same time on a multiprocessor, at most. Up to as many, a thread for every 16 bytes
/// hides more latency than `best`'s threads for 64 bytes, which leave three quarters of the device's slots empty.
/// (H200, 2^20 elements of f32, cold: 7.46 us, and 8.06 us by `best`; at 2^24 52.7 us and 53.5 us, at 2^28 787 us and
/// 755 us.)
const THREADS_PER_SM: usize = 2048;

/// An addition of vectors with a number of elements of `T`, with its launch configuration. It can be launched any
/// number of times.
pub struct Plan<T, H: Handle = Device> {
    device: H,
    n: usize,
    shape: Shape,
    /// The shape of a launch with a thread for every 16 bytes, if the vectors are short enough.
    short: Option<Shape>,
    element: PhantomData<T>,
}

impl<T: Element, H: Handle> Plan<T, H> {
    /// Plans an addition of vectors of `n` elements: a thread for every 16 bytes of short vectors, else a block for
    /// each tile, unless the tuning gives another number.
    ///
    /// # Errors
    /// [`Error::Argument`] for a tuning that the kernel does not support.
    pub fn new(device: &H, n: usize, tuning: Tuning) -> Result<Self> {
        let info = device.backend().info();
        let block = tuning.whole_warps(best::BLOCK, info)?;
        let each = 16 / size_of::<T>();
        let tile = best::EACH * each * block as usize;
        // The kernel continues with further tiles if the grid has fewer blocks.
        let grid = tuning.blocks()?.unwrap_or_else(|| n.div_ceil(tile).min(MAX_GRID as usize) as u32);
        let shape = Shape::linear(if n == 0 { 0 } else { grid }, block);
        let threads = n.div_ceil(each);
        let is_short = tuning.grid.is_none() && threads <= info.multiprocessors as usize * THREADS_PER_SM;
        let short = is_short.then(|| Shape::linear(threads.div_ceil(block as usize) as u32, block));
        Ok(Self { device: device.clone(), n, shape, short, element: PhantomData })
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
        let (x, y, sum) = (a.slice(self.n), b.slice(self.n), output.ptr());
        let aligned = (x.address() | y.address() | sum.address()).is_multiple_of(16);
        let (call, shape) = match self.short {
            Some(shape) if aligned => (vectorised::vecadd_vectorised::<T>(x, y, sum), shape),
            _ => (best::vecadd_best::<T>(x, y, sum), self.shape),
        };
        // SAFETY: the block has whole warps; all three vectors have the same length.
        let launch = unsafe { Launch::new(call, shape) };
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
